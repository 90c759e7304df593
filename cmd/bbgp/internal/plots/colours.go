package plots

import (
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
)

// dots are the training rows on a map, seen on every colour of the scale.
var dots = color.NRGBA{0x20, 0x20, 0x20, 0x90}

// scaleOf returns colours from dark to light, of even steps to the eye and in print
// (five of viridis, Smith and van der Walt 2015), for the range of z.
func scaleOf(z []float64) (palette.ColorMap, error) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range z {
		lo, hi = min(lo, v), max(hi, v)
	}
	if !(hi > lo) {
		hi = lo + max(1e-9, 1e-9*math.Abs(lo))
	}
	c, err := moreland.NewLuminance([]color.Color{
		color.NRGBA{0x44, 0x01, 0x54, 0xff}, color.NRGBA{0x3b, 0x52, 0x8b, 0xff}, color.NRGBA{0x21, 0x91, 0x8c, 0xff},
		color.NRGBA{0x5e, 0xc9, 0x62, 0xff}, color.NRGBA{0xfd, 0xe7, 0x25, 0xff}})
	if err != nil {
		return nil, err
	}
	c.SetMin(lo)
	c.SetMax(hi)
	return c, nil
}

// picture returns z, cols values a row from the least y, as an image that fills the
// rectangle from (x0, y0) to (x1, y1).
func picture(z []float64, cols int, c palette.ColorMap, x0, y0, x1, y1 float64) (*plotter.Image, error) {
	rows := len(z) / cols
	im := image.NewNRGBA(image.Rect(0, 0, cols, rows))
	for i, v := range z {
		at, err := c.At(min(max(v, c.Min()), c.Max()))
		if err != nil {
			return nil, err
		}
		im.Set(i%cols, rows-1-i/cols, at)
	}
	return plotter.NewImage(im, x0, y0, x1, y1), nil
}

package plots

import (
	"bytes"
	"fmt"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Size of a picture of a page. A tick label of 10 points is 13 pixels there, and 11
// at least where a narrow screen shrinks it.
const pageWidth, pageHeight = 10.5 * vg.Centimeter, 7.6 * vg.Centimeter

// forPage lets a page set the colours for light and for dark, and pictures fill their place.
var forPage = strings.NewReplacer("#000000", "currentColor", "#0072B2", "var(--blue)", "#D55E00", "var(--orange)",
	"<text ", `<text fill="currentColor" `, "<image ", `<image preserveAspectRatio="none" `)

// SVG returns p as an SVG element for a page, without the XML declaration: text and
// lines have the colours of the page, the ground is its own.
func SVG(p *plot.Plot) ([]byte, error) {
	return svg(func(dc draw.Canvas) { p.Draw(dc) }, p)
}

func svg(drawOn func(draw.Canvas), parts ...*plot.Plot) ([]byte, error) {
	for _, p := range parts {
		p.BackgroundColor = nil
	}
	c := vgsvg.New(pageWidth, pageHeight)
	drawOn(draw.Crop(draw.New(c), vg.Points(2), vg.Points(-10), vg.Points(2), vg.Points(-4)))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	i := bytes.Index(b.Bytes(), []byte("<svg"))
	if i < 0 {
		return nil, fmt.Errorf("plots: SVG: no element")
	}
	return []byte(forPage.Replace(b.String()[i:])), nil
}

package plots

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// lineColours are seen on light and dark ground (Okabe and Ito 2008).
var lineColours = []color.Color{blue, orange, color.NRGBA{0x00, 0x9e, 0x73, 0xff}, color.NRGBA{0xcc, 0x79, 0xa7, 0xff},
	color.NRGBA{0xe6, 0x9f, 0x00, 0xff}}

// Interaction draws the means of curves along one input in one picture: a line for each
// level of another, where lines that are not parallel tell that the two act together.
func Interaction(curves []*Curve, levels []string, column, target string) (*plot.Plot, error) {
	p := newPlot(column, curves[0].Input, target)
	legendOnTop(p)
	lo, hi := curves[0].Mean[0], curves[0].Mean[0]
	for k, c := range curves {
		line := make(plotter.XYs, len(c.Mean))
		for i, m := range c.Mean {
			line[i] = plotter.XY{X: float64(i), Y: m}
			if c.Levels == nil {
				line[i].X = c.X[i]
			}
			lo, hi = min(lo, m), max(hi, m)
		}
		l, err := plotter.NewLine(line)
		if err != nil {
			return nil, err
		}
		l.Color, l.Width = lineColours[k%len(lineColours)], vg.Points(1.5)
		if k > 0 {
			l.Dashes = []vg.Length{vg.Points(float64(2 + 2*k)), vg.Points(2)}
		}
		p.Add(l)
		if c.Levels != nil {
			dots, err := plotter.NewScatter(line)
			if err != nil {
				return nil, err
			}
			dots.Color, dots.Shape, dots.Radius = l.Color, draw.CircleGlyph{}, vg.Points(2.5)
			p.Add(dots)
		}
		p.Legend.Add(cut(levels[k]), l)
	}
	if c := curves[0]; c.Levels != nil {
		nominal(p, c.Levels)
	} else if c.Dates {
		p.X.Tick.Marker = dateTicks{}
	}
	p.Y.Min, p.Y.Max = lo, hi+0.09*float64(1+len(curves))*(hi-lo) // with room for the legend
	return p, nil
}

package plots

import (
	"bbgp.dev/bbgp/score"

	"bytes"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// SVG returns p as an SVG element for a page, without the XML declaration.
func SVG(p *plot.Plot, width, height vg.Length) ([]byte, error) {
	c := vgsvg.New(width, height)
	p.Draw(draw.Crop(draw.New(c), vg.Points(4), vg.Points(-10), vg.Points(4), vg.Points(-4)))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	i := bytes.Index(b.Bytes(), []byte("<svg"))
	if i < 0 {
		return nil, fmt.Errorf("plots: SVG: no element")
	}
	return b.Bytes()[i:], nil
}

// Residuals draws standardised residuals against predictions, with the lines
// between which 95 % are expected.
func Residuals(name string, observed, mean, sd []float64) (*plot.Plot, error) {
	p := newPlot("Residuals", "predicted "+name, "(observed - predicted) / sd")
	pts := make(plotter.XYs, len(mean))
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range pts {
		pts[i] = plotter.XY{X: mean[i], Y: (observed[i] - mean[i]) / sd[i]}
		lo, hi = min(lo, mean[i]), max(hi, mean[i])
	}
	s, err := plotter.NewScatter(pts)
	if err != nil {
		return nil, err
	}
	s.Color, s.Shape, s.Radius = blue, draw.CircleGlyph{}, vg.Points(1.4)
	p.Add(s)
	for _, y := range []float64{-1.96, 1.96} {
		l, err := plotter.NewLine(plotter.XYs{{X: lo, Y: y}, {X: hi, Y: y}})
		if err != nil {
			return nil, err
		}
		l.Color, l.Dashes = orange, []vg.Length{vg.Points(4), vg.Points(3)}
		p.Add(l)
	}
	p.Y.Min, p.Y.Max = min(p.Y.Min, -3), max(p.Y.Max, 3)
	return p, nil
}

// Calibration draws, for central intervals of every probability, the share of
// the observations inside.
func Calibration(observed []float64, laws []score.Law) (*plot.Plot, error) {
	p := newPlot("Calibration", "probability of the interval", "share of rows inside")
	// The sorted probabilities of the central intervals that just hold their rows
	// are the curve.
	u := make([]float64, len(laws))
	for i, l := range laws {
		u[i] = 1 - l.Beyond(observed[i])
	}
	slices.Sort(u)
	curve := plotter.XYs{{X: 0, Y: 0}}
	for i, v := range u {
		if i%max(1, len(u)/400) != 0 { // a line of 400 points is smooth
			continue
		}
		curve = append(curve, plotter.XY{X: v, Y: float64(i+1) / float64(len(u))})
	}
	l, err := plotter.NewLine(append(curve, plotter.XY{X: 1, Y: 1}))
	if err != nil {
		return nil, err
	}
	l.Color, l.Width = blue, vg.Points(1.5)
	d, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}})
	if err != nil {
		return nil, err
	}
	d.Color, d.Dashes = orange, []vg.Length{vg.Points(4), vg.Points(3)}
	p.Add(d, l)
	p.Legend.Add("observed", l)
	p.Legend.Add("ideal", d)
	legendOnTop(p)
	return p, nil
}

// Effect draws the prediction along one input, with its 95 % band.
func Effect(input, target string, x, mean, sd []float64) (*plot.Plot, error) {
	p := newPlot("", input, target)
	line := make(plotter.XYs, len(x))
	var ring plotter.XYs
	for i := range x {
		line[i] = plotter.XY{X: x[i], Y: mean[i]}
		ring = append(ring, plotter.XY{X: x[i], Y: mean[i] + 1.96*sd[i]})
	}
	for i := len(x) - 1; i >= 0; i-- {
		ring = append(ring, plotter.XY{X: x[i], Y: mean[i] - 1.96*sd[i]})
	}
	area, err := plotter.NewPolygon(ring)
	if err != nil {
		return nil, err
	}
	area.Color, area.LineStyle.Width = band, 0
	l, err := plotter.NewLine(line)
	if err != nil {
		return nil, err
	}
	l.Color, l.Width = blue, vg.Points(1.5)
	p.Add(area, l)
	return p, nil
}

// Gaps draws how far apart the bounds of each step were, in nats, on a
// logarithmic scale.
func Gaps(points []TracePoint) (*plot.Plot, error) {
	p := newPlot("Width of the bounds", "seconds", "log10 of nats")
	var line plotter.XYs
	for _, t := range points {
		if w := t.Upper - t.Lower; w > 0 {
			line = append(line, plotter.XY{X: t.Seconds, Y: math.Log10(w)})
		}
	}
	if len(line) == 0 {
		return nil, fmt.Errorf("plots: Gaps: no bounds")
	}
	l, s, err := plotter.NewLinePoints(line)
	if err != nil {
		return nil, err
	}
	l.Color, s.Color, s.Shape, s.Radius = blue, blue, draw.CircleGlyph{}, vg.Points(1.8)
	p.Add(l, s)
	p.X.Min = 0
	p.Y.Min, p.Y.Max = p.Y.Min-0.2, p.Y.Max+0.2
	return p, nil
}

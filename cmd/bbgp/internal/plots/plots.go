// Package plots draws the pictures of a fit, as PNG and as SVG.
package plots

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colours that can be told apart in print and by colour-blind readers
// (Okabe and Ito 2008).
var (
	blue   = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	orange = color.NRGBA{0xd5, 0x5e, 0x00, 0xff}
	band   = color.NRGBA{0x56, 0xb4, 0xe9, 0x60}
)

// A TracePoint is one accepted step of a training.
type TracePoint struct {
	Seconds, LML, Lower, Upper float64
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(6)
	for _, s := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font,
		&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font} {
		s.Variant = "Sans"
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{}, ticks{}
	p.Legend.ThumbnailWidth = vg.Points(18)
	p.Legend.Padding = vg.Points(3)
	grid := plotter.NewGrid()
	grid.Horizontal.Color = color.NRGBA{0, 0, 0, 0x20}
	grid.Vertical.Color = color.NRGBA{0, 0, 0, 0x20}
	p.Add(grid)
	return p
}

// ticks are the default ones without labels such as 1.0000000000000002e+03.
type ticks struct{}

func (ticks) Ticks(lo, hi float64) []plot.Tick {
	t := plot.DefaultTicks{}.Ticks(lo, hi)
	for i := range t {
		if t[i].Label != "" {
			t[i].Label = fmt.Sprintf("%.6g", t[i].Value)
		}
	}
	return t
}

// Trace draws the log marginal likelihood against time, with the interval that
// its bounds leave.
func Trace(points []TracePoint) (*plot.Plot, error) {
	if len(points) == 0 {
		return nil, fmt.Errorf("plots: Trace: no points")
	}
	p := newPlot("Training", "seconds", "log marginal likelihood")
	line := make(plotter.XYs, len(points))
	var ring plotter.XYs
	for i, t := range points {
		line[i] = plotter.XY{X: t.Seconds, Y: t.LML}
		ring = append(ring, plotter.XY{X: t.Seconds, Y: t.Upper})
	}
	for i := len(points) - 1; i >= 0; i-- {
		ring = append(ring, plotter.XY{X: points[i].Seconds, Y: points[i].Lower})
	}
	area, err := plotter.NewPolygon(ring)
	if err != nil {
		return nil, err
	}
	area.Color, area.LineStyle.Width = band, 0
	l, s, err := plotter.NewLinePoints(line)
	if err != nil {
		return nil, err
	}
	l.Color, l.Width, s.Color, s.Shape, s.Radius = blue, vg.Points(1.2), blue, draw.CircleGlyph{}, vg.Points(1.8)
	p.Add(area, l, s)
	p.Legend.Add("estimate", l, s)
	p.Legend.Add("bounds of its bias", area)
	p.Legend.Top = false
	p.Y.Min, p.Y.Max = usefulRange(points)
	return p, nil
}

// usefulRange leaves out the first steps where they are far below the rest, so
// that the end of the training can be seen.
func usefulRange(points []TracePoint) (lo, hi float64) {
	hi = math.Inf(-1)
	for _, t := range points {
		hi = max(hi, t.LML, t.Upper)
	}
	last := points[len(points)/2:]
	lo = hi
	for _, t := range last {
		lo = min(lo, t.LML, t.Lower)
	}
	first := points[0].LML
	if span := hi - lo; first < lo && hi-first < 20*span {
		lo = min(first, lo)
	}
	pad := max(0.05*(hi-lo), 1e-9*math.Abs(hi), 1e-9)
	return lo - pad, hi + pad
}

// Predicted draws observed against predicted values, with the 95 % intervals
// of at most 200 of them.
func Predicted(name string, observed, mean, sd []float64) (*plot.Plot, error) {
	if len(observed) == 0 {
		return nil, fmt.Errorf("plots: Predicted: no points")
	}
	p := newPlot("Held-out rows", "predicted "+name, "observed "+name)
	pts := make(plotter.XYs, len(mean))
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range pts {
		pts[i] = plotter.XY{X: mean[i], Y: observed[i]}
		lo, hi = min(lo, mean[i], observed[i]), max(hi, mean[i], observed[i])
	}
	const most = 200
	step := (len(mean) + most - 1) / most
	for i := 0; sd != nil && i < len(mean); i += step {
		bar, err := plotter.NewLine(plotter.XYs{{X: mean[i], Y: mean[i] - 1.96*sd[i]}, {X: mean[i], Y: mean[i] + 1.96*sd[i]}})
		if err != nil {
			return nil, err
		}
		bar.Color, bar.Width = band, vg.Points(1)
		p.Add(bar)
		if i == 0 {
			p.Legend.Add("95 % interval", bar)
		}
	}
	diagonal, err := plotter.NewLine(plotter.XYs{{X: lo, Y: lo}, {X: hi, Y: hi}})
	if err != nil {
		return nil, err
	}
	diagonal.Color, diagonal.Dashes = orange, []vg.Length{vg.Points(4), vg.Points(3)}
	s, err := plotter.NewScatter(pts)
	if err != nil {
		return nil, err
	}
	s.Color, s.Shape, s.Radius = blue, draw.CircleGlyph{}, vg.Points(1.4)
	p.Add(diagonal, s)
	p.Legend.Add("row", s)
	p.Legend.Add("predicted = observed", diagonal)
	p.Legend.Top, p.Legend.Left = true, true
	return p, nil
}

// Save writes p as base.png and base.svg and returns their paths.
func Save(p *plot.Plot, base string) ([]string, error) {
	var paths []string
	for _, ext := range []string{"png", "svg"} {
		w, err := p.WriterTo(16*vg.Centimeter, 11*vg.Centimeter, ext)
		if err != nil {
			return nil, err
		}
		path := base + "." + ext
		f, err := os.Create(path)
		if err != nil {
			return nil, fmt.Errorf("picture: %w", err)
		}
		if _, err = w.WriteTo(f); err != nil {
			f.Close()
			return nil, fmt.Errorf("picture %s: %w", filepath.Base(path), err)
		}
		if err = f.Close(); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

package plots

import (
	"math"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Curve is the prediction along one input: at X, or at named levels.
type Curve struct {
	Input    string
	X        []float64
	Levels   []string // instead of X
	Dates    bool     // X are days since 1970-01-01
	Mean, SD []float64
	Data     []float64 // where training rows are, for marks at the foot
}

// Range returns the least and greatest value of the 95 % bands of the curves.
func Range(curves []*Curve) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, c := range curves {
		for i, m := range c.Mean {
			lo, hi = min(lo, m-1.96*c.SD[i]), max(hi, m+1.96*c.SD[i])
		}
	}
	pad := 0.06*(hi-lo) + 1e-12*math.Abs(hi)
	return lo - pad, hi + pad
}

// Effect draws a curve with its 95 % band, on an axis from lo to hi.
func Effect(c *Curve, target string, lo, hi float64) (*plot.Plot, error) {
	p := newPlot("", c.Input, target)
	add := effectLine
	if c.Levels != nil {
		add = effectLevels
	}
	if err := add(p, c); err != nil {
		return nil, err
	}
	if c.Dates {
		p.X.Tick.Marker = dateTicks{}
	}
	p.Y.Min, p.Y.Max = lo, hi
	if len(c.Data) > 0 {
		p.Add(rug(c.Data))
	}
	return p, nil
}

func effectLine(p *plot.Plot, c *Curve) error {
	line := make(plotter.XYs, len(c.X))
	var ring plotter.XYs
	for i, x := range c.X {
		line[i] = plotter.XY{X: x, Y: c.Mean[i]}
		ring = append(ring, plotter.XY{X: x, Y: c.Mean[i] + 1.96*c.SD[i]})
	}
	for i := len(c.X) - 1; i >= 0; i-- {
		ring = append(ring, plotter.XY{X: c.X[i], Y: c.Mean[i] - 1.96*c.SD[i]})
	}
	area, err := plotter.NewPolygon(ring)
	if err != nil {
		return err
	}
	area.Color, area.LineStyle.Width = band, 0
	l, err := plotter.NewLine(line)
	if err != nil {
		return err
	}
	l.Color, l.Width = blue, vg.Points(1.5)
	p.Add(area, l)
	return nil
}

// effectLevels draws a point with a bar for each level.
func effectLevels(p *plot.Plot, c *Curve) error {
	pts := make(plotter.XYs, len(c.Levels))
	for i := range pts {
		pts[i] = plotter.XY{X: float64(i), Y: c.Mean[i]}
		bar, err := plotter.NewLine(plotter.XYs{{X: float64(i), Y: c.Mean[i] - 1.96*c.SD[i]},
			{X: float64(i), Y: c.Mean[i] + 1.96*c.SD[i]}})
		if err != nil {
			return err
		}
		bar.Color, bar.Width = band, vg.Points(6)
		p.Add(bar)
	}
	s, err := plotter.NewScatter(pts)
	if err != nil {
		return err
	}
	s.Color, s.Shape, s.Radius = blue, draw.CircleGlyph{}, vg.Points(2.5)
	p.Add(s)
	nominal(p, c.Levels)
	return nil
}

// nominal names the places 0, 1, … across a picture.
func nominal(p *plot.Plot, levels []string) {
	names := make([]string, len(levels))
	for i, n := range levels {
		names[i] = cut(n)
	}
	p.NominalX(names...)
	if len(names) > 5 {
		p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/4, draw.XRight, draw.YTop
	}
}

// cut makes a name short enough for a picture.
func cut(name string) string {
	if r := []rune(name); len(r) > 14 {
		return string(r[:13]) + "…"
	}
	return name
}

// A rug marks values at the foot of a picture.
type rug []float64

// Plot draws the marks; those outside of the picture are left out.
func (r rug) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	style := draw.LineStyle{Color: grey, Width: vg.Points(0.5)}
	for _, v := range r {
		if v >= p.X.Min && v <= p.X.Max {
			c.StrokeLine2(style, x(v), c.Min.Y, x(v), c.Min.Y+vg.Points(5))
		}
	}
}

// dateTicks label days since 1970-01-01 as years, months, days or hours.
type dateTicks struct{}

// Ticks implements plot.Ticker.
func (dateTicks) Ticks(lo, hi float64) []plot.Tick {
	day := func(v float64) time.Time { return time.Unix(int64(math.Round(v*86400)), 0).UTC() }
	number := func(t time.Time) float64 { return float64(t.Unix()) / 86400 }
	var out []plot.Tick
	add := func(t time.Time, layout string) {
		if v := number(t); v >= lo && v <= hi {
			out = append(out, plot.Tick{Value: v, Label: t.Format(layout)})
		}
	}
	first, last, span := day(lo), day(hi), hi-lo
	switch {
	case span > 900:
		step := max(1, int(math.Ceil(span/365/5)))
		for y := first.Year() / step * step; y <= last.Year(); y += step {
			add(time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC), "2006")
		}
	case span > 70:
		step := max(1, int(math.Ceil(span/30.4/4)))
		for m := int(first.Month()); m <= int(last.Month())+12*(last.Year()-first.Year()); m += step {
			add(time.Date(first.Year(), time.Month(m), 1, 0, 0, 0, 0, time.UTC), "2006-01")
		}
	case span > 3:
		step := max(1, int(math.Ceil(span/4)))
		for d := 0; d <= int(span)+1; d += step {
			add(time.Date(first.Year(), first.Month(), first.Day()+d, 0, 0, 0, 0, time.UTC), "01-02")
		}
	default:
		for _, t := range (ticks{}).Ticks(lo, hi) {
			out = append(out, plot.Tick{Value: t.Value, Label: day(t.Value).Format("01-02 15:04")})
		}
	}
	return out
}

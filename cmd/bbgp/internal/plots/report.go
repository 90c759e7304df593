package plots

import (
	"fmt"
	"math"
	"slices"

	"bbgp.dev/bbgp/score"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Residuals draws standardised residuals z against x, with the lines between which
// 95 % are expected. dates says that x are days since 1970-01-01.
func Residuals(title, name string, x, z []float64, dates bool) (*plot.Plot, error) {
	p := newPlot(title, name, "(observed - predicted) / sd")
	pts := make(plotter.XYs, len(x))
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range pts {
		pts[i] = plotter.XY{X: x[i], Y: z[i]}
		lo, hi = min(lo, x[i]), max(hi, x[i])
	}
	s, err := plotter.NewScatter(pts)
	if err != nil {
		return nil, err
	}
	s.Color, s.Shape, s.Radius = blue, draw.CircleGlyph{}, vg.Points(1.4)
	p.Add(s)
	for _, y := range []float64{-1.96, 1.96} {
		l, err := dashed(plotter.XYs{{X: lo, Y: y}, {X: hi, Y: y}})
		if err != nil {
			return nil, err
		}
		p.Add(l)
	}
	if dates {
		p.X.Tick.Marker = dateTicks{}
	}
	p.Y.Min, p.Y.Max = min(p.Y.Min, -3), max(p.Y.Max, 3)
	return p, nil
}

// dashed is a line of what is expected.
func dashed(pts plotter.XYs) (*plotter.Line, error) {
	l, err := plotter.NewLine(pts)
	if err != nil {
		return nil, err
	}
	l.Color, l.Dashes = orange, []vg.Length{vg.Points(4), vg.Points(3)}
	return l, nil
}

// Quantiles draws the sorted residuals, as normal variables of the same probability,
// against the quantiles of the normal distribution.
func Quantiles(observed []float64, laws []score.Law) (*plot.Plot, error) {
	p := newPlot("Quantiles of the residuals", "normal quantile", "residual, by its law")
	z := make([]float64, len(laws))
	for i, l := range laws {
		z[i] = math.Copysign(math.Sqrt2*math.Erfinv(max(1-l.Beyond(observed[i]), 0)), observed[i]-l.Mean)
		z[i] = min(max(z[i], -8.3), 8.3) // Beyond is 0
	}
	sorted := slices.Sorted(slices.Values(z))
	n := float64(len(sorted))
	pts := make(plotter.XYs, len(sorted))
	for i, v := range sorted {
		pts[i] = plotter.XY{X: math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/n-1), Y: v}
	}
	s, err := plotter.NewScatter(pts)
	if err != nil {
		return nil, err
	}
	s.Color, s.Shape, s.Radius = blue, draw.CircleGlyph{}, vg.Points(1.4)
	end := pts[len(pts)-1].X
	l, err := dashed(plotter.XYs{{X: -end, Y: -end}, {X: end, Y: end}})
	if err != nil {
		return nil, err
	}
	p.Add(s, l)
	return p, nil
}

// Calibration draws, for central intervals of every probability, the share of the
// observations inside, and the band that holds the share of so many rows with
// probability 95 % if the laws are right.
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
		if i%max(1, len(u)/400) == 0 { // a line of 400 points is smooth
			curve = append(curve, plotter.XY{X: v, Y: float64(i+1) / float64(len(u))})
		}
	}
	l, err := plotter.NewLine(append(curve, plotter.XY{X: 1, Y: 1}))
	if err != nil {
		return nil, err
	}
	l.Color, l.Width = blue, vg.Points(1.5)
	d, err := dashed(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}})
	if err != nil {
		return nil, err
	}
	var ring plotter.XYs
	const steps = 50
	for side, k := 1.0, 0; k <= 2*steps+1; k++ {
		q := float64(k) / steps
		if k > steps {
			side, q = -1, float64(2*steps+1-k)/steps
		}
		ring = append(ring, plotter.XY{X: q, Y: min(max(q+side*1.96*math.Sqrt(q*(1-q)/float64(len(u))), 0), 1)})
	}
	area, err := plotter.NewPolygon(ring)
	if err != nil {
		return nil, err
	}
	area.Color, area.LineStyle.Width = band, 0
	p.Add(area, d, l)
	p.Legend.Add("observed", l)
	p.Legend.Add("right, 95 % band", area)
	legendOnTop(p)
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

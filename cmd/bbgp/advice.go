package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/linalg"
)

// What a user should know about a fit beside its numbers, with what to do.

const (
	outlyingSpreads = 6 // of the residuals, by their median: 1 in 10⁹ of normal ones
	leastSpread     = 1e-3
	straightRanges  = 15  // a longer lengthscale makes a line, unless a large σ_f² makes up for it:
	straightShare   = 0.1 // of the noise variance, a curve below it does not show
	lineRows        = 64  // to average the effect of an input over
	mostConfirmed   = 200 // rows that the others are asked about
)

// advise adds warnings to the result.
func advise(ctx context.Context, f *fitFlags, ts *trainingSet, m *bbgp.Model, e *linalg.Engine) error {
	r := &m.Result
	if r.ConstantTarget {
		return nil
	}
	warn := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	if err := ts.adviseLines(ctx, m, e); err != nil {
		return err
	}
	at, err := around(ctx, m, e)
	if err != nil {
		return err
	}
	ts.adviseSpread(m, at, warn)
	return ts.adviseRows(ctx, f, m, e, at, warn)
}

// adviseLines notes the inputs whose effect is a straight line, or next to none: the mean
// change of the prediction from one end of the input to the other, over rows of the table.
func (ts *trainingSet) adviseLines(ctx context.Context, m *bbgp.Model, e *linalg.Engine) error {
	d := ts.data
	var lines []string
	for _, j := range straight(d, m) {
		in := &ts.plan.Inputs[j]
		if in.Kind != inputs.Number && in.Kind != inputs.Date { // two values are always on a line
			continue
		}
		count := min(d.X.Rows, lineRows)
		x := linalg.NewMatrix(2*count, d.X.Cols)
		for k := range count {
			for side, v := range []float64{in.Low, in.High} {
				row := x.Row(2*k + side)
				copy(row, d.X.Row(k*d.X.Rows/count))
				row[j] = v
			}
		}
		p, err := m.Predict(ctx, e, x, bbgp.PredictOptions{})
		if err != nil {
			return err
		}
		change := 0.0
		for k := range count {
			change += (p.Mean[2*k+1] - p.Mean[2*k]) / float64(count)
		}
		lines = append(lines, fmt.Sprintf("%s (%+.3g)", m.Names[j], change))
	}
	if len(lines) > 0 {
		ts.learnt = append(ts.learnt, fmt.Sprintf("nearly linear, with what it does to %s from its least value to its greatest: %s; the noise sd is %.3g; a lengthscale says no more of such inputs",
			ts.plan.Target, table.List(lines, 12), math.Sqrt(m.Parameters.Noise)*m.Scaling.YScale))
	}
	return nil
}

// adviseRows warns of rows that may hold wrong values.
func (ts *trainingSet) adviseRows(ctx context.Context, f *fitFlags, m *bbgp.Model, e *linalg.Engine, at []bbgp.Outlier, warn func(string, ...any)) error {
	r := &m.Result
	if twoValues(ts.data.Y) { // of classes, which lie off their means
		return nil
	}
	rows, err := outlying(ctx, ts.data, m, e, at)
	if err != nil {
		return err
	}
	for k, i := range rows {
		rows[k] = ts.set.Rows[i]
	}
	left, err := m.Outlying(ctx, e)
	if err != nil {
		return err
	}
	mend := ""
	if !f.robust {
		mend = ", or fit with --robust, which lowers their weight"
	}
	if hidden := ts.alone(left, rows); len(hidden) > 0 {
		r.Warnings = slices.DeleteFunc(r.Warnings, func(s string) bool { return strings.Contains(s, "look noise-free") })
		warn("%s far off what the rows around say, by %.2g deviations or less, and the fit goes through all the same: wrong values, or jumps of the target; look at them%s",
			lie(hidden), math.Abs(left[0].Z), mend)
	}
	if len(rows) > 0 {
		warn("%s far off the fit (more than %d spreads of the residuals); look at them%s", lie(rows), outlyingSpreads, mend)
	}
	return nil
}

// lie names rows of the table, from 0, in words.
func lie(rows []int) string {
	names := make([]string, len(rows))
	for k, i := range rows {
		names[k] = fmt.Sprint(i + 1)
	}
	if len(rows) == 1 {
		return "row " + names[0] + " lies"
	}
	return "rows " + table.List(names, 8) + " lie"
}

// alone returns the rows of the table that stand for outlying places, without those that
// are known already.
func (ts *trainingSet) alone(places []bbgp.Outlier, known []int) []int {
	var out []int
	if len(places) == 0 {
		return nil
	}
	first := ts.places()
	for _, o := range places {
		if o.Row < len(first) && !slices.Contains(known, first[o.Row]) {
			out = append(out, first[o.Row])
		}
	}
	return out
}

// straight lists the inputs whose effect is nearly linear: over the range R of an input,
// what departs from a line has an sd of about (R/ℓ)^1/2 of that of the line for Matérn 3/2,
// and less for smoother kernels. Matérn 1/2 has no lines.
func straight(d *bbgp.Data, m *bbgp.Model) []int {
	if m.Parameters.Kernel == "matern12" {
		return nil
	}
	var out []int
	for j, l := range m.Parameters.Lengthscales {
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := range d.X.Rows {
			lo, hi = min(lo, d.X.At(i, j)), max(hi, d.X.At(i, j))
		}
		l *= m.Scaling.XScale[j]
		r := (hi - lo) / l
		if r > 0 && straightRanges*r < 1 && m.Parameters.Variance*r*r*r < straightShare*m.Parameters.Noise {
			out = append(out, j)
		}
	}
	return out
}

// outlying lists the rows that lie far off the fit, the farthest first. The
// spread is that of the median, which outlying rows do not move. A row with few others
// around pulls the fit less than most do: so the others have to say it too (at are those
// of a sample, for the spread of what they say).
func outlying(ctx context.Context, d *bbgp.Data, m *bbgp.Model, e *linalg.Engine, at []bbgp.Outlier) ([]int, error) {
	p, err := m.Predict(ctx, e, d.X, bbgp.PredictOptions{})
	if err != nil {
		return nil, err
	}
	off := make([]float64, len(d.Y))
	for i, y := range d.Y {
		off[i] = math.Abs(y - p.Mean[i])
		if d.NoiseScale != nil {
			off[i] /= math.Sqrt(d.NoiseScale[i])
		}
	}
	s := max(spread(off), leastSpread*m.Scaling.YScale)
	var rows []int
	for i, v := range off {
		known := 0.0
		if d.NoiseExtra != nil {
			known = math.Sqrt(d.NoiseExtra[i])
		}
		if v > outlyingSpreads*(s+known) {
			rows = append(rows, i)
		}
	}
	sort.SliceStable(rows, func(a, b int) bool { return off[rows[a]] > off[rows[b]] })
	return confirmed(ctx, d, m, e, at, rows[:min(len(rows), mostConfirmed)])
}

// confirmed keeps the rows that lie far off what the others say. Rows that repeat a place
// are judged by each other and stay; so do all of a robust model, whose noise explains them.
func confirmed(ctx context.Context, d *bbgp.Data, m *bbgp.Model, e *linalg.Engine, at []bbgp.Outlier, rows []int) ([]int, error) {
	if len(rows) == 0 || len(at) == 0 || m.Result.NoiseDF > 0 || m.N() < len(d.Y) {
		return rows, nil
	}
	size := make([]float64, len(at))
	for k, o := range at {
		size[k] = math.Abs(o.Z)
	}
	x := linalg.NewMatrix(len(rows), d.X.Cols)
	for k, i := range rows {
		copy(x.Row(k), d.X.Row(i))
	}
	places, err := m.Trained(x)
	if err != nil {
		return nil, err
	}
	said, err := m.Around(ctx, e, places)
	if err != nil {
		return nil, err
	}
	far := outlyingSpreads * spread(size)
	var out []int
	for k, o := range said {
		if math.Abs(o.Z) > far {
			out = append(out, rows[k])
		}
	}
	return out, nil
}

// spread is the standard deviation of normal deviations with that median size.
func spread(off []float64) float64 {
	v := slices.Sorted(slices.Values(off))
	return v[len(v)/2] / 0.6744897501960817 // 75 % quantile of N(0, 1)
}

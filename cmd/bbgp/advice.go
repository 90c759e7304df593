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
	vagueRanges     = 30  // ranges of an input that a lengthscale may be long
	straightShare   = 0.1 // of the noise variance: a curve below it does not show
)

// advise adds warnings to the result.
func advise(ctx context.Context, f *fitFlags, ts *trainingSet, m *bbgp.Model, e *linalg.Engine) error {
	r := &m.Result
	if r.ConstantTarget {
		return nil
	}
	warn := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	for _, j := range vague(ts.data, m) {
		if k := ts.plan.Inputs[j].Kind; k != inputs.Number && k != inputs.Date { // two values: no shape to identify
			continue
		}
		warn("lengthscale of %s not identified: it is more than %d times the range of the input; within that the effect is a straight line or none; rows that vary %s more would tell", m.Names[j], vagueRanges, m.Names[j])
	}
	return ts.adviseRows(ctx, f, m, e, warn)
}

// adviseRows warns of rows that may hold wrong values.
func (ts *trainingSet) adviseRows(ctx context.Context, f *fitFlags, m *bbgp.Model, e *linalg.Engine, warn func(string, ...any)) error {
	r := &m.Result
	rows, err := outlying(ctx, ts.data, m, e)
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

// vague lists the inputs whose lengthscale is far beyond their range R, unless a
// large σ_f² makes up for it: what departs from a straight line over R has a
// variance of about σ_f² (R/ℓ)^p, p = 3 for Matérn 3/2 and 4 for smoother ones. A
// share of the noise variance would not show. (Matérn 1/2 has no straight line, p = 1.)
func vague(d *bbgp.Data, m *bbgp.Model) []int {
	power := map[string]float64{"matern12": 1, "matern32": 3}[m.Parameters.Kernel]
	if power == 0 {
		power = 4
	}
	var out []int
	for j, l := range m.Parameters.Lengthscales {
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := range d.X.Rows {
			lo, hi = min(lo, d.X.At(i, j)), max(hi, d.X.At(i, j))
		}
		r := (hi - lo) / (l * m.Scaling.XScale[j])
		if r > 0 && vagueRanges*r < 1 && m.Parameters.Variance*math.Pow(r, power) < straightShare*m.Parameters.Noise {
			out = append(out, j)
		}
	}
	return out
}

// outlying lists the rows that lie far off the fit, the farthest first. The
// spread is that of the median, which outlying rows do not move.
func outlying(ctx context.Context, d *bbgp.Data, m *bbgp.Model, e *linalg.Engine) ([]int, error) {
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
	return rows, nil
}

// spread is the standard deviation of normal deviations with that median size.
func spread(off []float64) float64 {
	v := slices.Sorted(slices.Values(off))
	return v[len(v)/2] / 0.6744897501960817 // 75 % quantile of N(0, 1)
}

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/score"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/linalg"
)

// What a user should know about a fit beside its numbers, with what to do.

const (
	outlyingSpreads = 6 // of the residuals, by their median: 1 in 10⁹ of normal ones
	leastSpread     = 1e-3
	straightShare   = 0.05 // of the change along an input: less of a curve does not show
	lineRows        = 32   // to look along an input from
	lineSteps       = 9
	mostLineInputs  = 200 // beyond which each of them costs as much as all, and a note lists a few
	mostConfirmed   = 200 // rows that the others are asked about
)

// advise adds warnings to the result.
func advise(ctx context.Context, f *fitFlags, ts *trainingSet, m *bbgp.Model, e *linalg.Engine) error {
	r := &m.Result
	if r.ConstantTarget {
		return nil
	}
	warn := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	ts.adviseIrrelevant(r)
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

// adviseIrrelevant says of columns what the fit says of inputs: a text that does nothing is
// no column that does nothing.
func (ts *trainingSet) adviseIrrelevant(r *bbgp.Result) {
	at := slices.IndexFunc(r.Warnings, func(s string) bool { return strings.Contains(s, "found irrelevant") })
	if at < 0 {
		return
	}
	does, columns := map[string]bool{}, []string{}
	for _, in := range ts.plan.Inputs {
		does[in.Column] = does[in.Column] || !slices.Contains(r.Irrelevant, in.Name)
	}
	var not []string
	for _, in := range ts.plan.Inputs {
		if slices.Contains(columns, in.Column) {
			continue
		}
		columns = append(columns, in.Column)
		if !does[in.Column] {
			not = append(not, in.Column)
		}
	}
	if len(not) == 0 {
		r.Warnings = slices.Delete(r.Warnings, at, at+1)
		return
	}
	r.Warnings[at] = fmt.Sprintf("%d of %d columns were found irrelevant: %s",
		len(not), len(columns), table.List(not, 12))
	if len(not) == 1 {
		r.Warnings[at] = fmt.Sprintf("1 of %d columns was found irrelevant: %s", len(columns), not[0])
	}
}

// adviseLines notes the inputs along which the prediction is nearly a straight line, from
// some rows of the table: the mean change from one end of the input to the other, where what
// departs from a line through each row is small against it.
func (ts *trainingSet) adviseLines(ctx context.Context, m *bbgp.Model, e *linalg.Engine) error {
	var lines []string
	if m.D() > mostLineInputs {
		return nil
	}
	for j, l := range m.Parameters.Lengthscales {
		in := &ts.plan.Inputs[j]
		if math.IsInf(l, 1) || !(in.Low < in.High) || in.Kind != inputs.Number &&
			in.Kind != inputs.Date { // two values are always on a line
			continue
		}
		change, bent, err := ts.along(ctx, m, e, j)
		if err != nil {
			return err
		}
		if bent < straightShare*math.Abs(change) {
			lines = append(lines, fmt.Sprintf("%s (%+.3g)", m.Names[j], change))
		}
	}
	if len(lines) > 0 {
		ts.learnt = append(ts.learnt, fmt.Sprintf("nearly linear, with what it does to %s from its least value to "+
			"its greatest: %s; the noise sd is %.3g; a lengthscale says no more of such inputs",
			ts.plan.Target, table.List(lines, 12), math.Sqrt(m.Parameters.Noise)*m.Scaling.YScale))
	}
	return nil
}

// along returns the mean change of the prediction along input j, and the root mean square
// of what departs from the straight line of each row.
func (ts *trainingSet) along(ctx context.Context, m *bbgp.Model,
	e *linalg.Engine, j int) (change, bent float64, err error) {
	d, in := ts.data, &ts.plan.Inputs[j]
	count := min(d.X.Rows, lineRows)
	x := linalg.NewMatrix(lineSteps*count, d.X.Cols)
	for k := range count {
		for t := range lineSteps {
			row := x.Row(k*lineSteps + t)
			copy(row, d.X.Row(k*d.X.Rows/count))
			row[j] = in.Low + (in.High-in.Low)*float64(t)/(lineSteps-1)
		}
	}
	p, err := m.Predict(ctx, x, bbgp.PredictOptions{Engine: e})
	if err != nil {
		return 0, 0, err
	}
	for k := range count {
		own := p.Mean[k*lineSteps : (k+1)*lineSteps]
		mid, slope, size := mean(own), 0.0, 0.0
		for t, v := range own {
			u := float64(t)/(lineSteps-1) - 0.5
			slope += u * (v - mid)
			size += u * u
		}
		slope /= size
		change += slope / float64(count)
		for t, v := range own {
			off := v - mid - slope*(float64(t)/(lineSteps-1)-0.5)
			bent += off * off / float64(count*lineSteps)
		}
	}
	return change, math.Sqrt(bent), nil
}

// adviseRows warns of rows that may hold wrong values.
func (ts *trainingSet) adviseRows(ctx context.Context, f *fitFlags, m *bbgp.Model, e *linalg.Engine, at []score.Outlier,
	warn func(string, ...any)) error {
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
	left, err := m.Outlying(ctx, bbgp.LeaveOutOptions{Engine: e})
	if err != nil {
		return err
	}
	mend := ""
	if !f.robust {
		mend = ", or fit with --robust, which lowers their weight"
	}
	if hidden := ts.alone(left, rows); len(hidden) > 0 {
		r.Warnings = slices.DeleteFunc(r.Warnings, func(s string) bool {
			return strings.Contains(s,
				"look noise-free")
		})
		warn("%s far off what the rows around say, by %.2g deviations or less, and the fit goes through all the "+
			"same: wrong values, or jumps of the target; look at them%s",
			lie(hidden), math.Abs(left[0].Z), mend)
	}
	if len(rows) > 0 {
		warn("%s far off the fit (more than %d spreads of the residuals); look at them%s",
			lie(rows), outlyingSpreads, mend)
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
func (ts *trainingSet) alone(places []score.Outlier, known []int) []int {
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

// outlying lists the rows that lie far off the fit, the farthest first. The
// spread is that of the median, which outlying rows do not move. A row with few others
// around pulls the fit less than most do: so the others have to say it too (at are those
// of a sample, for the spread of what they say).
func outlying(ctx context.Context, d *bbgp.Data, m *bbgp.Model, e *linalg.Engine, at []score.Outlier) ([]int, error) {
	p, err := m.Predict(ctx, d.X, bbgp.PredictOptions{Engine: e})
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
func confirmed(ctx context.Context, d *bbgp.Data, m *bbgp.Model, e *linalg.Engine, at []score.Outlier,
	rows []int) ([]int, error) {
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
	said, err := m.Around(ctx, places, bbgp.LeaveOutOptions{Engine: e})
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

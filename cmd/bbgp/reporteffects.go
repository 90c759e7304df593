package main

import (
	"context"
	"html/template"
	"math"
	"slices"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/cmd/bbgp/internal/plots"
	"bbgp.dev/linalg"
)

const (
	effectSteps = 101
	mapSteps    = 60   // of either side of a map
	mostMarks   = 200  // of training rows at the foot of a picture
	mostDots    = 1000 // of training rows on a map
)

// column returns input j of the training rows, sorted.
func (r *reporter) sorted(j int) []float64 {
	v := make([]float64, r.rows.X.Rows)
	for i := range v {
		v[i] = r.rows.X.At(i, j)
	}
	slices.Sort(v)
	return v
}

// between returns the quantiles 1 % and 99 % of sorted values.
func between(v []float64) (lo, hi float64) {
	n := len(v) - 1
	return v[n/100], v[n-n/100]
}

// middle returns a place in the middle of the training rows: the medians, and the
// commonest level of each text.
func (r *reporter) middle() []float64 {
	at := make([]float64, r.m.D())
	for _, g := range r.groups {
		if r.curve(&g) {
			for _, j := range g.inputs {
				v := r.sorted(j)
				at[j] = v[len(v)/2]
			}
			continue
		}
		best, count := -1, 0.0
		for _, j := range g.inputs {
			if sum := r.sum(j); sum > count {
				best, count = j, sum
			}
		}
		if best >= 0 && 2*count >= float64(r.rows.X.Rows)/float64(len(g.inputs)) {
			at[best] = 1
		}
	}
	return at
}

// effects draws the prediction along what does most, the other inputs in the middle
// of the rows, all on one axis.
func (r *reporter) effects(ctx context.Context) (*section, error) {
	s := &section{Title: "Effects of single inputs", Text: "The prediction of the function along one input, from " +
		"the 1 % to the 99 % quantile of the training rows, the others at their medians and commonest levels. The " +
		"band holds the function with probability 95 %; marks at the foot are training rows."}
	var curves []*plots.Curve
	for _, g := range r.groups {
		if len(curves) == r.flags.effects || math.IsInf(r.shortest(&g), 1) {
			break
		}
		c, err := r.curveOf(ctx, &g, r.middle())
		if err != nil {
			return nil, err
		}
		curves = append(curves, c)
	}
	lo, hi := plots.Range(curves)
	for _, c := range curves {
		pl, err := plots.Effect(c, r.plan.Target, lo, hi)
		if err := s.add(pl, err, ""); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// curveOf predicts along a group, the other inputs where at has them.
func (r *reporter) curveOf(ctx context.Context, g *group, at []float64) (*plots.Curve, error) {
	c := &plots.Curve{Input: g.column}
	var x linalg.Matrix
	if r.curve(g) {
		j := g.inputs[0]
		values := r.sorted(j)
		lo, hi := between(values)
		x = linalg.NewMatrix(effectSteps, r.m.D())
		for i := range effectSteps {
			copy(x.Row(i), at)
			c.X = append(c.X, lo+(hi-lo)*float64(i)/(effectSteps-1))
			x.Set(i, j, c.X[i])
		}
		c.Dates = r.kind(g) == inputs.Date
		for i := 0; i < len(values); i += 1 + len(values)/mostMarks {
			c.Data = append(c.Data, values[i])
		}
	} else {
		x = linalg.NewMatrix(len(g.inputs), r.m.D())
		for i, j := range g.inputs {
			copy(x.Row(i), at)
			setLevel(x.Row(i), g, j)
			c.Levels = append(c.Levels, r.level(j))
		}
	}
	p, err := r.m.Predict(ctx, x, bbgp.PredictOptions{SD: true, Engine: r.e})
	if err != nil {
		return nil, err
	}
	c.Mean, c.SD = p.Mean, p.SD
	return c, nil
}

// setLevel puts the row at the level of the text that input j stands for.
func setLevel(row []float64, g *group, j int) {
	for _, k := range g.inputs {
		row[k] = 0
	}
	row[j] = 1
}

// level is the text that input j stands for.
func (r *reporter) level(j int) string {
	if r.plan.Inputs[j].Kind == inputs.Missing {
		return "missing"
	}
	return r.plan.Inputs[j].Level
}

// maps draws mean and sd over two inputs, where these are all that matter.
func (r *reporter) maps(ctx context.Context) (*section, error) {
	var used []*group
	for i := range r.groups {
		if !math.IsInf(r.shortest(&r.groups[i]), 1) {
			used = append(used, &r.groups[i])
		}
	}
	if len(used) != 2 || !r.curve(used[0]) || !r.curve(used[1]) {
		return nil, nil
	}
	slices.SortFunc(used, func(a, b *group) int { return a.inputs[0] - b.inputs[0] }) // as the table has them
	s := &section{Title: "Map", Text: "The prediction of the function and its standard deviation; dots are " +
		"training rows."}
	m, p, err := r.overTwo(ctx, used[0], used[1], 0, true)
	if err != nil {
		return nil, err
	}
	m.Title, m.Z = "Mean of "+r.plan.Target, p.Mean
	if err := s.addMap(m, ""); err != nil {
		return nil, err
	}
	m.Title, m.Z, m.DataX, m.DataY = "Standard deviation", p.SD, nil, nil
	return s, s.addMap(m, "Small near training rows, that of the process far from all.")
}

// overTwo predicts on a grid over two groups, from the quantile tail to 1 - tail.
func (r *reporter) overTwo(ctx context.Context, a, b *group, tail float64, sd bool) (*plots.Map, *bbgp.Prediction,
	error) {
	i, j := a.inputs[0], b.inputs[0]
	axis := func(k int) []float64 {
		v := r.sorted(k)
		lo, hi := v[0], v[len(v)-1]
		if tail > 0 {
			lo, hi = between(v)
		}
		out := make([]float64, mapSteps)
		for c := range out {
			out[c] = lo + (hi-lo)*float64(c)/(mapSteps-1)
		}
		return out
	}
	m := &plots.Map{X: axis(i), Y: axis(j), XName: a.column, YName: b.column,
		XDates: r.kind(a) == inputs.Date, YDates: r.kind(b) == inputs.Date}
	x, at := linalg.NewMatrix(mapSteps*mapSteps, r.m.D()), r.middle()
	for row := range mapSteps {
		for col := range mapSteps {
			to := x.Row(row*mapSteps + col)
			copy(to, at)
			to[i], to[j] = m.X[col], m.Y[row]
		}
	}
	n := r.rows.X.Rows
	for k := 0; k < n; k += 1 + n/mostDots {
		m.DataX, m.DataY = append(m.DataX, r.rows.X.At(k, i)), append(m.DataY, r.rows.X.At(k, j))
	}
	p, err := r.m.Predict(ctx, x, bbgp.PredictOptions{SD: sd, Engine: r.e})
	return m, p, err
}

func (s *section) addMap(m *plots.Map, caption string) error {
	svg, err := plots.MapSVG(m)
	if err != nil {
		return err
	}
	s.Figures = append(s.Figures, figure{template.HTML(svg), caption})
	return nil
}

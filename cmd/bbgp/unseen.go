package main

import (
	"context"
	"errors"
	"math"
	"slices"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/score"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/linalg"
)

// A text that training had not seen. What its level does is a draw from what levels
// do: of k known ones, with predictions m_l at the row's other inputs,
//
//	mean = Σ m_l / k,   var = Σ sd_l²/k + t² (1 + 1/k) Σ (m_l - mean)²/(k-1),
//
// t being the 97.5 % quantile of Student's t with k degrees of freedom over 1.96: one
// more than the spread of k levels has, for what the model knows of the target's. One
// level tells no spread.
//
// So it is with a text that the table has and the training rows have not, where others were held out or
// left out of a fold. If they have one text, the deviation of the target stands for the spread of two.

// mostStandIns is the number of combinations of known levels that stand for the unseen
// ones of a row.
const mostStandIns = 256

// A standIn is a row in place of row of the table.
type standIns struct {
	row    []int     // of each stand-in
	levels []int     // of each row of the table: the least number of known levels; 0: none unseen
	lone   []float64 // of each row: the variance between levels where one is known
}

// predictRows predicts rows of which inputs may be of unseen levels, NaN, or missing where no row of the
// training told what that means: they have a mean, and no deviation.
func predictRows(ctx context.Context, m *bbgp.Model, plan *inputs.Plan, e *linalg.Engine, x linalg.Matrix,
	opt bbgp.PredictOptions) (*bbgp.Prediction, error) {
	opt.Engine = e
	x, blank := plan.WithMeans(x)
	p, err := predictSeen(ctx, m, plan, x, opt)
	if err != nil || p.SD == nil {
		return p, err
	}
	for _, i := range blank {
		p.Laws[i].Fixed = math.Inf(1)
		for _, v := range [][]float64{p.SD, p.SDObs, p.SDLower, p.SDUpper} {
			v[i] = math.Inf(1)
		}
	}
	return p, nil
}

// predictSeen predicts rows without such cells.
func predictSeen(ctx context.Context, m *bbgp.Model, plan *inputs.Plan, x linalg.Matrix,
	opt bbgp.PredictOptions) (*bbgp.Prediction, error) {
	xs, of := standIn(plan, m, x)
	if of == nil {
		return m.Predict(ctx, x, opt)
	}
	pick := func(v []float64) []float64 {
		if v == nil {
			return nil
		}
		out := make([]float64, len(of.row))
		for k, i := range of.row {
			out[k] = v[i]
		}
		return out
	}
	opt.NoiseScale, opt.NoiseExtra = pick(opt.NoiseScale), pick(opt.NoiseExtra)
	p, err := m.Predict(ctx, xs, opt)
	var bad *bbgp.DataError
	if errors.As(err, &bad) && bad.Row >= 0 && bad.Row < len(of.row) {
		bad.Row = of.row[bad.Row]
	}
	if err != nil {
		return nil, err
	}
	return of.gather(p), nil
}

// standIn returns the rows of x with known levels in place of unseen ones; nil if
// there are none.
func standIn(plan *inputs.Plan, m *bbgp.Model, x linalg.Matrix) (linalg.Matrix, *standIns) {
	all := plan.LevelInputs()
	if len(all) == 0 {
		return x, nil
	}
	x, columns := unseenToo(plan, m, x)
	of := &standIns{levels: make([]int, x.Rows), lone: make([]float64, x.Rows)}
	xs, any := linalg.Matrix{Cols: x.Cols, Stride: x.Cols}, false
	for i := range x.Rows {
		var unseen [][]int
		total := 1.0
		for _, in := range plan.Inputs { // in their order, not that of a map
			if levels := columns[in.Column]; in.Kind == inputs.Level && plan.Inputs[levels[0]].Name == in.Name &&
				math.IsNaN(x.At(i, levels[0])) {
				unseen = append(unseen, levels)
				total *= float64(len(levels))
				if of.levels[i] == 0 || len(levels) < of.levels[i] {
					of.levels[i] = len(levels)
				}
				lone := m.Scaling.YScale * m.Scaling.YScale
				if len(all[in.Column]) == 1 {
					lone = math.Inf(1)
				}
				of.lone[i] = max(of.lone[i], lone)
			}
		}
		any = any || len(unseen) > 0
		for k := range int(min(total, mostStandIns)) {
			// Evenly over all combinations, where these are too many.
			number := k
			if total > mostStandIns {
				number = int(math.Mod(float64(k)*total/mostStandIns, math.MaxInt32))
			}
			at := len(xs.Data)
			xs.Data = append(xs.Data, x.Row(i)...)
			row := xs.Data[at:]
			for _, levels := range unseen {
				for _, j := range levels {
					row[j] = 0
				}
				row[levels[number%len(levels)]] = 1
				number /= len(levels)
			}
			of.row = append(of.row, i)
			xs.Rows++
		}
	}
	if !any {
		return x, nil
	}
	return xs, of
}

// unseenToo returns x with NaN in place of levels that no training row of m had, and the others by their columns.
func unseenToo(plan *inputs.Plan, m *bbgp.Model, x linalg.Matrix) (linalg.Matrix, map[string][]int) {
	columns := plan.LevelInputs()
	never := untrained(plan, m)
	if len(never) == 0 {
		return x, columns
	}
	x = x.Clone()
	for name, levels := range columns {
		var known []int
		for _, j := range levels {
			if !never[j] {
				known = append(known, j)
			}
		}
		if len(known) == 0 { // all of them were missing
			continue
		}
		columns[name] = known
		for i := range x.Rows {
			unseen := false
			for _, j := range levels {
				if never[j] && x.At(i, j) != 0 { // 1, or NaN
					unseen = true
					x.Set(i, j, 0)
				}
			}
			for _, j := range known {
				if unseen {
					x.Set(i, j, math.NaN())
				}
			}
		}
	}
	return x, columns
}

// untrained are the levels that are 0 in all training rows of m.
func untrained(plan *inputs.Plan, m *bbgp.Model) map[int]bool {
	never := map[int]bool{}
	for j, in := range plan.Inputs {
		if in.Kind == inputs.Level && slices.Contains(m.Result.Constant, m.Names[j]) {
			never[j] = true
		}
	}
	if len(never) == 0 {
		return nil
	}
	first := m.Scaling.XMean
	if !isScaled(&m.Scaling) {
		first = m.Training().X.Row(0)
	}
	for j := range never {
		if first[j] != 0 {
			delete(never, j)
		}
	}
	return never
}

// gather makes one prediction of those of a row's stand-ins.
func (of *standIns) gather(p *bbgp.Prediction) *bbgp.Prediction {
	n := len(of.levels)
	q := &bbgp.Prediction{Mean: make([]float64, n), BoundKind: p.BoundKind, MeanError: p.MeanError,
		MeanSeen: p.MeanSeen}
	if p.SD != nil {
		for _, v := range []*[]float64{&q.SD, &q.SDObs, &q.MeanLower, &q.MeanUpper, &q.SDLower, &q.SDUpper} {
			*v = make([]float64, n)
		}
		q.Laws = make([]score.Law, n)
	}
	for lo := 0; lo < len(of.row); {
		hi, i := lo, of.row[lo]
		for hi < len(of.row) && of.row[hi] == i {
			hi++
		}
		q.Mean[i] = average(p.Mean[lo:hi])
		if p.SD != nil {
			of.spread(q, p, i, lo, hi)
		}
		lo = hi
	}
	return q
}

// spread fills in the deviations of row i from its stand-ins lo to hi.
func (of *standIns) spread(q, p *bbgp.Prediction, i, lo, hi int) {
	q.MeanLower[i], q.MeanUpper[i] = average(p.MeanLower[lo:hi]), average(p.MeanUpper[lo:hi])
	if of.levels[i] == 0 {
		q.SD[i], q.SDObs[i], q.SDLower[i], q.SDUpper[i], q.Laws[i] = p.SD[lo], p.SDObs[lo], p.SDLower[lo],
			p.SDUpper[lo], p.Laws[lo]
		return
	}
	between := of.lone[i]
	if k := float64(of.levels[i]); k > 1 {
		between = 0
		for _, v := range p.Mean[lo:hi] {
			between += (v - q.Mean[i]) * (v - q.Mean[i])
		}
		t := score.Law{Mixed: 1, Tail: score.NewTail(k)}.SD()
		// Of hi - lo combinations there is one draw per level of the column with fewest.
		between *= t * t * (1 + 1/k) / (float64(hi-lo) * (k - 1) / k)
	}
	wide := func(sd []float64) float64 {
		v := 0.0
		for _, s := range sd[lo:hi] {
			v += s * s / float64(hi-lo)
		}
		return math.Sqrt(v + between)
	}
	l := score.Law{Mean: q.Mean[i], Fixed: between, Tail: p.Laws[lo].Tail}
	for _, one := range p.Laws[lo:hi] {
		l.Fixed += one.Fixed / float64(hi-lo)
		l.Mixed += one.Mixed / float64(hi-lo)
	}
	q.Laws[i], q.SDObs[i] = l, l.SD()
	less, sd := 1.0, wide(p.SD)
	if sd > q.SDObs[i] { // the width of a sum of a normal and a t number is a little less than the root of squares
		less = q.SDObs[i] / sd
	}
	q.SD[i], q.SDLower[i], q.SDUpper[i] = less*sd, less*wide(p.SDLower), less*wide(p.SDUpper)
}

func average(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x / float64(len(v))
	}
	return s
}

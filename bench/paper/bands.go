package main

import (
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"
)

// A series is one run as a function of x: rising x, with a value from each x on.
type series struct {
	x, y  []float64
	ended bool // the training was done with: it stays where it is
}

// at returns the value at x, the last one at or before it: between two of them nothing
// was measured. It is NaN before the first x and after the last, unless the training
// ended there by itself.
func (s *series) at(x float64) float64 {
	i, found := slices.BinarySearch(s.x, x)
	switch {
	case found:
		// Several values at one x: the last one.
		for i+1 < len(s.x) && s.x[i+1] == x {
			i++
		}
		return s.y[i]
	case i == 0, i == len(s.x) && !s.ended:
		return math.NaN()
	}
	return s.y[i-1]
}

func (s *series) points() plotter.XYs {
	pts := make(plotter.XYs, len(s.x))
	for i, x := range s.x {
		pts[i] = plotter.XY{X: x, Y: s.y[i]}
	}
	return pts
}

// A band is the median of several series on a grid, and their quartiles.
type band struct{ x, low, mid, high []float64 }

const gridPoints = 120

// bandOf makes a band on a grid of equal ratios, where at least half of the
// series that have values have one.
func bandOf(all []series) band {
	all = slices.DeleteFunc(slices.Clone(all), func(s series) bool { return len(s.x) == 0 })
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range all {
		lo, hi = min(lo, s.x[0]), max(hi, s.x[len(s.x)-1])
	}
	var b band
	if !(lo > 0) || math.IsInf(lo, 1) {
		return b
	}
	for i := range gridPoints {
		x := min(lo*math.Pow(hi/lo, float64(i)/(gridPoints-1)), hi)
		var v []float64
		for _, s := range all {
			if y := s.at(x); !math.IsNaN(y) {
				v = append(v, y)
			}
		}
		if len(v) == 0 || 2*len(v) < len(all) {
			continue
		}
		b.x = append(b.x, x)
		b.low, b.mid, b.high = append(b.low, quantile(v, 0.25)), append(b.mid, quantile(v, 0.5)),
			append(b.high, quantile(v, 0.75))
		if hi == lo {
			break
		}
	}
	return b
}

// quantile returns the q-quantile of v, straight between the sorted values. It
// sorts v. NaN for no values.
func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	at := q * float64(len(v)-1)
	i := int(at)
	if at == float64(i) || v[i] == v[i+1] { // infinities among them
		return v[i]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

// curve takes the rows of the way of r that have a y.
func (r *record) curve(x, y func(*row) float64) series {
	s := series{ended: r.Head.Stopped == "converged"}
	for _, i := range r.way() {
		w := &r.Rows[i]
		if v := y(w); !math.IsNaN(v) {
			s.x, s.y = append(s.x, x(w)), append(s.y, v)
		}
	}
	return s
}

// passes returns the passes of each evaluation of r, over the evaluations since
// the last row.
func (r *record) passes() series {
	var s series
	evals, passes := 0, 0
	for i := range r.Rows {
		w := &r.Rows[i]
		if w.Phase == "train" && w.Evaluation > evals {
			s.x = append(s.x, float64(w.Evaluation))
			s.y = append(s.y, float64(w.Passes-passes)/float64(w.Evaluation-evals))
		}
		evals, passes = w.Evaluation, w.Passes
	}
	return s
}

func evaluationOf(w *row) float64 { return float64(w.Evaluation) }
func cpuOf(w *row) float64        { return w.CPU }
func rmseOf(w *row) float64       { return w.RMSE }

func perRow(n int, v func(*row) float64) func(*row) float64 {
	return func(w *row) float64 { return v(w) / float64(n) }
}

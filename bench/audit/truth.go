package main

import (
	"fmt"
	"math"
	"runtime"

	"bbgp.dev/bbgp"
	"bbgp.dev/linalg"
)

// A truth knows the posterior of a problem in twice the precision of float64: the
// inputs as they are, standardised, scaled, and put into the covariance function
// in that precision, and K̂ factored in it, or in float64 and refined.
type truth struct {
	p        *problem
	scaling  bbgp.Scaling
	x        [][]twice // standardised, over the lengthscales; inputs that count
	y        []twice   // standardised, less c
	counts   []int     // rows of the table that a row stands for
	first    []int     // and the first of them
	k        [][]twice // K̂, n×n
	f        factor
	alpha    []twice // K̂⁻¹ (y - c)
	variance twice
}

// A factor solves with K̂.
type factor interface {
	solve(b []twice) []twice   // K̂⁻¹b
	forms(b [][]twice) []twice // b_i'K̂⁻¹b_i
	logDet() float64
	inverse() linalg.Matrix // in float64, the lower triangle
}

// newTruth factors K̂. It fails where that is not positive definite even so.
func newTruth(p *problem, m *bbgp.Model) (*truth, error) {
	t := &truth{p: p, scaling: m.Scaling, variance: wide(m.Parameters.Variance)}
	t.rows()
	n := len(t.x)
	t.k = make([][]twice, n)
	noise := wide(m.Parameters.Noise)
	for i := range n {
		t.k[i] = make([]twice, n)
		for j := range i {
			t.k[i][j] = t.cov(t.x[i], t.x[j])
			t.k[j][i] = t.k[i][j]
		}
		t.k[i][i] = t.variance.add(noise.div(wide(float64(t.counts[i]))))
	}
	if n >= refinedLeast && n <= refinedMost {
		e, err := linalg.NewEngine(nil, runtime.GOMAXPROCS(0))
		if err != nil {
			return nil, err
		}
		if f := newRefined(e, t.k); f != nil {
			t.f = f
		}
	}
	if t.f == nil {
		f, err := newExactly(t.k)
		if err != nil {
			return nil, err
		}
		t.f = f
	}
	t.alpha = t.f.solve(t.y)
	return t, nil
}

// keyOf is the same for rows at one place.
func keyOf(row []float64) (key string) {
	for _, v := range row {
		key += fmt.Sprint(v+0, " ") // -0 is 0
	}
	return key
}

// rows sets x and y, repeated rows merged into one with their mean target.
func (t *truth) rows() {
	d, s := t.p.data, &t.scaling
	at := map[string]int{}
	for i := range d.X.Rows {
		key := keyOf(d.X.Row(i))
		k, known := at[key]
		if !known {
			k = len(t.x)
			at[key] = k
			t.x, t.y, t.counts = append(t.x, t.place(d.X.Row(i))), append(t.y, twice{}), append(t.counts, 0)
			t.first = append(t.first, i)
		}
		t.y[k] = t.y[k].add(wide(d.Y[i]))
		t.counts[k]++
	}
	for k, c := range t.counts {
		t.y[k] = t.y[k].div(wide(float64(c))).sub(wide(s.YMean)).div(wide(s.YScale)).sub(wide(t.p.params.Mean))
	}
}

// place returns the coordinates of a row in units of the lengthscales. Inputs that do
// not vary in training are out of the model.
func (t *truth) place(row []float64) []twice {
	d, s := t.p.data, &t.scaling
	var out []twice
	for j, v := range row {
		l, vary := t.p.params.Lengthscales[j], false
		for i := range d.X.Rows {
			vary = vary || d.X.At(i, j) != d.X.At(0, j)
		}
		if vary && !math.IsInf(l, 1) {
			out = append(out, wide(v).sub(wide(s.XMean[j])).div(wide(s.XScale[j])).div(wide(l)))
		}
	}
	return out
}

// cov is the covariance of f at two places.
func (t *truth) cov(a, b []twice) twice {
	var r2 twice
	for j, v := range a {
		e := v.sub(b[j])
		r2 = r2.add(e.mul(e))
	}
	var h twice
	switch t.p.params.Kernel {
	case "matern12":
		h = r2.sqrt().neg().exp()
	case "matern32":
		r := r2.mul(wide(3)).sqrt()
		h = wide(1).add(r).mul(r.neg().exp())
	case "matern52":
		r := r2.mul(wide(5)).sqrt()
		h = wide(1).add(r).add(r.mul(r).div(wide(3))).mul(r.neg().exp())
	case "gaussian":
		h = r2.mul(wide(-0.5)).exp()
	}
	return h.mul(t.variance)
}

// posterior returns the mean and the variance of f at the rows of xs, in the units of
// the data.
func (t *truth) posterior(xs linalg.Matrix) (mean, variance []float64) {
	s := &t.scaling
	k := make([][]twice, xs.Rows)
	for i := range k {
		k[i] = make([]twice, len(t.x))
		at := t.place(xs.Row(i))
		for j, x := range t.x {
			k[i][j] = t.cov(at, x)
		}
	}
	for i, form := range t.f.forms(k) {
		m := dot(k[i], t.alpha).add(wide(t.p.params.Mean)).mul(wide(s.YScale)).add(wide(s.YMean))
		v := t.variance.sub(form).mul(wide(s.YScale)).mul(wide(s.YScale))
		mean, variance = append(mean, m.float()), append(variance, v.float())
	}
	return mean, variance
}

// sum returns the mean and the variance of the sum of f over the rows of xs, in the units of the data.
func (t *truth) sum(xs linalg.Matrix) (mean, variance float64) {
	all, prior, m := make([]twice, len(t.x)), twice{}, twice{}
	for i := range xs.Rows {
		at := t.place(xs.Row(i))
		for j, x := range t.x {
			c := t.cov(at, x)
			all[j], m = all[j].add(c), m.add(c.mul(t.alpha[j]))
		}
		for j := range xs.Rows {
			prior = prior.add(t.cov(at, t.place(xs.Row(j))))
		}
	}
	s, n := &t.scaling, float64(xs.Rows)
	v := prior.sub(t.f.forms([][]twice{all})[0])
	return (m.float()+n*t.p.params.Mean)*s.YScale + n*s.YMean, v.float() * s.YScale * s.YScale
}

// leftOut returns the means and the variances of the targets of rows, merged, each by all others,
// in the units of the data.
func (t *truth) leftOut(rows []int) (mean, variance []float64) {
	s := &t.scaling
	e := make([][]twice, len(rows))
	for k, i := range rows {
		e[k] = make([]twice, len(t.x))
		e[k][i] = wide(1)
	}
	for k, form := range t.f.forms(e) {
		v := wide(1).div(form)
		m := t.y[rows[k]].sub(t.alpha[rows[k]].mul(v)).add(wide(t.p.params.Mean)).mul(wide(s.YScale)).add(wide(s.YMean))
		mean, variance = append(mean, m.float()), append(variance, v.mul(wide(s.YScale)).mul(wide(s.YScale)).float())
	}
	return mean, variance
}

package train

import (
	"math"

	"bbgp.dev/linalg"
)

// A denseInformation is F as a (D+3)×(D+3) matrix.
type denseInformation struct{ f linalg.Matrix }

func (d denseInformation) at(i int) float64 { return d.f.At(i, i) }

func (d denseInformation) scaled(s []float64) information {
	b := linalg.NewMatrix(len(s), len(s))
	for i, si := range s {
		if si == 0 {
			b.Set(i, i, 1)
			continue
		}
		for j, sj := range s {
			b.Set(i, j, d.f.At(i, j)*si*sj)
		}
	}
	return denseInformation{b}
}

func (d denseInformation) system(m *quadraticModel, free []bool) system {
	b := d.f.Clone()
	n := b.Rows
	for i := range n {
		for j := range n {
			if i != j && (!free[i] || !free[j]) {
				b.Set(i, j, 0)
			}
		}
		if !free[i] {
			b.Set(i, i, 1)
		}
	}
	top := 0.0
	for i := range n {
		top = max(top, b.At(i, i))
	}
	for i := range n {
		// A direction without any information still gets a finite step.
		b.Set(i, i, b.At(i, i)+1e-10*top+1e-12)
	}
	diag := make([]float64, n)
	for i := range n {
		diag[i] = b.At(i, i)
	}
	for _, p := range m.pairs {
		bfgs(b, p, free)
	}
	for i := range n {
		b.Set(i, i, b.At(i, i)+m.damping*diag[i])
	}
	return denseSystem{b}
}

// bfgs sets B = B - B s s'B/(s'B s) + y y'/(y's) over the free variables
// (Nocedal and Wright 2006, eq. 6.19), with Powell's damping where y's is small.
func bfgs(b linalg.Matrix, p pair, free []bool) {
	n := b.Rows
	s, y, bs := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		if free[i] {
			s[i], y[i] = p.s[i], p.y[i]
		}
	}
	sbs, sy := 0.0, 0.0
	for i := range n {
		for j, v := range b.Row(i) {
			bs[i] += v * s[j]
		}
		sbs += s[i] * bs[i]
		sy += s[i] * y[i]
	}
	if sbs <= 0 {
		return
	}
	if sy < 0.2*sbs {
		t := 0.8 * sbs / (sbs - sy)
		sy = 0
		for i := range n {
			y[i] = t*y[i] + (1-t)*bs[i]
			sy += s[i] * y[i]
		}
	}
	for i := range n {
		row := b.Row(i)
		for j := range n {
			row[j] += y[i]*y[j]/sy - bs[i]*bs[j]/sbs
		}
	}
}

// A denseSystem is B as a matrix.
type denseSystem struct{ b linalg.Matrix }

func (s denseSystem) residualTo(q, g, delta []float64) {
	for i := range q {
		q[i] = g[i]
		for j, v := range s.b.Row(i) {
			q[i] -= v * delta[j]
		}
	}
}

func (s denseSystem) quadratic(g, delta []float64) (v float64) {
	for i := range g {
		row := 0.0
		for j, x := range s.b.Row(i) {
			row += x * delta[j]
		}
		v += delta[i] * (g[i] - 0.5*row)
	}
	return v
}

func (s denseSystem) solve(e *linalg.Engine, q []float64, open []bool) []float64 {
	var idx []int
	for i, o := range open {
		if o {
			idx = append(idx, i)
		}
	}
	out := make([]float64, len(q))
	if len(idx) == 0 {
		return out
	}
	// Scaled to a unit diagonal: entries span many orders of magnitude.
	k := len(idx)
	a, r := linalg.NewMatrix(k, k), linalg.NewMatrix(k, 1)
	scale := make([]float64, k)
	for p, i := range idx {
		scale[p] = 1 / math.Sqrt(s.b.At(i, i))
	}
	for ridge := 0.0; ; ridge = max(10*ridge, 1e-12) {
		for p, i := range idx {
			r.Data[p] = q[i] * scale[p]
			for c, j := range idx {
				a.Set(p, c, s.b.At(i, j)*scale[p]*scale[c])
			}
			a.Set(p, p, a.At(p, p)+ridge)
		}
		chol, err := e.NewCholesky(a)
		if err != nil && ridge < 1e3 {
			continue
		}
		if err == nil { // else not finite: along the gradient
			chol.SolveTo(r, r)
		}
		for p, i := range idx {
			out[i] = r.Data[p] * scale[p]
		}
		return out
	}
}

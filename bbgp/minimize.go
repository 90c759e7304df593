package bbgp

import (
	"math"

	"bbgp.dev/linalg"
)

// The steps of the training. A point is a vector z: log ℓ_1..log ℓ_D, log σ_f²,
// log σ_n², c. L(z + δ) is modelled by g'δ - 1/2 δ'Bδ, and a step maximises the
// model in a box. B starts as the Fisher information of a subset. Optimizer
// levenberg adds λ diag(B), λ larger after failures; lbfgs also updates B with
// the last curvature pairs (BFGS in its direct form: with D + 3 variables the
// dense matrix costs nothing beside one evaluation).

// A pair is a step and the change of the gradient of -L along it.
type pair struct{ s, y []float64 }

const maxPairs = 12

// A metric is the model's matrix B with its damping.
type metric struct {
	e      *linalg.Engine
	base   linalg.Matrix // the Fisher information, (D+3)×(D+3)
	pairs  []pair        // nil for levenberg
	keep   bool          // collect pairs
	lambda float64
}

// push adds the pair of a step s over which the gradient of L went from g0 to
// g1, if its curvature is positive beyond rounding.
func (m *metric) push(s, g0, g1 []float64) {
	if !m.keep {
		return
	}
	y := make([]float64, len(s))
	sy, ss, yy := 0.0, 0.0, 0.0
	for i := range s {
		y[i] = g0[i] - g1[i]
		sy += s[i] * y[i]
		ss += s[i] * s[i]
		yy += y[i] * y[i]
	}
	if !(sy > 1e-10*math.Sqrt(ss*yy)) {
		return
	}
	if len(m.pairs) == maxPairs {
		m.pairs = append(m.pairs[:0], m.pairs[1:]...)
	}
	m.pairs = append(m.pairs, pair{append([]float64{}, s...), y})
}

// matrix returns B = updates(F) + λ diag(F) restricted to the free variables;
// the others have a unit diagonal.
func (m *metric) matrix(free []bool) linalg.Matrix {
	b := m.base.Clone()
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
		b.Set(i, i, b.At(i, i)+m.lambda*diag[i])
	}
	return b
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

// step maximises g'δ - 1/2 δ'Bδ over lo <= δ <= hi, lo <= 0 <= hi, and the free
// variables, by projected Newton steps (Bertsekas 1982): variables at a wall
// that the gradient presses against stay there, the others take a Newton step
// that is cut back to the box. It returns δ and the model's gain.
func (m *metric) step(g, lo, hi []float64, free []bool) (delta []float64, gain float64) {
	n := len(g)
	b := m.matrix(free)
	delta = make([]float64, n)
	next, q, open := make([]float64, n), make([]float64, n), make([]bool, n)
	for range 100 {
		for i := range n {
			q[i] = g[i]
			for j, v := range b.Row(i) {
				q[i] -= v * delta[j]
			}
			pressed := q[i] < 0 && delta[i] <= lo[i] || q[i] > 0 && delta[i] >= hi[i]
			open[i] = free[i] && !pressed
		}
		dir := m.solveOpen(b, q, open)
		better := false
		for t := 1.0; t > 1e-6 && !better; t /= 2 {
			for i := range n {
				next[i] = min(max(delta[i]+t*dir[i], lo[i]), hi[i])
			}
			v := quadratic(b, g, next)
			if better = v > gain+1e-9*math.Abs(gain); better {
				gain = v
				copy(delta, next)
			}
		}
		if !better {
			break
		}
	}
	return delta, gain
}

// quadratic returns g'δ - 1/2 δ'Bδ.
func quadratic(b linalg.Matrix, g, delta []float64) (v float64) {
	for i := range g {
		row := 0.0
		for j, x := range b.Row(i) {
			row += x * delta[j]
		}
		v += delta[i] * (g[i] - 0.5*row)
	}
	return v
}

// solveOpen returns δ with B δ = q over the open variables and 0 elsewhere.
func (m *metric) solveOpen(b linalg.Matrix, q []float64, open []bool) []float64 {
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
		scale[p] = 1 / math.Sqrt(b.At(i, i))
	}
	for ridge := 0.0; ; ridge = max(10*ridge, 1e-12) {
		for p, i := range idx {
			r.Data[p] = q[i] * scale[p]
			for c, j := range idx {
				a.Set(p, c, b.At(i, j)*scale[p]*scale[c])
			}
			a.Set(p, p, a.At(p, p)+ridge)
		}
		chol, err := m.e.NewCholesky(a)
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

// An adam is the optimiser of Kingma and Ba (2015) with its usual constants,
// climbing.
type adam struct {
	step   float64
	t      int
	m1, m2 []float64
}

func newAdam(n int, step float64) *adam {
	return &adam{step: step, m1: make([]float64, n), m2: make([]float64, n)}
}

// move changes u by one step along the gradient g.
func (a *adam) move(u, g []float64) {
	const b1, b2, tiny = 0.9, 0.999, 1e-8
	a.t++
	c1, c2 := 1-math.Pow(b1, float64(a.t)), 1-math.Pow(b2, float64(a.t))
	for i, v := range g {
		a.m1[i] = b1*a.m1[i] + (1-b1)*v
		a.m2[i] = b2*a.m2[i] + (1-b2)*v*v
		u[i] += a.step * (a.m1[i] / c1) / (math.Sqrt(a.m2[i]/c2) + tiny)
	}
}

package train

import (
	"math"

	"bbgp.dev/linalg"
)

// The steps of the training. A point is a vector z: log ℓ_1..log ℓ_D, log σ_f²,
// log σ_n², c. L(z + δ) is modelled by g'δ - 1/2 δ'Bδ, and a step maximises the
// model in a box. B starts as the Fisher information of a subset. Optimizer
// levenberg adds λ diag(B), λ larger after failures; lbfgs also updates B with
// the last curvature pairs (BFGS in its direct form: with D + 3 variables the
// dense matrix costs nothing beside one evaluation). Wide tables have B in factors
// (wide.go), and no pairs.

// A pair is a step and the change of the gradient of -L along it.
type pair struct{ s, y []float64 }

const maxPairs = 12

// An information is the Fisher information of z that B starts as.
type information interface {
	at(i int) float64
	// scaled returns diag(s) F diag(s); the rows and columns with s = 0 have 1 on
	// the diagonal.
	scaled(s []float64) information
	// system returns B = updates(F) + λ diag(F) restricted to the free variables;
	// the others have a unit diagonal.
	system(m *quadraticModel, free []bool) system
}

// A system is a matrix B that steps are made with.
type system interface {
	// residualTo sets q = g - B δ.
	residualTo(q, g, delta []float64)
	// quadratic returns g'δ - 1/2 δ'Bδ.
	quadratic(g, delta []float64) float64
	// solve returns δ with B δ = q over the open variables and 0 elsewhere.
	solve(e *linalg.Engine, q []float64, open []bool) []float64
}

// A quadraticModel is the model's matrix B with its damping.
type quadraticModel struct {
	e       *linalg.Engine
	base    information // nil: not measured yet
	pairs   []pair      // nil for levenberg
	keep    bool        // collect pairs
	damping float64
}

// push adds the pair of a step s over which the gradient of L went from g0 to
// g1, if its curvature is positive beyond rounding.
func (m *quadraticModel) push(s, g0, g1 []float64) {
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

// step maximises g'δ - 1/2 δ'Bδ over lo <= δ <= hi, lo <= 0 <= hi, and the free
// variables, by projected Newton steps (Bertsekas 1982): variables at a wall
// that the gradient presses against stay there, the others take a Newton step
// that is cut back to the box. It returns δ and the increase that the model predicts.
func (m *quadraticModel) step(g, lo, hi []float64, free []bool) (delta []float64, predicted float64) {
	n := len(g)
	b := m.base.system(m, free)
	delta = make([]float64, n)
	next, q, open := make([]float64, n), make([]float64, n), make([]bool, n)
	for range 100 {
		b.residualTo(q, g, delta)
		for i := range n {
			pressed := q[i] < 0 && delta[i] <= lo[i] || q[i] > 0 && delta[i] >= hi[i]
			open[i] = free[i] && !pressed
		}
		dir := b.solve(m.e, q, open)
		better := false
		for t := 1.0; t > 1e-6 && !better; t /= 2 {
			for i := range n {
				next[i] = min(max(delta[i]+t*dir[i], lo[i]), hi[i])
			}
			v := b.quadratic(g, next)
			if better = v > predicted+1e-9*math.Abs(predicted); better {
				predicted = v
				copy(delta, next)
			}
		}
		if !better {
			break
		}
	}
	return delta, predicted
}

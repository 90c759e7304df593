package train

import (
	"math"

	"bbgp.dev/linalg"
)

// Wide tables: with more inputs than rows, or thousands of them, the matrix of the
// quadratic model is not stored but kept as A A' + diag(own) (fisher.go), from so few
// rows that A has few columns. With Λ = λ diag F a step is solved by the matrix
// inversion lemma,
//
//	(Λ + A A')⁻¹ = Λ⁻¹ - Λ⁻¹A (I + A'Λ⁻¹A)⁻¹ A'Λ⁻¹,
//
// in O(D m⁴) time and O(D m²) memory where a dense matrix asks for D³ and D².

const (
	// wideDamping is the least λ: what so few rows do not know of must not be divided by nothing.
	wideDamping = 1e-4
)

// A wideInformation is F = A A' + diag(own).
type wideInformation struct {
	a   linalg.Matrix
	own []float64
}

func (w wideInformation) at(i int) float64 {
	v := w.own[i]
	for _, x := range w.a.Row(i) {
		v += x * x
	}
	return v
}

func (w wideInformation) scaled(s []float64) information {
	out := wideInformation{linalg.NewMatrix(w.a.Rows, w.a.Cols), make([]float64, len(s))}
	for i, v := range s {
		if v == 0 {
			out.own[i] = 1
			continue
		}
		out.own[i] = w.own[i] * v * v
		for c, x := range w.a.Row(i) {
			out.a.Row(i)[c] = v * x
		}
	}
	return out
}

func (w wideInformation) system(m *quadraticModel, free []bool) system {
	s := wideSystem{a: linalg.NewMatrix(w.a.Rows, w.a.Cols), diag: make([]float64, len(free))}
	top := 0.0
	for i, f := range free {
		if f {
			copy(s.a.Row(i), w.a.Row(i))
			s.diag[i] = w.at(i)
			top = max(top, s.diag[i])
		}
	}
	for i, f := range free {
		if !f {
			s.diag[i] = 1
			continue
		}
		s.diag[i] = max(m.damping, wideDamping)*s.diag[i] + w.own[i] + 1e-10*top + 1e-12
	}
	return s
}

// A wideSystem is B = diag + A A'.
type wideSystem struct {
	a    linalg.Matrix
	diag []float64
}

// timesA returns A'x.
func (s wideSystem) timesA(x []float64) []float64 {
	out := make([]float64, s.a.Cols)
	for i, v := range x {
		if v != 0 {
			for c, a := range s.a.Row(i) {
				out[c] += v * a
			}
		}
	}
	return out
}

func (s wideSystem) residualTo(q, g, delta []float64) {
	in := s.timesA(delta)
	for i := range q {
		q[i] = g[i] - s.diag[i]*delta[i]
		for c, a := range s.a.Row(i) {
			q[i] -= a * in[c]
		}
	}
}

func (s wideSystem) quadratic(g, delta []float64) (v float64) {
	for i, x := range delta {
		v += x * (g[i] - 0.5*s.diag[i]*x)
	}
	for _, x := range s.timesA(delta) {
		v -= 0.5 * x * x
	}
	return v
}

func (s wideSystem) solve(e *linalg.Engine, q []float64, open []bool) []float64 {
	n, r := len(q), s.a.Cols
	out, w := make([]float64, n), linalg.NewMatrix(n, r)
	for i, o := range open {
		if !o {
			continue
		}
		out[i] = q[i] / s.diag[i]
		root := 1 / math.Sqrt(s.diag[i])
		for c, a := range s.a.Row(i) {
			w.Row(i)[c] = a * root
		}
	}
	inner := linalg.NewMatrix(r, r)
	e.SyrkTo(inner, 1, w, true, 0)
	for c := range r {
		inner.Set(c, c, inner.At(c, c)+1)
	}
	chol, err := e.NewCholesky(inner)
	if err != nil { // not finite: along the gradient
		return out
	}
	x := linalg.Column(s.timesA(out))
	chol.SolveTo(x, x)
	for i, o := range open {
		if o {
			for c, a := range s.a.Row(i) {
				out[i] -= a * x.Data[c] / s.diag[i]
			}
		}
	}
	return out
}

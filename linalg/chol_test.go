package linalg

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

const eps = 0x1p-52

var triSizes = []int{1, 2, 3, 16, 24, 25, 48, 97, 240, 241, 1000}

// tooSlow leaves the largest sizes to the assembly.
func tooSlow(e *Engine, n int) bool { return n > 150 && e.Impl.Name == "generic" }

// spdMatrix returns a random n×n matrix with eigenvalues from 1 down to 1/cond.
func spdMatrix(e *Engine, n int, cond float64, seed uint64) Matrix {
	q := randMatrix(newRand(seed), n, n)
	e.ThinQR(q)
	for j := range n {
		s := 1.0
		if n > 1 {
			s = math.Pow(cond, -0.5*float64(j)/float64(n-1))
		}
		for i := range n {
			q.Data[i*q.Stride+j] *= s
		}
	}
	a := NewMatrix(n, n)
	e.SyrkTo(a, 1, q, false, 0)
	a.Mirror()
	return a
}

// lowerOf returns the lower triangle of m with zeros above it.
func lowerOf(m Matrix) Matrix {
	l := NewMatrix(m.Rows, m.Cols)
	for i := range m.Rows {
		copy(l.Row(i)[:i+1], m.Row(i)[:i+1])
	}
	return l
}

func maxAbs(m Matrix) float64 {
	s := 0.0
	for i := range m.Rows {
		for _, v := range m.Row(i) {
			if v != v {
				return v
			}
			s = max(s, math.Abs(v))
		}
	}
	return s
}

// residual returns max |c - a b|, or |c - a b'|.
func residual(e *Engine, c, a, b Matrix, tb bool) float64 {
	r := c.Clone()
	e.GemmTo(r, -1, a, false, b, tb, 1)
	return maxAbs(r)
}

func TestCholeskyBackwardError(t *testing.T) {
	engines(t, func(t *testing.T, e *Engine) {
		for _, n := range triSizes {
			if tooSlow(e, n) {
				continue
			}
			for _, cond := range []float64{1, 1e7, 1e14} {
				a := spdMatrix(e, n, cond, uint64(n))
				c, err := e.NewCholesky(a.Clone())
				if err != nil {
					t.Fatalf("n = %d, condition %g: %v", n, cond, err)
				}
				l := lowerOf(c.Factor())
				// |A - L L'| <= n eps |L||L'| elementwise, and (|L||L'|)_ii = a_ii <= 1.
				if r := residual(e, a, l, l, true); !(r <= float64(n+3)*eps) {
					t.Errorf("n = %d, condition %g: backward error %g", n, cond, r)
				}
			}
		}
	})
}

func TestCholeskyUses(t *testing.T) {
	engines(t, func(t *testing.T, e *Engine) {
		for _, n := range []int{1, 2, 49, 150, 400} {
			if tooSlow(e, n) {
				continue
			}
			a := spdMatrix(e, n, 1e4, 7)
			c, err := e.NewCholesky(a.Clone())
			if err != nil {
				t.Fatal(err)
			}
			var want mat.Cholesky
			if !want.Factorize(mat.NewSymDense(n, append([]float64(nil), a.Data...))) {
				t.Fatal("gonum: not positive definite")
			}
			if got := c.LogDet(); math.Abs(got-want.LogDet()) > 1e-9*(1+math.Abs(got)) {
				t.Errorf("n = %d: LogDet %g, want %g", n, got, want.LogDet())
			}
			for _, q := range []int{1, 3, 40, 200} {
				b := randMatrix(newRand(8), n, q)
				x := NewMatrix(n, q)
				c.SolveTo(x, b)
				if r := residual(e, b, a, x, false); !(r <= 1e-9) {
					t.Errorf("n = %d, %d right-hand sides: residual %g", n, q, r)
				}
				y := b.Clone()
				c.SolveLTo(y, y)
				c.SolveLTransTo(y, y)
				for i := range y.Data {
					if y.Data[i] != x.Data[i] {
						t.Fatal("SolveTo is not SolveLTransTo after SolveLTo")
					}
				}
			}
			inv := c.Factor()
			c.InverseTo(inv) // in place
			unit := NewMatrix(n, n)
			for i := range n {
				unit.Set(i, i, 1)
			}
			if r := residual(e, unit, a, inv, false); !(r <= 1e-9) {
				t.Errorf("n = %d: |I - A A^-1| = %g", n, r)
			}
		}
	})
}

// TestTriangularBackwardError: every row of the solution solves a system that is
// off by n eps |L||x| at most, whatever the condition (here up to 1e14 and more).
func TestTriangularBackwardError(t *testing.T) {
	engines(t, func(t *testing.T, e *Engine) {
		for _, n := range triSizes {
			if tooSlow(e, n) {
				continue
			}
			a := spdMatrix(e, n, 1e14, 9)
			c, err := e.NewCholesky(a)
			if err != nil {
				t.Fatal(err)
			}
			l := lowerOf(c.Factor())
			for _, trans := range []bool{false, true} {
				b := randMatrix(newRand(10), n, 5)
				x := b.Clone()
				e.SolveLeft(c.Factor(), trans, x)
				checkSolve(t, e, fmt.Sprintf("SolveLeft n=%d trans=%t", n, trans), b, l, trans, x)
				bt := randMatrix(newRand(11), 103, n)
				xt := bt.Clone()
				e.SolveRight(xt, c.Factor(), trans)
				checkSolve(t, e, fmt.Sprintf("SolveRight n=%d trans=%t", n, trans), transposed(bt), l, !trans,
					transposed(xt))
			}
		}
	})
}

func transposed(m Matrix) Matrix {
	r := NewMatrix(m.Cols, m.Rows)
	for i := range m.Rows {
		for j, v := range m.Row(i) {
			r.Set(j, i, v)
		}
	}
	return r
}

func absolute(m Matrix) Matrix {
	r := m.Clone()
	for i, v := range r.Data {
		r.Data[i] = math.Abs(v)
	}
	return r
}

func checkSolve(t *testing.T, e *Engine, name string, b, l Matrix, trans bool, x Matrix) {
	t.Helper()
	r, bound := b.Clone(), NewMatrix(b.Rows, b.Cols)
	e.GemmTo(r, -1, l, trans, x, false, 1)
	e.GemmTo(bound, 1, absolute(l), trans, absolute(x), false, 0)
	for i, v := range r.Data {
		if !(math.Abs(v) <= float64(3*l.Rows+10)*eps*bound.Data[i]) {
			t.Fatalf("%s: residual %g, |L||x| = %g", name, v, bound.Data[i])
		}
	}
}

func TestCholeskyFailure(t *testing.T) {
	e := testEngine(t, nil, 2)
	for _, n := range []int{1, 30, 100, 300} {
		for _, pivot := range []int{0, n / 2, n - 1} {
			a := spdMatrix(e, n, 10, 12)
			// Row pivot a copy of the one before, less 3 on the diagonal.
			if pivot > 0 {
				copy(a.Row(pivot), a.Row(pivot-1))
				for i := range n {
					a.Set(i, pivot, a.At(i, pivot-1))
				}
				a.Set(pivot, pivot, a.At(pivot-1, pivot-1)-3)
			} else {
				a.Set(0, 0, -3)
			}
			_, err := e.NewCholesky(a)
			var bad *NotPDError
			if !errors.As(err, &bad) || bad.Pivot != pivot || math.Abs(bad.Value+3) > 1e-10 {
				t.Errorf("n = %d: %v, want pivot %d with -3", n, err, pivot)
			}
		}
	}
	a := spdMatrix(e, 60, 10, 13)
	a.Set(55, 20, math.NaN())
	var bad *NotPDError
	if _, err := e.NewCholesky(a); !errors.As(err, &bad) || bad.Pivot != 55 {
		t.Errorf("NaN: %v", err)
	}
}

func TestEigenSym(t *testing.T) {
	e := testEngine(t, nil, 1)
	for _, n := range []int{0, 1, 2, 40, 130} {
		a := spdMatrix(e, n, 1e14, 14)
		values, v, err := EigenSym(a)
		if err != nil {
			t.Fatal(err)
		}
		scaled := v.Clone()
		for i := range n {
			for j := range n {
				scaled.Data[i*n+j] *= values[j]
			}
		}
		if r := residual(e, a, scaled, v, true); !(r <= float64(n+4)*4*eps) {
			t.Errorf("EigenSym n = %d: %g", n, r)
		}
	}
	bad := NewMatrix(2, 2)
	bad.Set(1, 0, math.NaN())
	if _, _, err := EigenSym(bad); !errors.Is(err, ErrNoConvergence) {
		t.Errorf("EigenSym of NaN: %v", err)
	}
}

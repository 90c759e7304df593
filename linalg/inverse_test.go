package linalg

import (
	"math"
	"testing"
)

// TestInverseBackwardError holds the inverses to what each of their steps allows:
// with X = L^-1, |X L - I| <= (n/10 + 4) eps |X||L| elementwise, and with Y = A^-1,
// |Y A - I| <= (n/10 + 4) eps |Y||L||L'|, whatever the condition.
func TestInverseBackwardError(t *testing.T) {
	engines(t, func(t *testing.T, e *Engine) {
		for _, n := range triSizes {
			if tooSlow(e, n) {
				continue
			}
			for _, cond := range []float64{1, 1e14} {
				if n > 500 && cond == 1 {
					continue // the sizes below tell the same
				}
				a := spdMatrix(e, n, cond, 16)
				c, err := e.NewCholesky(a.Clone())
				if err != nil {
					t.Fatal(err)
				}
				l := lowerOf(c.Factor())
				x := l.Clone()
				e.InvertLower(x)
				nearIdentity(t, e, "L^-1", cond, x, l, absolute(l))
				y := NewMatrix(n, n)
				c.InverseTo(y)
				abs := NewMatrix(n, n)
				e.SyrkTo(abs, 1, absolute(l), false, 0)
				abs.Mirror()
				nearIdentity(t, e, "A^-1", cond, y, a, abs)
			}
		}
	})
}

// nearIdentity compares x m with I, up to (n/10 + 4) eps |x| size.
func nearIdentity(t *testing.T, e *Engine, name string, cond float64, x, m, size Matrix) {
	t.Helper()
	n := x.Rows
	r, bound := NewMatrix(n, n), NewMatrix(n, n)
	for i := range n {
		r.Set(i, i, 1)
	}
	e.GemmTo(r, -1, x, false, m, false, 1)
	e.GemmTo(bound, 1, absolute(x), false, size, false, 0)
	for i, v := range r.Data {
		if !(math.Abs(v) <= (0.1*float64(n)+4)*eps*bound.Data[i]) {
			t.Fatalf("%s, n = %d, condition %g: element (%d, %d) of the residual is %g, |x||m| is %g",
				name, n, cond, i/n, i%n, v, bound.Data[i])
		}
	}
}

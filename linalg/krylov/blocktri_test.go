package krylov

import (
	"errors"
	"math"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

const eps = 0x1p-52

// growing returns a block tridiagonal H = L L' of t blocks of order p whose
// condition is about cond: L has nearly ones on its diagonal, and L^-1 grows from
// block to block, which no scaling of rows and columns mends.
func growing(p, t int, cond float64) *BlockTri {
	rng := linalgtest.NewRand(uint64(100*p + t))
	g := math.Pow(cond, 1/float64(2*max(1, t-1)))
	l, c := make([]linalg.Matrix, t), make([]linalg.Matrix, t) // diagonal blocks of L, and those below
	for j := range t {
		l[j], c[j] = linalgtest.GuardedMatrix(rng, p, p).Clone(), linalgtest.GuardedMatrix(rng, p, p).Clone()
		for i := range p {
			for k := range p {
				c[j].Set(i, k, g*c[j].At(i, k)/float64(4*p*t))
				if k >= i {
					l[j].Set(i, k, 0)
				} else {
					l[j].Set(i, k, l[j].At(i, k)/float64(4*p*t))
				}
			}
			c[j].Set(i, i, c[j].At(i, i)-g)
			l[j].Set(i, i, 1)
		}
	}
	one := linalg.NewMatrix(p, p)
	for i := range p {
		one.Set(i, i, 1)
	}
	h := NewBlockTri(one)
	for j := range t {
		a, b := linalg.NewMatrix(p, p), linalg.NewMatrix(p, p)
		addMul(a, 0, l[j], linalgtest.Transposed(l[j]), 0, 1)
		if j > 0 {
			addMul(a, 0, c[j-1], linalgtest.Transposed(c[j-1]), 0, 1)
		}
		if j+1 < t {
			addMul(b, 0, c[j], linalgtest.Transposed(l[j]), 0, 1)
			h.Push(a, b)
		} else {
			h.Push(a, linalg.NewMatrix(0, p))
		}
	}
	return h
}

// TestBlockLDLBackwardError solves with H: the residual is at most a small
// multiple of eps |L||L'||x|, whatever the condition.
func TestBlockLDLBackwardError(t *testing.T) {
	e := linalgtest.NewEngine(t, nil, 2)
	for _, s := range [][2]int{{1, 1}, {1, 2}, {2, 1}, {1, 300}, {8, 3}, {9, 40}, {8, 125}} {
		for _, cond := range []float64{1, 1e7, 1e14} {
			p, k := s[0], s[0]*s[1]
			h := growing(p, s[1], cond)
			var f BlockLDL
			if !f.Reset(h, 0) {
				t.Fatalf("%v, condition %g: %v", s, cond, f.Err())
			}
			b := linalgtest.GuardedMatrix(linalgtest.NewRand(5), k, 3).Clone()
			x, r := b.Clone(), linalg.NewMatrix(k, 3)
			f.SolveTo(x)
			h.MulTo(r, x)
			l := linalg.NewMatrix(k, k)
			for j := range s[1] {
				o := j * p
				l.Sub(o, o+p, o, o+p).CopyFrom(lowerOf(f.chol[j]))
				if j+1 < s[1] {
					l.Sub(o+p, o+2*p, o, o+p).CopyFrom(linalgtest.Transposed(f.half[j]))
				}
			}
			l = absolute(l)
			half, bound := linalg.NewMatrix(k, 3), linalg.NewMatrix(k, 3)
			e.GemmTo(half, 1, l, true, absolute(x), false, 0)
			e.GemmTo(bound, 1, l, false, half, false, 0)
			for i, v := range r.Data {
				if d := math.Abs(v - b.Data[i]); !(d <= float64(4*p+20)*eps*bound.Data[i]) {
					t.Fatalf("%d blocks of %d, condition %g: residual %g, |L||L'||x| = %g", s[1], p, cond, d,
						bound.Data[i])
				}
			}
		}
	}
}

func TestBlockLDLFailure(t *testing.T) {
	for _, pivot := range []int{0, 5, 11, 23} {
		h := growing(4, 6, 1e3)
		h.a[pivot/4].Data[pivot%4*5] -= 1000
		var f BlockLDL
		var bad *linalg.NotPDError
		ok := f.Reset(h, 0)
		if err := f.Err(); ok || !errors.Is(err, ErrNotDefinite) || !errors.As(err, &bad) || bad.Pivot != pivot ||
			math.Abs(bad.Value+999) > 1e-8 {
			t.Errorf("pivot %d: %v", pivot, err)
		}
	}
}

func absolute(m linalg.Matrix) linalg.Matrix {
	r := m.Clone()
	for i, v := range r.Data {
		r.Data[i] = math.Abs(v)
	}
	return r
}

// lowerOf returns the lower triangle of m with zeros above it.
func lowerOf(m linalg.Matrix) linalg.Matrix {
	l := linalg.NewMatrix(m.Rows, m.Cols)
	for i := range m.Rows {
		copy(l.Row(i)[:i+1], m.Row(i)[:i+1])
	}
	return l
}

package main

import (
	"fmt"
	"math"

	"bbgp.dev/linalg"
)

// An exactly is the Cholesky factor of K̂ in twice the precision, n³/3 of its operations.
type exactly struct {
	l [][]twice // by rows
}

// newExactly factors the lower triangle of k. It fails where that is not positive definite even
// so.
func newExactly(k [][]twice) (*exactly, error) {
	f := &exactly{l: make([][]twice, len(k))}
	for i := range k {
		row := append([]twice{}, k[i][:i+1]...)
		f.l[i] = row
		for j := range i + 1 {
			s := row[j].sub(dot(row[:j], f.l[j][:j]))
			if j < i {
				row[j] = s.div(f.l[j][j])
				continue
			}
			if !(s.hi > 0) {
				return nil, fmt.Errorf("pivot %d is %g in twice the precision", i, s.hi)
			}
			row[i] = s.sqrt()
		}
	}
	return f, nil
}

// solve returns K̂⁻¹b.
func (f *exactly) solve(b []twice) []twice {
	x := make([]twice, len(b))
	for i, v := range b {
		x[i] = v.sub(dot(x[:i], f.l[i][:i])).div(f.l[i][i])
	}
	for i := len(x) - 1; i >= 0; i-- {
		x[i] = x[i].div(f.l[i][i])
		v := x[i].neg()
		for j, l := range f.l[i][:i] {
			x[j] = x[j].fma(v, l)
		}
	}
	return x
}

func (f *exactly) forms(b [][]twice) []twice {
	out := make([]twice, len(b))
	for i, v := range b {
		out[i] = dot(v, f.solve(v))
	}
	return out
}

func (f *exactly) logDet() float64 {
	s := 0.0
	for i := range f.l {
		s += math.Log(f.l[i][i].float())
	}
	return 2 * s
}

// inverse is K̂⁻¹, from the factor rounded to float64.
func (f *exactly) inverse() linalg.Matrix {
	n := len(f.l)
	w, out := linalg.NewMatrix(n, n), linalg.NewMatrix(n, n) // L⁻¹ by columns
	for c := range n {
		for i := c; i < n; i++ {
			s := 0.0
			if i == c {
				s = 1
			}
			for k := c; k < i; k++ {
				s -= f.l[i][k].hi * w.At(c, k)
			}
			w.Set(c, i, s/f.l[i][i].hi)
		}
	}
	for i := range n {
		for j := range i + 1 {
			s := 0.0
			a, b := w.Row(i), w.Row(j)
			for k := i; k < n; k++ {
				s += a[k] * b[k]
			}
			out.Set(i, j, s)
		}
	}
	return out
}

package krylov

import (
	"errors"
	"math"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// TestInvSqrt: H^-1/2 [R0; 0] against the eigenvectors of H, and the residual of
// H^-1 [R0; 0] against what the operator makes of it.
func TestInvSqrt(t *testing.T) {
	op, f := krylovCase(t, 200, 0, 1e-2)
	e, w := op.e, rademacher(linalgtest.NewRand(3), 200, 4)
	l := NewLanczos(e, 200, 4, LanczosOptions{Wide: true})
	l.Start(op, f, w)
	steps(t, l, 12)
	k := l.H.Dim()
	h := linalg.NewMatrix(k, k)
	l.H.DenseTo(h)
	values, vectors, err := linalg.EigenSym(h)
	if err != nil {
		t.Fatal(err)
	}
	want, c := linalg.NewMatrix(k, 4), linalg.NewMatrix(k, 4)
	e.GemmTo(c, 1, vectors.Sub(0, l.H.R0.Rows, 0, k), true, l.H.R0, false, 0)
	for i, v := range values {
		for j := range 4 {
			c.Data[i*4+j] /= math.Sqrt(v)
		}
	}
	e.GemmTo(want, 1, vectors, false, c, false, 0)
	got, err := InvSqrt(l.H, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if d := linalgtest.MaxDiff(got, want); d > 1e-6*maxNorm(want) {
		t.Errorf("root is off by %g of %g", d, maxNorm(want))
	}

	if low, high, err := Ends(l.H); err != nil || !(low >= values[0]*(1-1e-9) && low <= 1.1*values[0]) ||
		!(high <= values[k-1]*(1+1e-9) && high >= values[k-1]/1.1) {
		t.Errorf("ends %g and %g (%v) of %g and %g", low, high, err, values[0], values[k-1])
	}

	var ldl BlockLDL
	ldl.Reset(l.H, 0)
	x := linalg.NewMatrix(k, 4)
	for i := range l.H.R0.Rows {
		copy(x.Row(i), l.H.R0.Row(i))
	}
	ldl.SolveTo(x)
	full, _, _ := whitened(op, f)
	tx, ax := linalg.NewMatrix(200, 4), linalg.NewMatrix(200, 4)
	if err := l.MulBasisTo(t.Context(), tx, x); err != nil {
		t.Fatal(err)
	}
	e.GemmTo(ax, 1, full, false, tx, false, 0)
	worst := 0.0
	for j := range 4 {
		r, b := 0.0, 0.0
		for i := range 200 {
			r += (w.At(i, j) - ax.At(i, j)) * (w.At(i, j) - ax.At(i, j))
			b += w.At(i, j) * w.At(i, j)
		}
		worst = max(worst, math.Sqrt(r/b))
	}
	got1, err := SolveResidual(l.H)
	if err != nil || math.Abs(got1-worst) > 1e-9 || worst < 1e-6 {
		t.Errorf("residual %g, want %g; %v", got1, worst, err)
	}

	bad := NewBlockTri(linalg.Matrix{Rows: 1, Cols: 1, Stride: 1, Data: []float64{1}})
	bad.Push(linalg.Matrix{Rows: 1, Cols: 1, Stride: 1, Data: []float64{-1}}, linalg.Matrix{Cols: 1})
	if _, err := InvSqrt(bad, 1e-3); !errors.Is(err, ErrNotDefinite) {
		t.Errorf("negative H: %v", err)
	}
	if _, err := SolveResidual(bad); !errors.Is(err, ErrNotDefinite) {
		t.Errorf("negative H: %v", err)
	}
}

package train

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// Information of quarters and of all rows of a subset, continued to more rows, is nearer to the
// true one than a multiple: where there is little noise, σ_f² and ℓ grow together at little cost.
func TestGrownInformation(t *testing.T) {
	e, ctx := gptest.Engine(t), context.Background()
	r := rand.New(rand.NewPCG(4, 5))
	const n, rows = 1000, 250
	for _, noise := range []float64{1e-5, 0.1} {
		d := filled(n, 3, func(_ int, x []float64) float64 {
			for j := range x {
				x[j] = r.NormFloat64()
			}
			return 0
		})
		p := gp.Params{Kernel: "matern32", Variance: 20, Noise: noise, Lengthscales: []float64{8, 12, 20}}
		_, a, err := whitenedRows(ctx, e, d, p, 0.5, false)
		if err != nil {
			t.Fatal(err)
		}
		truth, sub := gram(e, a), d.Rows(gp.Subset(n, rows, 1))
		if _, a, err = whitenedRows(ctx, e, sub, p, 0.5, false); err != nil {
			t.Fatal(err)
		}
		few, err := quarters(ctx, e, sub, p)
		if err != nil {
			t.Fatal(err)
		}
		got := misfit(t, e, truth, grown(e, few, gram(e, a), quarterShare, n/rows))
		multiple := misfit(t, e, truth, grown(e, linalg.Matrix{}, gram(e, a), quarterShare, n/rows))
		t.Logf("noise %g: factors up to %.3g, of a multiple %.3g", noise, got, multiple)
		if got > 3 || got > 0.5*multiple {
			t.Errorf("noise %g: a direction is wrong by a factor %v, by %v of a multiple", noise, got, multiple)
		}
	}
}

// misfit is the largest factor by which b differs from a along a direction, but for that of c.
func misfit(t *testing.T, e *linalg.Engine, a, b linalg.Matrix) float64 {
	t.Helper()
	n := a.Rows - 1
	x, y := linalg.NewMatrix(n, n), linalg.NewMatrix(n, n)
	for i := range n {
		copy(x.Row(i), a.Row(i)[:n])
		copy(y.Row(i), b.Row(i)[:n])
	}
	chol, err := e.NewCholesky(x)
	if err != nil {
		t.Fatal(err)
	}
	e.SolveLeft(chol.Factor(), false, y)
	e.SolveRight(y, chol.Factor(), true)
	values, _, err := linalg.EigenSym(y)
	if err != nil {
		t.Fatal(err)
	}
	return math.Max(values[n-1], 1/values[0])
}

// The information of σ_f² and σ_n² is at most half a nat a row, though that of a small noise grows faster than the rows
// where they are few: on a map of 40000 places with little noise its power leads to twice that and more.
func TestInformationAtMost(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	const n = 40000
	d := filled(n, 2, func(_ int, x []float64) float64 {
		x[0], x[1] = r.Float64(), r.Float64()
		return 0
	})
	p := gp.Params{Kernel: "matern32", Variance: 1, Noise: 0.01, Lengthscales: []float64{0.1, 0.1}}
	fs, err := newFisher(context.Background(), gptest.Engine(t), d, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := 2; i < 4; i++ {
		if v := fs.f.At(i, i) / n; !(v > 0.01) || v > 0.5000001 {
			t.Errorf("information %d is %v a row, at most 1/2 there can be", i, v)
		}
	}
	if _, err := gptest.Engine(t).NewCholesky(fs.information(1).(denseInformation).f); err != nil {
		t.Error("the information is not positive definite: ", err)
	}
}

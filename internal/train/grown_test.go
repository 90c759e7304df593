package train

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/cost"
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

// The information of σ_n² is at most half a nat a row, though that of a small noise grows faster than the rows
// where they are few: on a map of 40000 places with little noise its power leads to twice that and more. All else stays
// as it has grown, also that of σ_f² where it has come out as more than half a nat: the ridge that it makes with
// lengthscales would turn.
func TestInformationAtMost(t *testing.T) {
	r, e, ctx := rand.New(rand.NewPCG(6, 1)), gptest.Engine(t), context.Background()
	const n = 40000
	table := func(inputs int) *gp.Table {
		return filled(n, inputs, func(_ int, x []float64) float64 {
			for j := range x {
				x[j] = r.Float64()
			}
			return 0
		})
	}
	plane := gp.Params{Kernel: "matern32", Variance: 1, Noise: 0.01, Lengthscales: []float64{0.1, 0.1}}
	fs, err := newFisher(ctx, e, table(2), plane, 1)
	if err != nil {
		t.Fatal(err)
	}
	if v := fs.f.At(3, 3) / n; !(v > 0.01) || v > 0.5000001 {
		t.Errorf("the information of the noise is %v a row, at most 1/2 there can be", v)
	}
	if _, err := e.NewCholesky(fs.information(1).(denseInformation).f); err != nil {
		t.Error("the information is not positive definite: ", err)
	}
	smooth := gp.Params{Kernel: "matern32", Variance: 4000, Noise: 1e-6, Lengthscales: []float64{30, 30, 20, 20, 20}}
	d, rows := table(5), cost.InformationRows(n, 5)
	if fs, err = newFisher(ctx, e, d, smooth, 1); err != nil {
		t.Fatal(err)
	}
	sub := d.Rows(gp.Subset(n, rows, 1))
	_, a, err := whitenedRows(ctx, e, sub, smooth, 0.5, true)
	if err != nil {
		t.Fatal(err)
	}
	few, err := quarters(ctx, e, sub, smooth)
	if err != nil {
		t.Fatal(err)
	}
	want := grown(e, few, gram(e, a), quarterShare, float64(n)/float64(rows))
	t.Logf("information of σ_f²: %.3g a row", want.At(5, 5)/n)
	for i := range 6 {
		for j := range 6 {
			if fs.f.At(i, j) != want.At(i, j) {
				t.Fatalf("information %d %d is %v, %v as it has grown", i, j, fs.f.At(i, j), want.At(i, j))
			}
		}
	}
}

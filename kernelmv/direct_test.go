package kernelmv

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// TestCloseRows: the gradient of pairs of rows that lie close together, with a huge M of
// either sign as small noise makes it, is that of the scalar formulas.
func TestCloseRows(t *testing.T) {
	ctx, e := context.Background(), linalgtest.NewEngine(t, asm.All()[0], 2)
	for _, f := range allFamilies {
		for _, gap := range []float64{1e-10, 1e-7, 1e-5, 1e-3} {
			rng := rand.New(rand.NewPCG(9, 10))
			n, d := 200, 3
			x := linalg.NewMatrix(n, d)
			for i := range n {
				for j := range d {
					x.Set(i, j, 3*rng.NormFloat64())
					if i%2 == 1 {
						x.Set(i, j, x.At(i-1, j)+gap*rng.NormFloat64())
					}
				}
			}
			k := Kernel{Family: f, Variance: 1, Lengthscales: []float64{1, 2, 3}}
			op := newOp(t, e, x, k, nil)
			// u is ±1 on the two rows of a pair: M of the size of 1/noise.
			u := linalg.NewMatrix(n, 4)
			for i := range n {
				for r := range 4 {
					v := 1e4 * rng.NormFloat64()
					if i%2 == 1 {
						v = -u.At(i-1, r) * (1 + 1e-3*rng.Float64())
					}
					u.Set(i, r, v)
				}
			}
			g := []float64{1, -0.5, 0.25, 2}
			m := outerSum(u, g)
			want, _, _ := denseGrad(x, k, m)
			size := make([]float64, d) // of the terms
			for i := range n {
				for j := range n {
					k.GradAt(size, math.Abs(m.At(i, j)), x.Row(i), x.Row(j))
				}
			}
			got := make([]float64, d)
			check := func(what string) {
				t.Helper()
				for j := range want {
					if off := math.Abs(got[j] - want[j]); off > 1e-9*size[j]+defaultGradSlack {
						t.Errorf("%s, %v, gap %g: derivative %d is %.8g, want %.8g of %.3g", what, f, gap, j, got[j],
							want[j], size[j])
					}
				}
			}
			if err := op.GradTo(ctx, got, u, g); err != nil {
				t.Fatal(err)
			}
			check("low rank")
			if _, err := op.DenseGradTo(ctx, got, m); err != nil {
				t.Fatal(err)
			}
			check("dense")
		}
	}
}

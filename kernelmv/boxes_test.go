package kernelmv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// far tiles are left out, and the product is as with them.
func TestSkip(t *testing.T) {
	for _, d := range []int{1, 2, 3} {
		for _, f := range families {
			n, rng := 2000, rand.New(rand.NewPCG(50, uint64(d)))
			x, v := linalgtest.RandMatrix(rng, n, d), linalgtest.RandMatrix(rng, n, 3)
			k := Kernel{Family: f, Variance: 1}
			for range d {
				k.Lengthscales = append(k.Lengthscales, 0.01)
			}
			op := newOp(t, engine(t, nil, 3), x, k, nil)
			if op.line != nil {
				continue
			}
			ctx := context.Background()
			for _, prec := range []Precision{F32, F64} {
				op.SetTilesOnly(false)
				y, z := linalg.NewMatrix(n, 3), linalg.NewMatrix(n, 3)
				if err := op.With(prec).MulTo(ctx, y, v); err != nil {
					t.Fatal(err)
				}
				if prec == F64 {
					far := 0
					for i := 0; i < op.sched.padded; i += 24 {
						for j := 0; j < op.sched.padded; j += 96 {
							if op.p64.grid.far(i, 24, j, 96) {
								far++
							}
						}
					}
					if all := op.sched.padded / 24 * op.sched.padded / 96; far < all/3 {
						t.Errorf("%v, d = %d: only %d of %d tiles are skipped", f, d, far, all)
					}
				}
				op.SetTilesOnly(true)
				if err := op.With(prec).MulTo(ctx, z, v); err != nil {
					t.Fatal(err)
				}
				near(t, fmt.Sprint(f, d, prec), y, z, map[Precision]float64{F32: 1e-4, F64: 1e-12}[prec])
			}
		}
	}
}

// The order is a permutation.
func TestSortPoints(t *testing.T) {
	for _, n := range []int{1, 2, 24, 25, 97, 193, 1000, 5000} {
		rng := rand.New(rand.NewPCG(51, uint64(n)))
		op := newOp(t, engine(t, nil, 1), clumped(rng, n, 3), randKernel(rng, Gaussian, 3), nil)
		seen := make([]bool, n)
		for _, i := range op.order {
			if seen[i] {
				t.Fatalf("n = %d: row %d twice", n, i)
			}
			seen[i] = true
		}
		if len(op.order) != n {
			t.Fatalf("n = %d: %d rows", n, len(op.order))
		}
	}
}

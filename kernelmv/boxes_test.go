package kernelmv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// far tiles are left out, and the product is as with them: no entry of such a
// tile is above the tolerance.
func TestSkip(t *testing.T) {
	for _, d := range []int{1, 2, 3} {
		for _, f := range families {
			n, rng := 2000, rand.New(rand.NewPCG(50, uint64(d)))
			x, v := linalgtest.RandMatrix(rng, n, d), linalgtest.RandMatrix(rng, n, 3)
			k := Kernel{Family: f, Variance: 1}
			for range d {
				k.Lengthscales = append(k.Lengthscales, 0.01)
			}
			op := newOp(t, linalgtest.NewEngine(t, nil, 3), x, k, nil)
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
				var far func(i, rows, j, cols int) bool
				tol := farF64
				if prec == F64 {
					far = op.p64.grid.far
				} else {
					far, tol = op.p32.grid.far, farF32
				}
				count := 0
				for i := 0; i < op.sched.padded; i += 24 {
					for j := 0; j < op.sched.padded; j += 96 {
						if !far(i, 24, j, 96) {
							continue
						}
						count++
						if h := largestIn(op, x, i, j, 1+count%37*12); !(h <= tol) {
							t.Fatalf("%v, d = %d, %v: a tile with an entry %g is skipped", f, d, prec, h)
						}
					}
				}
				if all := op.sched.padded / 24 * op.sched.padded / 96; count < all/3 {
					t.Errorf("%v, d = %d, %v: only %d of %d tiles are skipped", f, d, prec, count, all)
				}
				op.SetTilesOnly(true)
				if err := op.With(prec).MulTo(ctx, z, v); err != nil {
					t.Fatal(err)
				}
				near(t, fmt.Sprint(f, d, prec), y, z, map[Precision]float64{F32: 1e-5, F64: 1e-12}[prec])
			}
		}
	}
}

// largestIn returns the largest entry of the tile of 24×96 at i, j, of every
// step-th of its rows and columns.
func largestIn(op *Op, x linalg.Matrix, i, j, step int) (h float64) {
	n := op.Dim()
	for r := i; r < min(i+24, n); r += step {
		for c := j; c < min(j+96, n); c += step {
			h = max(h, op.kernel.At(x.Row(op.row(r)), x.Row(op.row(c))))
		}
	}
	return h
}

// The order is a permutation.
func TestSortPoints(t *testing.T) {
	for _, n := range []int{1, 2, 24, 25, 97, 193, 1000, 5000} {
		rng := rand.New(rand.NewPCG(51, uint64(n)))
		op := newOp(t, linalgtest.NewEngine(t, nil, 1), clumped(rng, n, 3), randKernel(rng, Gaussian, 3), nil)
		op.arrangeOrder()
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

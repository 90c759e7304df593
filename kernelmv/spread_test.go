package kernelmv

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// TestSpread compares neighbours of spread orderings with those found by sorting: ties and
// repeated rows, too, by one thread and three.
func TestSpread(t *testing.T) {
	const n, k = 9000, 12
	const m, near = n / spreadStep, k - k/spreadShare
	rng := rand.New(rand.NewPCG(5, 1))
	ties := linalg.NewMatrix(n, 2)
	for i := range ties.Data {
		ties.Data[i] = float64(rng.IntN(60))
	}
	for _, x := range []linalg.Matrix{linalgtest.RandMatrix(rng, n, 3), ties} {
		kernel, one := randKernel(rng, asm.Matern32, x.Cols), []int32(nil)
		for _, threads := range []int{1, 3} {
			op := newOp(t, linalgtest.NewEngine(t, asm.All()[0], threads), x, kernel, make([]float64, n))
			order, dst := rand.New(rand.NewPCG(5, 2)).Perm(n), make([]int32, n*k)
			if err := op.spreadTo(context.Background(), dst, order, k); err != nil {
				t.Fatal(err)
			}
			if one == nil {
				one = dst
				checkSpread(t, op, dst, order, m, k, near)
			} else if !slices.Equal(one, dst) {
				t.Errorf("%d inputs: other neighbours by three threads", x.Cols)
			}
		}
	}
}

func checkSpread(t *testing.T, op *Op, dst []int32, order []int, m, k, near int) {
	t.Helper()
	index := make([]int32, len(order))
	for i, r := range order {
		index[i] = int32(r)
	}
	all := op.someRows(index)
	for q := 0; q < len(order); q += 61 {
		got := dst[q*k : (q+1)*k]
		if q < m {
			if want := bruteNeighbours(op, all, all, q, q, k); !slices.Equal(got, want) {
				t.Fatalf("position %d: %v, want %v", q, got, want)
			}
			continue
		}
		want := bruteNeighbours(op, all, all, q, q, near)
		for _, p := range bruteNeighbours(op, all, all, q, m, k) {
			if len(want) < k && !slices.Contains(want, p) {
				want = append(want, p)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("position %d: %v, want %v", q, got, want)
		}
	}
}

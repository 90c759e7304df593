package kernelmv

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// bruteNeighbours sorts all earlier positions.
func bruteNeighbours(op *Op, left, right rowSet, i, end, k int) []int32 {
	d := op.pts.dim
	at := func(s rowSet, i int) []float64 {
		if s.index != nil {
			i = int(s.index[i])
		}
		return s.x[i*d : (i+1)*d]
	}
	var all []candidate
	for j := range end {
		var s float64
		for c, v := range at(left, i) {
			t := v - at(right, j)[c]
			s = math.FMA(t, t, s)
		}
		all = append(all, candidate{s, int32(j)})
	}
	slices.SortFunc(all, compare)
	out := make([]int32, k)
	for i := range out {
		out[i] = -1
		if i < len(all) {
			out[i] = all[i].pos
		}
	}
	return out
}

// clumped has many duplicates and ties: integers, some rows repeated.
func clumped(rng *rand.Rand, n, d int) linalg.Matrix {
	x := linalg.NewMatrix(n, d)
	for i := range x.Data {
		x.Data[i] = float64(rng.IntN(4))
	}
	return x
}

// closeBy has rows around (50, 50, ...) that float32 cannot tell apart.
func closeBy(rng *rand.Rand, n, d int) linalg.Matrix {
	x := linalgtest.RandMatrix(rng, n, d)
	for i := range n {
		for c := range d {
			x.Set(i, c, 50*float64(1-i%2*2)+1e-6*x.At(i, c))
		}
	}
	return x
}

func TestNeighboursTo(t *testing.T) {
	forEach(t, func(t *testing.T, im *asm.Impl) {
		for _, d := range []int{1, 2, 3, 5, 9} {
			for _, n := range []int{1, 2, 97, 500} {
				for kind, make := range map[string]func(*rand.Rand, int, int) linalg.Matrix{
					"normal": linalgtest.RandMatrix, "clumped": clumped, "close": closeBy,
				} {
					rng := rand.New(rand.NewPCG(uint64(d), uint64(n)))
					op := newOp(t, linalgtest.NewEngine(t, im, 3), make(rng, n, d), randKernel(rng, Matern32, d), nil)
					for _, k := range []int{1, 16, 65, 600} {
						if k == 600 && d != 3 && d != 9 {
							continue
						}
						checkNeighbours(t, op, rng, k, fmt.Sprintf("%s n=%d d=%d k=%d", kind, n, d, k))
					}
				}
			}
		}
	})
}

func checkNeighbours(t *testing.T, op *Op, rng *rand.Rand, k int, what string) {
	t.Helper()
	n := op.Dim()
	order := rng.Perm(n)
	got := make([]int32, n*k)
	if err := op.NeighboursTo(context.Background(), got, order, k); err != nil {
		t.Fatal(err)
	}
	index := make([]int32, n)
	for i, r := range order {
		index[i] = int32(r)
	}
	set := op.someRows(index)
	ends := make([]int32, n)
	for i := range ends {
		ends[i] = int32(i)
	}
	if op.pts.dim <= 5 { // of which only large sets go to the tree
		tree := make([]int32, n*k)
		if err := op.searchTree(context.Background(), tree, set, set, k, ends); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, tree) {
			t.Fatalf("%s: tree and tiles differ", what)
		}
	}
	for i := 0; i < n; i += 1 + i/50 {
		if want := bruteNeighbours(op, set, set, i, i, k); !slices.Equal(got[i*k:(i+1)*k], want) {
			t.Fatalf("%s: position %d has %v, want %v", what, i, got[i*k:(i+1)*k], want)
		}
	}
}

func TestNearest(t *testing.T) {
	for i, x := range []func(*rand.Rand, int, int) linalg.Matrix{clumped, clumped, linalgtest.RandMatrix, closeBy} {
		d := 2 + 4*min(i, 1)
		rng := rand.New(rand.NewPCG(30, uint64(d)))
		op := newOp(t, linalgtest.NewEngine(t, nil, 2), x(rng, 1333, d), randKernel(rng, Gaussian, d), nil)
		xs := linalgtest.RandMatrix(rng, 110, d)
		for _, k := range []int{0, 1, 30, 400} {
			got, err := op.Nearest(context.Background(), xs, k)
			if err != nil {
				t.Fatal(err)
			}
			left, _ := op.testRows(xs)
			for i := range xs.Rows {
				if want := bruteNeighbours(op, left, op.allRows(), i, op.Dim(), k); !slices.Equal(got[i*k:(i+1)*k],
					want) {
					t.Fatalf("d=%d k=%d: row %d has %v, want %v", d, k, i, got[i*k:(i+1)*k], want)
				}
			}
		}
	}
}

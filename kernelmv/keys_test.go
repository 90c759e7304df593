package kernelmv

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// keyLists are lists of n keys: random, skewed over many powers of two, equal in
// all but the position, and one far from the others.
func keyLists(rng *rand.Rand, n int) map[string][]uint64 {
	lists := map[string][]uint64{}
	for name, d := range map[string]func(i int) float32{
		"random": func(int) float32 { return rng.Float32() },
		"skewed": func(int) float32 { return float32(math.Exp(20 * rng.NormFloat64())) },
		"equal":  func(int) float32 { return 3 },
		"far":    func(i int) float32 { return 1 + float32(i/(n-1))*1e30 },
		"ties":   func(int) float32 { return float32(rng.IntN(4)) },
	} {
		keys := make([]uint64, n)
		for i, pos := range rng.Perm(n) {
			keys[i] = keyOf(d(i), pos)
		}
		lists[name] = keys
	}
	return lists
}

func TestKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	work := make([]uint64, 2000)
	for _, n := range []int{2, 3, 17, 64, 90, 384, 2000} {
		for name, keys := range keyLists(rng, n) {
			want := slices.Clone(keys)
			slices.Sort(want)
			for k := 1; k <= n; k += 1 + k/3 {
				limit := aboveFirst(keys, k)
				count := 0
				for _, key := range keys {
					count += flag(key <= limit)
				}
				if count < k || count > 2*k || limit > want[n-1] {
					t.Fatalf("%s: %d of %d keys do not exceed the limit for %d", name, count, n, k)
				}
			}
			sortKeys(keys, work)
			if !slices.Equal(keys, want) {
				t.Fatalf("%s: %d keys are not sorted", name, n)
			}
		}
	}
	sortKeys(nil, work)
}

// TestNeighboursMisled has an order in which the first positions are no sample of
// all, so that guesses from them are too small: the last rows lie where the first
// ones do, and so do all their neighbours.
func TestNeighboursMisled(t *testing.T) {
	const n, d, k = 2000, 9, 64
	rng := rand.New(rand.NewPCG(10, 11))
	x := linalg.NewMatrix(n, d)
	for i := range n {
		for c := range d {
			x.Set(i, c, rng.NormFloat64())
			if i >= 500 && i < 1900 {
				x.Set(i, c, 100+x.At(i, c))
			}
		}
	}
	op := newOp(t, linalgtest.NewEngine(t, nil, 2), x, randKernel(rng, Matern32, d), nil)
	order, got := make([]int, n), make([]int32, n*k)
	for i := range order {
		order[i] = i
	}
	if err := op.NeighboursTo(t.Context(), got, order, k); err != nil {
		t.Fatal(err)
	}
	for i := 1890; i < n; i += 7 {
		if want := bruteNeighbours(op, op.allRows(), op.allRows(), i, i, k); !slices.Equal(got[i*k:(i+1)*k], want) {
			t.Fatalf("position %d has %v, want %v", i, got[i*k:(i+1)*k], want)
		}
	}
}

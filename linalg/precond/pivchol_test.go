package precond

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// checkPivoted: K - L L' vanishes in the pivots' rows and columns, its diagonal
// is not negative and adds up to the trace.
func checkPivoted(t *testing.T, name string, k scalarCov, l linalg.Matrix, pivots []int, trace float64) {
	t.Helper()
	n := k.Dim()
	if len(pivots) != l.Cols {
		t.Fatalf("%s: %d pivots, %d columns", name, len(pivots), l.Cols)
	}
	sorted := slices.Sorted(slices.Values(pivots))
	if len(slices.Compact(sorted)) != len(pivots) {
		t.Errorf("%s: a pivot twice", name)
	}
	r := residualOf(k, l, make([]float64, n))
	sum := 0.0
	for i := range n {
		sum += r.At(i, i)
		if !(r.At(i, i) >= -1e-13) {
			t.Errorf("%s: residual %d is %g", name, i, r.At(i, i))
		}
		for _, j := range pivots {
			if !(math.Abs(r.At(i, j)) <= 1e-12) {
				t.Fatalf("%s: residual (%d, %d) is %g", name, i, j, r.At(i, j))
			}
		}
	}
	if !(math.Abs(sum-trace) <= 1e-11*float64(n)) {
		t.Errorf("%s: trace %g, want %g", name, trace, sum)
	}
}

func TestPivotedCholesky(t *testing.T) {
	linalgtest.Engines(t, func(t *testing.T, e *linalg.Engine) {
		for _, n := range []int{1, 2, 3, 65, 300, 600} {
			for _, family := range []string{"matern12", "gaussian"} {
				for _, greedy := range []bool{false, true} {
					for _, rank := range []int{0, 1, 64, 130} {
						if n > 300 && (rank != 130 || e.Impl.Name == "generic") {
							continue
						}
						k, _ := randomCov(family, n, 2, 0, 41)
						l, pivots, trace, err := PivotedCholesky(context.Background(), e, k,
							PivotOptions{MaxRank: rank, Greedy: greedy, Seed: 3})
						if err != nil {
							t.Fatal(err)
						}
						name := fmt.Sprintf("%s n %d rank %d greedy %t", family, n, rank, greedy)
						checkPivoted(t, name, k, l, pivots, trace)
						if family == "matern12" && l.Cols != min(rank, n) {
							t.Errorf("%s: only %d columns", name, l.Cols)
						}
					}
				}
			}
		}
	})
}

func TestPivotedCholeskyStops(t *testing.T) {
	e := linalgtest.NewEngine(t, nil, 2)
	k, _ := randomCov("gaussian", 400, 1, 0, 42)
	for _, greedy := range []bool{false, true} {
		for _, tol := range []float64{0, 1e-3, 1, 399.9, 400.1} {
			l, pivots, trace, err := PivotedCholesky(context.Background(), e, k,
				PivotOptions{MaxRank: 400, TraceTol: tol, Greedy: greedy})
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("tolerance %g greedy %t", tol, greedy)
			checkPivoted(t, name, k, l, pivots, trace)
			if trace > tol || l.Cols > 100 || (tol > 400) != (l.Cols == 0) {
				t.Errorf("%s: %d columns, trace %g", name, l.Cols, trace)
			}
		}
	}
}

// More ends the search before a block, and the columns until then are those of a
// search that goes on.
func TestPivotedCholeskyMore(t *testing.T) {
	e := linalgtest.NewEngine(t, nil, 2)
	k, _ := randomCov("matern12", 600, 2, 0, 41)
	whole, pivots, left, err := PivotedCholesky(context.Background(), e, k,
		PivotOptions{MaxRank: 4 * pivotBlock, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	if whole.Cols != 4*pivotBlock {
		t.Fatalf("%d columns", whole.Cols)
	}
	checkPivoted(t, "whole", k, whole, pivots, left)
	const enough = 150
	last := math.Inf(1)
	l, some, trace, err := PivotedCholesky(context.Background(), e, k, PivotOptions{
		MaxRank: 4 * pivotBlock, Seed: 3, More: func(rank int, trace float64) bool {
			if !(trace < last) {
				t.Errorf("trace %v after %v", trace, last)
			}
			last = trace
			return rank < enough
		}})
	if err != nil {
		t.Fatal(err)
	}
	if l.Cols < enough || l.Cols >= enough+pivotBlock || !slices.Equal(some, pivots[:l.Cols]) {
		t.Fatalf("%d columns, pivots like those of the whole search: %t", l.Cols, slices.Equal(some, pivots[:l.Cols]))
	}
	checkPivoted(t, "part", k, l, some, trace)
}

// TestPivotChoice: in a cluster of many points beside a few outliers, greedy
// pivots take outliers first, random ones follow the mass; both in the first
// step by the exact probabilities, which 1000 seeds must show.
func TestPivotChoice(t *testing.T) {
	e := linalgtest.NewEngine(t, nil, 1)
	k, _ := randomCov("gaussian", 60, 1, 0, 43)
	for i := range 50 {
		k.x.Set(i, 0, 1e-3*float64(i))
	}
	for i := 50; i < 60; i++ {
		k.x.Set(i, 0, 100*float64(i))
	}
	// Pivot 1 is in the cluster with probability 5/6; if it is, pivot 2 is an
	// outlier but for what the cluster's spread leaves (1e-3).
	first, second := 0, 0
	for seed := range uint64(1000) {
		_, pivots, _, err := PivotedCholesky(context.Background(), e, k, PivotOptions{MaxRank: 2, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if pivots[0] < 50 {
			first++
			if pivots[1] < 50 {
				second++
			}
		}
	}
	if math.Abs(float64(first)-833) > 50 || second > 20 {
		t.Errorf("first pivot in the cluster %d times of 1000, the second too %d times", first, second)
	}
}

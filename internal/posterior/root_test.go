package posterior

import (
	"math"
	"testing"

	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
)

// TestRootEnds: the root of the probes is not taken while H has not found the lower end of A. The first ends are those
// of 4965 rows, half of them so near each other that no row's neighbours tell what they have in common: at the second
// pass the residual is .09 and the variance along that 2.7 times too small, by which deviations of 300 rows missed
// their bounds in 4.
func TestRootEnds(t *testing.T) {
	type pass struct {
		low, high float64
		found     bool
		below     float64
	}
	for _, c := range []struct {
		node   float64
		passes []pass
	}{
		{0.0487, []pass{{0.9545, 1.186, false, 19.6}, {0.2132, 6.749, false, 4.378}, {0.0853, 7.102, false, 1.752},
			{0.0803, 7.102, true, 1.062}}},
		{1, []pass{{1.059, 1.633, true, 1.059}}}, // of low rank: the end is known
		{0.202, []pass{{0.958, 1.25, false, 4.743}, {0.764, 9.29, false, 3.782}, {0.522, 10.16, false, 2.584},
			{0.371, 10.16, false, 1.837}, {0.32, 10.16, false, 1.584}, {0.31, 10.16, true, 1.032}}},
		{0.2, []pass{{0.95, 1.2, false, 4.75}, {0.5, 5, false, 2.5}, {0.19, 5, false, math.Inf(1)},
			{0.12, 5, false, math.Inf(1)}, {0.11, 5, true, 1.091}}}, // a node that is not below the spectrum
	} {
		e, before := rootEnds{node: c.node}, 0.0
		for i, p := range c.passes {
			if err := e.see(diagonal(p.low, p.high)); err != nil {
				t.Fatal(err)
			}
			if e.below != p.below { // an infinite one
				gptest.CloseTo(t, "below", e.below, p.below, 1e-3)
			}
			if e.found() != p.found {
				t.Errorf("node %g, pass %d: found %v", c.node, i+1, e.found())
			}
			if i == 0 && !math.IsInf(e.above, 1) || i > 0 && math.Abs(e.above-p.high/before) > 0.01*e.above {
				t.Errorf("node %g, pass %d: above %g", c.node, i+1, e.above)
			}
			before = p.high
		}
	}
}

// diagonal returns an H of one block with these eigenvalues.
func diagonal(low, high float64) *krylov.BlockTri {
	start, a := linalg.NewMatrix(2, 2), linalg.NewMatrix(2, 2)
	for i, v := range []float64{low, high} {
		start.Set(i, i, 1)
		a.Set(i, i, v)
	}
	h := krylov.NewBlockTri(start)
	h.Push(a, start)
	return h
}

package dissect

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// Around finds what sorting all points by their distance and number finds.
func TestAround(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	for _, kind := range []string{"uniform", "clusters", "line", "far", "one place"} {
		for _, dim := range []int{1, 2, 3} {
			const m = 130
			x := places(rng, kind, m, dim)
			if kind == "one place" {
				clear(x)
			}
			for _, size := range []int{1, 2, 37, m} {
				point := rng.IntN(m)
				all := make([]int32, m)
				dist := make([]float64, m)
				for i := range all {
					all[i] = int32(i)
					for k := range dim {
						d := x[i*dim+k] - x[point*dim+k]
						dist[i] += d * d
					}
				}
				slices.SortFunc(all, func(a, b int32) int {
					return cmp.Or(cmp.Compare(dist[a], dist[b]), cmp.Compare(a, b))
				})
				if got := Around(x, dim, point, size); !slices.Equal(got, all[:size]) {
					t.Errorf("%s, %d inputs, %d points around %d: %v, not %v", kind, dim, size, point, got, all[:size])
				}
			}
		}
	}
}

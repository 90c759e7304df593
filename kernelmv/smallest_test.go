package kernelmv

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The columns of a table may be in order, waves, or one value: pivots from fixed places
// would take O(n²) on some of them, which would not end here.
func TestSmallest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 200000
	for name, f := range map[string]func(i int) float64{
		"random":  func(int) float64 { return r.NormFloat64() },
		"rising":  func(i int) float64 { return float64(i) },
		"valley":  func(i int) float64 { return math.Abs(float64(i - n/2)) },
		"ridge":   func(i int) float64 { return -math.Abs(float64(i - n/3)) },
		"wave":    func(i int) float64 { return math.Sin(float64(i) / 1000) },
		"flags":   func(i int) float64 { return float64(i % 2) },
		"one":     func(int) float64 { return 3 },
		"far row": func(i int) float64 { return 1e300 * float64(i/(n-1)) },
	} {
		keys := make([]float64, n)
		for i := range keys {
			keys[i] = f(i)
		}
		sorted := slices.Sorted(slices.Values(keys))
		for _, k := range []int{0, 1, n / 2, n - 1} {
			if got := smallest(slices.Clone(keys), k); got != sorted[k] {
				t.Errorf("%s: %v at %d of %d, not %v", name, got, k, n, sorted[k])
			}
		}
	}
	if got := smallest([]float64{7}, 0); got != 7 {
		t.Errorf("of one key: %v", got)
	}
}

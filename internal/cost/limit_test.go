package cost

import (
	"errors"
	"math"
	"runtime/debug"
	"testing"

	"bbgp.dev/internal/gp"
)

// What is refused needs more than there is, however much that is, and with no limit of memory, too.
func TestRefusalsNeedMoreThanTheLimit(t *testing.T) {
	for _, limit := range []int64{math.MaxInt64, 1 << 40, 1 << 20} {
		before := debug.SetMemoryLimit(limit)
		for _, bytes := range []float64{1 << 47, 1e18, 1e30, math.Inf(1)} {
			for _, err := range []error{Fits("draws", 10, 2, bytes), FitsMemory("draws", bytes)} {
				var short *gp.MemoryError
				if !errors.As(err, &short) || short.Needed <= short.Budget || short.Budget > 1<<46 {
					t.Errorf("limit %d, %g bytes: %v", limit, bytes, err)
				}
			}
		}
		debug.SetMemoryLimit(before)
	}
}

package bbgp

import (
	"math"
	"testing"
)

// TestStudentQuantile against tables (Abramowitz and Stegun 26.10) and the normal limit.
func TestStudentQuantile(t *testing.T) {
	for _, c := range []struct{ p, degrees, want float64 }{
		{0.975, 1, 12.7062047364}, {0.975, 7, 2.36462425159}, {0.9995, 7, 5.40788252098}, {0.9995, 2, 31.5990545764},
		{0.975, 100, 1.98397151852}, {0.9995, 1e9, 3.29052673149}, {0.975, 1e5, 1.95998770777}, {0.75, 3, 0.764892328404},
	} {
		if got := studentQuantile(c.p, c.degrees); math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("quantile %v with %v degrees of freedom: %.9g, want %.9g", c.p, c.degrees, got, c.want)
		}
	}
}

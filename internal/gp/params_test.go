package gp

import (
	"math"
	"testing"
)

func TestSoftplus(t *testing.T) {
	for _, p := range []float64{1.0000001e-6, 1e-5, 1e-3, 0.1, 1, 1.5, 10, 700, 1e5, 1e28} {
		u := SoftplusInverse(p)
		if e := relative(Softplus(u), p); e > 1e-12 {
			t.Errorf("softplus(inverse(%v)) is off by %.2g", p, e)
		}
		h := 1e-6 * (1 + math.Abs(u))
		slope := (Softplus(u+h) - Softplus(u-h)) / (2 * h)
		if e := relative(SoftplusSlope(u), slope); e > 1e-5 && math.Abs(SoftplusSlope(u)-slope) > 1e-9 {
			t.Errorf("slope at u = %v: %v, differences give %v", u, SoftplusSlope(u), slope)
		}
	}
	for _, u := range []float64{-1e300, -800, 800, 1e300} {
		if p := Softplus(u); !Finite(p) || p < MinParam {
			t.Errorf("softplus(%v) = %v", u, p)
		}
	}
	if u := SoftplusInverse(MinParam); !math.IsInf(u, -1) {
		t.Errorf("inverse at the floor is %v", u)
	}
}

func relative(got, want float64) float64 { return math.Abs(got-want) / math.Abs(want) }

package asm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// squares returns n squared distances for family f: zero, the clamp, and all
// sizes between.
func squares[T Float](r *rand.Rand, f Family, n int) []T {
	v, top := make([]T, n), float64(Clamp[T](f))
	for i := range v {
		switch {
		case i%37 == 0:
			v[i] = 0
		case i%41 == 0:
			v[i] = T(top)
		case i%3 == 0:
			v[i] = T(top * r.Float64())
		default:
			v[i] = T(math.Min(top, math.Exp(4*r.NormFloat64())))
		}
	}
	return v
}

func TestCov(t *testing.T) { forEachKit(t, testCov[float32], testCov[float64]) }

// testCov compares Cov and Weight with the reference bit by bit.
func testCov[T Float](t *testing.T, k *Kit[T]) {
	r := newRand(7)
	for f := range families {
		for _, units := range sizes([]int{1, 2, 3, 5, 8}, []int{1, 3}) {
			dist := squares[T](r, f, units*RowUnit*Pad)
			got, want := guard(dist, units), append([]T(nil), dist...)
			k.Cov(f, got.data)
			genericCov(f, want)
			sameBits(t, fmt.Sprint("Cov ", f, units), got.data, want)
			got.check(t)
			got, want = guard(dist, units), append(want[:0], dist...)
			k.Weight(f, got.data)
			genericWeight(f, want)
			sameBits(t, fmt.Sprint("Weight ", f, units), got.data, want)
			got.check(t)
		}
	}
}

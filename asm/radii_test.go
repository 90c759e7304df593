package asm

import (
	"fmt"
	"testing"
)

func TestRadii(t *testing.T) { forEachKit(t, testRadii[float32], testRadii[float64]) }

// testRadii checks that the early roots change no bit, for depths with fewer
// terms than roots and with more.
func testRadii[T Float](t *testing.T, k *Kit[T]) {
	if k.roots == nil {
		t.Skip("Radii is Dist here")
	}
	r := newRand(12)
	for f := range families {
		for _, s := range tileShapes()[:2] {
			for _, d := range sizes([]int{2, 9, 10, 13, 21, 23, 24, 25, 40}, []int{2, 13, 19, 26}) {
				x, y := normals[T](r, s.rows*d, 1), normals[T](r, s.cols*d, 1)
				copy(y, x)
				xi, xj := guard(packI(x, s.rows, d), d%5), guard(packJ(y, s.cols, d), 1)
				tile := guard(make([]T, s.rows*s.cols), 2)
				want := make([]T, s.rows*s.cols)
				for _, weight := range []bool{false, true} {
					k.Radii(f, tile.data, xi.data, xj.data, d, s.rows, s.cols)
					k.Dist(want, xi.data, xj.data, d, s.rows, s.cols, Clamp[T](f))
					if weight {
						k.WeightRadii(f, d, tile.data, s.rows, s.cols)
						k.Weight(f, want)
					} else {
						k.CovRadii(f, d, tile.data, s.rows, s.cols)
						k.Cov(f, want)
					}
					tile.check(t)
					sameBits(t, fmt.Sprint("Radii ", f, s, " d=", d), tile.data, want)
				}
			}
		}
	}
}

// TestFusedRadii takes a depth of every rootKit.
func TestFusedRadii(t *testing.T) {
	for _, d := range []int{2, 10, 19, 23} {
		forEachKit(t, func(t *testing.T, k *Kit[float32]) { testFusedRadii(t, k, d) },
			func(t *testing.T, k *Kit[float64]) { testFusedRadii(t, k, d) })
	}
}

func testFusedRadii[T Float](t *testing.T, k *Kit[T], d int) {
	r := newRand(13)
	for f := range families {
		for _, s := range tileShapes() {
			for p := 1; p <= 2; p++ {
				xi, xj := normals[T](r, s.rows*d, 1), normals[T](r, s.cols*d, 1)
				tile, h := guard(make([]T, s.rows*s.cols), 1), make([]T, s.rows*s.cols)
				k.Radii(f, tile.data, xi, xj, d, s.rows, s.cols)
				k.Radii(f, h, xi, xj, d, s.rows, s.cols)
				k.CovRadii(f, d, h, s.rows, s.cols)
				vi, vj := guard(normals[T](r, s.rows*p, 1), 1), guard(normals[T](r, p*s.cols, 1), 2)
				y0i, y0j := normals[float64](r, s.rows*p, 1), normals[T](r, p*s.cols, 1)
				yi, yj := guard(y0i, 3), guard(y0j, 5)
				k.FusedRadii(f, d, yi.data, yj.data, tile.data, vi.data, vj.data, s.rows, s.cols, p)
				yi.check(t)
				yj.check(t)
				checkProducts(t, s.rows, s.cols, p, h, vi.data, vj.data, y0i, yi.data, y0j, yj.data)
			}
		}
	}
}

// TestFusedEntries: right-hand sides with a single one show the entries of the
// tile themselves, which are those of CovRadii to the last bit. Sums of many
// would hide the last terms of a polynomial.
func TestFusedEntries(t *testing.T) {
	for _, d := range []int{2, 10, 19, 23} { // of every rootKit
		forEachKit(t, func(t *testing.T, k *Kit[float32]) { testFusedEntries(t, k, d) },
			func(t *testing.T, k *Kit[float64]) { testFusedEntries(t, k, d) })
	}
}

func testFusedEntries[T Float](t *testing.T, k *Kit[T], d int) {
	const rows, cols = RowUnit, Pad
	r := newRand(14)
	for f := range families {
		tile, h := make([]T, rows*cols), make([]T, rows*cols)
		xi, xj := normals[T](r, rows*d, 1), normals[T](r, cols*d, 1)
		k.Radii(f, tile, xi, xj, d, rows, cols)
		copy(h, tile)
		k.CovRadii(f, d, h, rows, cols)
		for p := 1; p <= 2; p++ {
			for i := range rows {
				c, j := i%p, (i*7+d)%cols
				vi, vj, yi, yj := make([]T, rows*p), make([]T, p*cols), make([]float64, rows*p), make([]T, p*cols)
				vi[i*p+c], vj[c*cols+j] = 1, 1
				k.FusedRadii(f, d, yi, yj, tile, vi, vj, rows, cols, p)
				sameBits(t, fmt.Sprint("row of ", f, " d=", d, " p=", p), yj[c*cols:(c+1)*cols], h[i*cols:(i+1)*cols])
				for a := range rows {
					if got, want := yi[a*p+c], float64(h[a*cols+j]); got != want {
						t.Fatalf("%v d=%d p=%d: element %d, %d is %v, want %v", f, d, p, a, j, got, want)
					}
				}
			}
		}
	}
}

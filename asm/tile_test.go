package asm

import (
	"fmt"
	"testing"
)

// tileShapes are the sizes that the routines are tested with.
func tileShapes() []struct{ rows, cols int } {
	all := []struct{ rows, cols int }{{24, 96}, {48, 192}, {72, 288}, {24, 384}, {48, 96}}
	return sizes(all, all[:2])
}

func TestDist(t *testing.T) { forEachKit(t, testDist[float32], testDist[float64]) }

// testDist compares with the reference bit by bit, for every small depth.
func testDist[T Float](t *testing.T, k *Kit[T]) {
	r := newRand(1)
	for _, s := range tileShapes() {
		for _, d := range sizes(span(1, 20, 1), []int{1, 2, 3, 8, 19}) {
			x, y := normals[T](r, s.rows*d, 3), normals[T](r, s.cols*d, 3)
			copy(y, x) // some distances are zero
			off := d % 16
			xi, xj := guard(packI(x, s.rows, d), off), guard(packJ(y, s.cols, d), off)
			got, want := guard(make([]T, s.rows*s.cols), off), make([]T, s.rows*s.cols)
			clamp := T(15 * d)
			k.Dist(got.data, xi.data, xj.data, d, s.rows, s.cols, clamp)
			genericDist(&want[0], &xi.data[0], &xj.data[0], d, s.rows, s.cols, clamp)
			sameBits(t, fmt.Sprint("Dist ", s, " d=", d), got.data, want)
			got.check(t)
		}
	}
}

func TestOuter(t *testing.T) { forEachKit(t, testOuter[float32], testOuter[float64]) }

func testOuter[T Float](t *testing.T, k *Kit[T]) {
	rnd := newRand(2)
	for _, s := range tileShapes() {
		for _, r := range sizes([]int{1, 2, 3, 4, 8, 13, 16}, []int{1, 2, 7}) {
			u, v, w := normals[T](rnd, s.rows*r, 1), normals[T](rnd, s.cols*r, 1), normals[T](rnd, s.rows*s.cols, 1)
			ui, uj, got := guard(packI(u, s.rows, r), 1), guard(packJ(v, s.cols, r), 3), guard(w, 5)
			k.Outer(got.data, ui.data, uj.data, r, s.rows, s.cols)
			got.check(t)
			for i := range s.rows {
				for j := range s.cols {
					var want sum
					for l := range r {
						want.add(float64(u[i*r+l])*float64(w[i*s.cols+j]), float64(v[j*r+l]))
					}
					want.n++ // the last product rounds, too
					if g := float64(got.data[i*s.cols+j]); !want.near(g, eps[T]()) {
						t.Fatalf("%v r=%d: w[%d][%d] = %v, want %v", s, r, i, j, g, want.hi)
					}
				}
			}
		}
	}
}

func TestAcc(t *testing.T) { forEachKit(t, testAcc[float32], testAcc[float64]) }

func testAcc[T Float](t *testing.T, k *Kit[T]) {
	r := newRand(3)
	for _, s := range tileShapes() {
		for _, p := range sizes([]int{4, 8, 12, 16, 32, 64}, []int{4, 12}) {
			tile, vi := guard(normals[T](r, s.rows*s.cols, 1), p%7), guard(normals[T](r, s.rows*p, 1), 1)
			vj := guard(normals[T](r, p*s.cols, 1), 2)
			y0i, y0j := normals[float64](r, s.rows*p, 1), normals[T](r, p*s.cols, 1)
			yi, yj := guard(y0i, 3), guard(y0j, 5)
			k.AccJ(yj.data, tile.data, vi.data, s.rows, s.cols, p)
			k.AccI(yi.data, tile.data, vj.data, s.rows, s.cols, p)
			yi.check(t)
			yj.check(t)
			checkProducts(t, s.rows, s.cols, p, tile.data, vi.data, vj.data, y0i, yi.data, y0j, yj.data)
		}
	}
}

// checkProducts checks both products of a tile against sums in more precision.
func checkProducts[T Float](t *testing.T, rows, cols, p int, tile, vi, vj []T, y0i, yi []float64, y0j, yj []T) {
	t.Helper()
	for c := range p {
		for j := range cols {
			var want sum
			want.add(float64(y0j[c*cols+j]), 1)
			for i := range rows {
				want.add(float64(tile[i*cols+j]), float64(vi[i*p+c]))
			}
			if g := float64(yj[c*cols+j]); !want.near(g, eps[T]()) {
				t.Fatalf("%dx%d p=%d: yj[%d][%d] = %v, want %v", rows, cols, p, c, j, g, want.hi)
			}
		}
		for i := range rows {
			var want sum
			want.add(y0i[i*p+c], 1)
			for j := range cols {
				want.add(float64(tile[i*cols+j]), float64(vj[c*cols+j]))
			}
			if g := yi[i*p+c]; !want.near(g, eps[T]()) {
				t.Fatalf("%dx%d p=%d: yi[%d][%d] = %v, want %v", rows, cols, p, i, c, g, want.hi)
			}
		}
	}
}

func TestFused(t *testing.T) { forEachKit(t, testFused[float32], testFused[float64]) }

func testFused[T Float](t *testing.T, k *Kit[T]) {
	r := newRand(4)
	for f := range families {
		for _, s := range tileShapes() {
			for p := 1; p <= 2; p++ {
				dist := squares[T](r, f, s.rows*s.cols)
				h := append([]T(nil), dist...)
				genericCov(f, h)
				tile, vi := guard(dist, p), guard(normals[T](r, s.rows*p, 1), 1)
				vj := guard(normals[T](r, p*s.cols, 1), 2)
				y0i, y0j := normals[float64](r, s.rows*p, 1), normals[T](r, p*s.cols, 1)
				yi, yj := guard(y0i, 3), guard(y0j, 5)
				k.Fused(f, yi.data, yj.data, tile.data, vi.data, vj.data, s.rows, s.cols, p)
				yi.check(t)
				yj.check(t)
				sameBits(t, "Fused: tile", tile.data, dist)
				checkProducts(t, s.rows, s.cols, p, h, vi.data, vj.data, y0i, yi.data, y0j, yj.data)
			}
		}
	}
}

func TestRowSum(t *testing.T) { forEachKit(t, testRowSum[float32], testRowSum[float64]) }

func testRowSum[T Float](t *testing.T, k *Kit[T]) {
	r := newRand(5)
	for _, s := range tileShapes() {
		tile, y0 := guard(normals[T](r, s.rows*s.cols, 1), 1), normals[float64](r, s.rows, 1)
		y := guard(y0, 3)
		k.RowSum(y.data, tile.data, s.rows, s.cols)
		y.check(t)
		for i, got := range y.data {
			var want sum
			want.add(y0[i], 1)
			for _, x := range tile.data[i*s.cols : (i+1)*s.cols] {
				want.add(float64(x), 1)
			}
			if !want.near(got, eps[T]()) {
				t.Fatalf("%v: dst[%d] = %v, want %v", s, i, got, want.hi)
			}
		}
	}
}

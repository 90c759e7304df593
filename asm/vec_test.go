package asm

import (
	"fmt"
	"math"
	"testing"
)

func TestVectors(t *testing.T) {
	forEach(t, func(t *testing.T, im *Impl) {
		r := newRand(8)
		for n := 0; n <= 20*lanes; n += 1 + n/7 {
			x32 := guard(normals[float32](r, n, 1), n%3)
			wide := guard(make([]float64, n), 1)
			im.Widen(wide.data, x32.data)
			wide.check(t)
			for i := range n {
				if wide.data[i] != float64(x32.data[i]) {
					t.Fatalf("n=%d: Widen is wrong at %d", n, i)
				}
			}
			im.WidenAdd(wide.data, x32.data)
			wide.check(t)
			for i := range n {
				if wide.data[i] != 2*float64(x32.data[i]) {
					t.Fatalf("n=%d: WidenAdd is wrong at %d", n, i)
				}
			}
		}
	})
}

func TestDotAxpy(t *testing.T) { forEachKit(t, testDotAxpy[float32], testDotAxpy[float64]) }

// testDotAxpy compares with the definitions bit by bit, and sums with the truth.
func testDotAxpy[T Float](t *testing.T, k *Kit[T]) {
	r := newRand(9)
	for n := 0; n <= 20*lanes; n += 1 + n/7 {
		x, y := guard(normals[T](r, n, 1), n%9), guard(normals[T](r, n, 1), n%5)
		whole, dot := n/lanes*lanes, 0.0
		if whole > 0 {
			dot = genericDot(&x.data[0], &y.data[0], whole)
		}
		var want sum
		for i := range n {
			want.add(float64(x.data[i]), float64(y.data[i]))
			if i >= whole {
				dot = math.FMA(float64(x.data[i]), float64(y.data[i]), dot)
			}
		}
		got := k.Dot(x.data, y.data)
		sameBits(t, fmt.Sprint("Dot ", n), []float64{got}, []float64{dot})
		if !want.near(got, 0x1p-52) { // float64 for both types
			t.Fatalf("n=%d: Dot = %v, want %v", n, got, want.hi)
		}
		old := append([]T(nil), y.data...)
		k.Axpy(0.7, x.data, y.data)
		y.check(t)
		for i := range n {
			old[i] = fma(0.7, x.data[i], old[i])
		}
		sameBits(t, fmt.Sprint("Axpy ", n), y.data, old)
	}
}

// TestVectorsSpecial passes the values that a conversion may get wrong.
func TestVectorsSpecial(t *testing.T) {
	special := []float64{
		0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat32, -math.MaxFloat32,
		0x1p-126, 0x1p-149, 0x3p-149, 1 + 0x1p-23, 0x1.fffffep127,
	}
	forEach(t, func(t *testing.T, im *Impl) {
		src := make([]float32, lanes*len(special))
		for i := range src {
			src[i] = float32(special[(i+i/lanes)%len(special)])
		}
		wide, wantWide := make([]float64, len(src)), make([]float64, len(src))
		im.Widen(wide, src)
		genericWiden(&wantWide[0], &src[0], len(src))
		sameBits(t, "Widen", wide, wantWide)
	})
}

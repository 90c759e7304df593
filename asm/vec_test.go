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

// Cut gives the bits of its definition, with ties and signed zeros among the numbers.
func TestCut(t *testing.T) {
	forEach(t, func(t *testing.T, im *Impl) {
		r := newRand(9)
		for n := 0; n <= 9*lanes; n += 1 + n/7 {
			sum, x := guard(normals[float64](r, n, 1), n%3), guard(normals[float64](r, n, 1e-12), 1)
			for i := range x.data {
				if i%5 == 0 {
					x.data[i] = math.Round(x.data[i]*0x1p52) * 0x1p-50 // multiples of half the last place of 12
				}
			}
			low := guard(normals[float64](r, n, 1e-12), n%5)
			wantX, wantSum := append([]float64{0}, x.data...), append([]float64{0}, sum.data...)
			wantHigh, wantLow := append([]float64{0}, sum.data...), append([]float64{0}, low.data...)
			genericCut(&wantSum[0], &wantX[0], 12, n+1)
			genericCutTwo(&wantHigh[0], &wantLow[0], &wantX[0], 12, 0x3p-40, n+1)
			high := guard(sum.data, n%7)
			im.Cut(sum.data, x.data, 12)
			im.CutTwo(high.data, low.data, x.data, 12, 0x3p-40)
			sum.check(t)
			high.check(t)
			low.check(t)
			x.check(t)
			sameBits(t, "x", x.data, wantX[1:])
			sameBits(t, "sum", sum.data, wantSum[1:])
			sameBits(t, "high", high.data, wantHigh[1:])
			sameBits(t, "low", low.data, wantLow[1:])
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

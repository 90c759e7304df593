package asm

import (
	"fmt"
	"math"
	"testing"
)

// laneProblem returns rows of src in all lanes: d numbers of n points, with NaN,
// ±Inf, zeros and a subnormal among them where special is set.
func laneProblem(n, d, stride int, special bool) (src []float64, idx []int32) {
	const all = 31
	r := newRand(uint64(1000*n + d))
	src, idx = normals[float64](r, (all-1)*stride+d, 1), make([]int32, n*CholLanes)
	if special {
		for i, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 5e-324} {
			src[i*stride+i%d] = x
		}
	}
	for i := range idx {
		idx[i] = int32(r.IntN(all))
	}
	return src, idx
}

func TestGatherLanes(t *testing.T) {
	forEach(t, func(t *testing.T, im *Impl) {
		for n := range 6 {
			for d := 1; d <= 70; d += 1 + d/20 {
				for _, stride := range []int{d, d + 3, 2 * d} {
					src, idx := laneProblem(n+1, d, stride, true)
					off := (n + d) % 8
					got := guard(make([]float64, (n+1)*d*CholLanes), off)
					im.GatherLanes(got.data, guard(src, 7-off).data, stride, idx, n+1, d)
					got.check(t)
					want := make([]float64, len(got.data))
					for i, r := range idx {
						for k := range d {
							want[(i/CholLanes*d+k)*CholLanes+i%CholLanes] = src[int(r)*stride+k]
						}
					}
					sameBits(t, fmt.Sprintf("%d rows of %d, stride %d", n+1, d, stride), got.data, want)
				}
			}
		}
	})
}

// TestLaneTriangles compares with the definition, whose sums math.FMA takes in
// the same order.
func TestLaneTriangles(t *testing.T) {
	forEach(t, func(t *testing.T, im *Impl) {
		for n := 1; n <= 41; n += 4 {
			for _, d := range []int{1, 2, 3, 8, 17, 48} {
				for _, special := range []bool{false, true} {
					src, idx := laneProblem(n, d, d, special)
					x := make([]float64, n*d*CholLanes)
					generic.GatherLanes(x, src, d, idx, n, d)
					start := normals[float64](newRand(3), n*(n+1)/2*CholLanes, 1)
					clamp := 2 * float64(d)
					dist, syrk := append([]float64(nil), start...), append([]float64(nil), start...)
					for i := range n {
						for j := range i + 1 {
							for l := range CholLanes {
								out, s := (i*(i+1)/2+j)*CholLanes+l, 0.0
								for k := range d {
									a, b := x[(i*d+k)*CholLanes+l], x[(j*d+k)*CholLanes+l]
									s = math.FMA(a-b, a-b, s)
									syrk[out] = math.FMA(-a, b, syrk[out])
								}
								dist[out] = min(s, clamp)
							}
						}
					}
					off := (n + d) % 8
					got, from := guard(start, off), guard(x, 7-off)
					im.LaneDist(got.data, from.data, n, d, clamp)
					got.check(t)
					sameBits(t, fmt.Sprintf("LaneDist n=%d d=%d", n, d), got.data, dist)
					got = guard(start, off)
					im.LaneSyrk(got.data, from.data, n, d)
					got.check(t)
					sameBits(t, fmt.Sprintf("LaneSyrk n=%d d=%d", n, d), got.data, syrk)
				}
			}
		}
	})
}

func TestLanePanics(t *testing.T) {
	const L = CholLanes
	f := func(n int) []float64 { return make([]float64, n) }
	for name, call := range map[string]func(){
		"rows":          func() { generic.GatherLanes(f(8), f(9), 1, make([]int32, 8), 0, 1) },
		"numbers":       func() { generic.GatherLanes(f(8), f(9), 1, make([]int32, 8), 1, 0) },
		"stride":        func() { generic.GatherLanes(f(16), f(9), 1, make([]int32, 8), 1, 2) },
		"short dst":     func() { generic.GatherLanes(f(15), f(9), 2, make([]int32, 8), 1, 2) },
		"short idx":     func() { generic.GatherLanes(f(16), f(9), 2, make([]int32, 7), 1, 2) },
		"dist n":        func() { generic.LaneDist(f(3*L), f(2*L), 2, 1, 1) },
		"dist depth":    func() { generic.LaneDist(f(L), f(L), 1, 0, 1) },
		"dist triangle": func() { generic.LaneDist(f(15*L-1), f(5*L), 5, 1, 1) },
		"syrk points":   func() { generic.LaneSyrk(f(15*L), f(10*L-1), 5, 2) },
	} {
		if !panics(call) {
			t.Errorf("%s: no panic", name)
		}
	}
}

func BenchmarkLanes(b *testing.B) {
	const n = 65
	for _, im := range All() {
		for _, d := range []int{2, 17, 48} {
			src, idx := laneProblem(n, d, 200, false)
			x, tri := make([]float64, n*d*CholLanes), make([]float64, n*(n+1)/2*CholLanes)
			for name, run := range map[string]func(){
				"gather": func() { im.GatherLanes(x, src, 200, idx, n, d) },
				"dist":   func() { im.LaneDist(tri, x, n, d, 100) },
				"syrk":   func() { im.LaneSyrk(tri, x, n, d) },
			} {
				b.Run(fmt.Sprintf("%s/d=%d/isa=%s", name, d, im.Name), func(b *testing.B) {
					for b.Loop() {
						run()
					}
				})
			}
		}
	}
}

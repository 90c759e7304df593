package asm

import (
	"fmt"
	"math"
	"testing"
)

func TestLaneScore(t *testing.T) {
	forEach(t, func(t *testing.T, im *Impl) {
		for n := 1; n <= 33; n += 4 {
			for _, d := range []int{1, 2, 3, 4, 5, 6, 7, 8, 11, 18} {
				for _, special := range []bool{false, true} {
					src, idx := laneProblem(n, d, d, special)
					x, r := make([]float64, n*d*CholLanes), newRand(uint64(n+d))
					generic.GatherLanes(x, src, d, idx, n, d)
					w, v := normals[float64](r, n*CholLanes, 1), normals[float64](r, n*CholLanes, 1)
					tri, acc := normals[float64](r, n*(n+1)/2*CholLanes, 1), normals[float64](r, 2*d*CholLanes, 1)
					want := append([]float64(nil), acc...)
					generic.LaneScore(want, tri, w, v, x, n, d)
					off := (n + d) % 8
					got := guard(acc, off)
					im.LaneScore(got.data, guard(tri, 7-off).data, guard(w, off).data, guard(v, 7-off).data,
						guard(x, off).data, n, d)
					got.check(t)
					sameBits(t, fmt.Sprintf("n=%d d=%d", n, d), got.data, want)
				}
			}
		}
	})
}

// TestLaneScoreTruth compares the reference with the definition.
func TestLaneScoreTruth(t *testing.T) {
	const n, d = 9, 3
	src, idx := laneProblem(n, d, d, false)
	x, r := make([]float64, n*d*CholLanes), newRand(5)
	generic.GatherLanes(x, src, d, idx, n, d)
	w, v, tri := normals[float64](r, n*CholLanes, 1), normals[float64](r, n*CholLanes, 1),
		normals[float64](r, n*(n+1)/2*CholLanes, 1)
	acc := make([]float64, 2*d*CholLanes)
	generic.LaneScore(acc, tri, w, v, x, n, d)
	for k := range d {
		for l := range CholLanes {
			var byW, byV float64
			for i := range n {
				for j := range i {
					e := x[(i*d+k)*CholLanes+l] - x[(j*d+k)*CholLanes+l]
					e *= e * tri[(i*(i+1)/2+j)*CholLanes+l]
					wi, wj, vi, vj := w[i*CholLanes+l], w[j*CholLanes+l], v[i*CholLanes+l], v[j*CholLanes+l]
					byW += wi * wj * e
					byV += (wi*vj + vi*wj) * e
				}
			}
			for h, want := range []float64{byW, byV} {
				if got := acc[(2*k+h)*CholLanes+l]; !(math.Abs(got-want) <= 1e-13*float64(n*n)) {
					t.Errorf("input %d lane %d: %v, want %v", k, l, got, want)
				}
			}
		}
	}
}

// TestCholSolve: what CholSolve leaves solves the equations of the variables that
// CholBatch kept.
func TestCholSolve(t *testing.T) {
	forEach(t, func(t *testing.T, im *Impl) {
		for _, n := range []int{1, 5, 17, 33} {
			a, tau := cholProblem(n, uint64(n))
			full := append([]float64(nil), a...)
			im.CholBatch(a, tau, n)
			c := normals[float64](newRand(7), n*CholLanes, 1)
			last := a[n*(n-1)/2*CholLanes:]
			copy(last, c)
			im.CholSolve(a, tau, n)
			for l := range CholLanes {
				if last[(n-1)*CholLanes+l] != 1 {
					t.Fatalf("n=%d: the last one is %v", n, last[(n-1)*CholLanes+l])
				}
				for i := range n - 1 {
					if a[(i*(i+1)/2+i)*CholLanes+l] == 0 {
						if b := last[i*CholLanes+l]; b != 0 {
							t.Errorf("n=%d lane %d: a dropped variable has %v", n, l, b)
						}
						continue
					}
					sum, size := c[i*CholLanes+l], 1.0
					for j := range n - 1 {
						at := full[(max(i, j)*(max(i, j)+1)/2+min(i, j))*CholLanes+l]
						sum += at * last[j*CholLanes+l]
						size += math.Abs(at * last[j*CholLanes+l])
					}
					if !(math.Abs(sum) <= 1e-12*size) {
						t.Errorf("n=%d lane %d row %d: off by %g of %g", n, l, i, sum, size)
					}
				}
			}
		}
	})
}

func TestLaneScorePanics(t *testing.T) {
	const L = CholLanes
	f := func(n int) []float64 { return make([]float64, n) }
	for name, call := range map[string]func(){
		"sums":   func() { generic.LaneScore(f(4*L-1), f(15*L), f(5*L), f(5*L), f(10*L), 5, 2) },
		"w":      func() { generic.LaneScore(f(4*L), f(15*L), f(5*L-1), f(5*L), f(10*L), 5, 2) },
		"v":      func() { generic.LaneScore(f(4*L), f(15*L), f(5*L), f(5*L-1), f(10*L), 5, 2) },
		"points": func() { generic.LaneScore(f(4*L), f(15*L), f(5*L), f(5*L), f(10*L-1), 5, 2) },
		"solve":  func() { generic.CholSolve(f(15*L), f(5*L-1), 5) },
		"size":   func() { generic.CholSolve(f(15*L), f(5*L), 4) },
	} {
		if !panics(call) {
			t.Errorf("%s: no panic", name)
		}
	}
}

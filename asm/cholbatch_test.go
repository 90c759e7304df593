package asm

import (
	"fmt"
	"math"
	"testing"
)

// cholProblem returns n variables' covariance matrices, interleaved, and their
// guards: matrix l has n-1-l/2 points on a line, then copies of the first ones,
// without noise where l is odd, so that pivots are dropped there.
func cholProblem(n int, seed uint64) (a, tau []float64) {
	r := newRand(seed)
	a, tau = make([]float64, n*(n+1)/2*CholLanes), make([]float64, n*CholLanes)
	for l := range CholLanes {
		x, distinct := make([]float64, n), max(1, n-1-l/2)
		for i := range x {
			x[i] = 10 * r.Float64()
			if i >= distinct {
				x[i] = x[i-distinct]
			}
		}
		for i := range n {
			for j := range i + 1 {
				a[(i*(i+1)/2+j)*CholLanes+l] = math.Exp(-math.Abs(x[i] - x[j]))
			}
			a[(i*(i+1)/2+i)*CholLanes+l] += 0.01 * float64(1-l%2)
			tau[i*CholLanes+l] = 1e-13
		}
	}
	return a, tau
}

func TestCholBatch(t *testing.T) {
	forEach(t, func(t *testing.T, im *Impl) {
		for n := 1; n <= 81; n += 4 {
			for off := range 8 {
				if testing.Short() && (off != n/4%8 || n > 49) {
					continue
				}
				a0, tau := cholProblem(n, uint64(n))
				want := append([]float64(nil), a0...)
				generic.CholBatch(want, tau, n)
				a, g := guard(a0, off), guard(tau, 7-off)
				im.CholBatch(a.data, g.data, n)
				a.check(t)
				sameBits(t, fmt.Sprint("n=", n), a.data, want)
				sameBits(t, "tau", g.data, tau)
			}
		}
	})
}

// TestCholBatchNaN has NaN, ±Inf, negative and subnormal pivots in every lane.
func TestCholBatchNaN(t *testing.T) {
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 5e-324, math.Copysign(0, -1)}
	forEach(t, func(t *testing.T, im *Impl) {
		const n = 9
		for l := range CholLanes {
			for i := range n {
				for _, x := range special {
					a, tau := cholProblem(n, 5)
					a[(i*(i+1)/2+i)*CholLanes+l] = x
					want := append([]float64(nil), a...)
					generic.CholBatch(want, tau, n)
					im.CholBatch(a, tau, n)
					sameBits(t, fmt.Sprint("pivot ", i, " lane ", l, " is ", x), a, want)
				}
			}
		}
	})
}

// TestCholBatchTruth solves the normal equations: N b = c and v = d - c'b.
func TestCholBatchTruth(t *testing.T) {
	for _, n := range []int{1, 5, 33, 65} {
		a, tau := cholProblem(n, 11)
		got := append([]float64(nil), a...)
		generic.CholBatch(got, tau, n)
		at := func(a []float64, i, j, l int) float64 {
			i, j = max(i, j), min(i, j)
			return a[(i*(i+1)/2+j)*CholLanes+l]
		}
		for l := 0; l < CholLanes; l += 2 {
			scale := at(got, n-1, n-1, l)
			v := at(a, n-1, n-1, l)
			for j := range n - 1 {
				b := -at(got, n-1, j, l) / scale
				v -= b * at(a, n-1, j, l)
			}
			if d := math.Abs(v*scale*scale - 1); d > 1e-12 {
				t.Errorf("n=%d lane %d: v is off by %g", n, l, d)
			}
			for i := range n - 1 {
				s := at(a, n-1, i, l)
				for j := range n - 1 {
					s += at(a, i, j, l) * at(got, n-1, j, l) / scale
				}
				if math.Abs(s) > 1e-13*float64(n) {
					t.Errorf("n=%d lane %d: residual %g in row %d", n, l, s, i)
				}
			}
		}
	}
}

// TestCholBatchCondition regresses on points so close to each other that N has a
// condition of up to 1e14 (lane l: 1 to 10^14): the residual of N b = c stays
// within rounding of the terms, n eps Σ |N_ij b_j| with the bound 1 for N_ij.
func TestCholBatchCondition(t *testing.T) {
	forEach(t, func(t *testing.T, im *Impl) {
		for _, n := range sizes([]int{1, 5, 33, 65, 129}, []int{5, 33}) {
			a, tau := make([]float64, n*(n+1)/2*CholLanes), make([]float64, n*CholLanes)
			for l := range CholLanes {
				for i := range n {
					for j := range i + 1 {
						d := float64(i-j) / float64(n)
						a[(i*(i+1)/2+j)*CholLanes+l] = math.Exp(-2 * d * d)
					}
					// The largest eigenvalue is near n, the smallest what is added.
					a[(i*(i+1)/2+i)*CholLanes+l] += float64(n) * math.Pow(10, -2*float64(l))
					tau[i*CholLanes+l] = 1e-18
				}
			}
			got := append([]float64(nil), a...)
			im.CholBatch(got, tau, n)
			at := func(a []float64, i, j, l int) float64 {
				return a[(max(i, j)*(max(i, j)+1)/2+min(i, j))*CholLanes+l]
			}
			for l := range CholLanes {
				scale, size := at(got, n-1, n-1, l), 1.0
				for j := range n - 1 {
					size += math.Abs(at(got, n-1, j, l) / scale)
				}
				for i := range n - 1 {
					s := at(a, n-1, i, l)
					for j := range n - 1 {
						s += at(a, i, j, l) * at(got, n-1, j, l) / scale
					}
					if diagonal := at(a, i, i, l); math.Abs(s) > float64(n+4)*0x1p-52*diagonal*size {
						t.Fatalf("n=%d lane %d: residual %g in row %d, Σ|b| = %g", n, l, s, i, size)
					}
				}
			}
		}
	})
}

// TestCholBatchDrop drops the second of two equal variables: the result is that
// without it.
func TestCholBatchDrop(t *testing.T) {
	const n = 5
	corr := [n][n]float64{
		{1, 1, .5, 0, .4},
		{1, 1, .5, 0, .4},
		{.5, .5, 1, 0, .7},
		{0, 0, 0, 1, 0},
		{.4, .4, .7, 0, 1},
	}
	a, tau := make([]float64, n*(n+1)/2*CholLanes), make([]float64, n*CholLanes)
	for l := range CholLanes {
		for i := range n {
			for j := range i + 1 {
				a[(i*(i+1)/2+j)*CholLanes+l] = corr[i][j]
			}
			tau[i*CholLanes+l] = 1e-14
		}
	}
	// b = [1 .5; .5 1]^-1 [.4; .7]
	b0, b2 := (.4-.5*.7)/.75, (.7-.5*.4)/.75
	s := 1 / math.Sqrt(1-b0*.4-b2*.7)
	want := [n]float64{-b0 * s, 0, -b2 * s, 0, s}
	forEach(t, func(t *testing.T, im *Impl) {
		c := append([]float64(nil), a...)
		im.CholBatch(c, tau, n)
		for j, w := range want {
			for l := range CholLanes {
				if got := c[(n*(n-1)/2+j)*CholLanes+l]; math.Abs(got-w) > 1e-14 {
					t.Errorf("lane %d: W[%d] = %v, want %v", l, j, got, w)
				}
			}
		}
	})
}

func TestCholBatchPanics(t *testing.T) {
	for _, n := range []int{-3, 0, 2, 4, 9} {
		if !panics(func() { generic.CholBatch(make([]float64, 44*CholLanes), make([]float64, 9*CholLanes), n) }) {
			t.Errorf("n=%d: no panic", n)
		}
	}
	if !panics(func() { generic.CholBatch(make([]float64, 15*CholLanes), make([]float64, 5*CholLanes-1), 5) }) {
		t.Error("short tau: no panic")
	}
}

func BenchmarkCholBatch(b *testing.B) {
	for _, n := range []int{33, 65, 129} {
		for _, im := range All() {
			b.Run(fmt.Sprintf("n=%d/isa=%s", n, im.Name), func(b *testing.B) {
				a0, tau := cholProblem(n, 1)
				a := make([]float64, len(a0))
				for b.Loop() {
					copy(a, a0)
					im.CholBatch(a, tau, n)
				}
				b.ReportMetric(float64(CholLanes*n*n*n/3)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gflop/s")
			})
		}
	}
}

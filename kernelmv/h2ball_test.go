package kernelmv

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Lagrange polynomials of a ball are 1 at their own node and 0 at the others, give back every
// polynomial of the ball, and do not add up to much.
func TestBall(t *testing.T) {
	cheb, rng := newChebyshev(), rand.New(rand.NewPCG(1, 9))
	for _, q := range [][h2MaxDim]int{{3, 3, 3}, {5, 7, 4}, {1, 6, 6}, {9, 9, 9}, {2, 3, 20}} {
		b := cheb.ballOf(q)
		if b == nil {
			t.Fatalf("%v: no ball", q)
		}
		if grid := q[0] * q[1] * q[2]; b.nodes >= grid || b.nodes < grid/4 {
			t.Errorf("%v: %d nodes", q, b.nodes)
		}
		b.solve(cheb)
		valuesAt := func(x [h2MaxDim]float64) []float64 {
			var ell [h2MaxDim][maxOrder]float64
			for k := range q {
				chebyshevTo(ell[k][:q[k]], x[k])
			}
			values := make([]float64, b.nodes)
			ballTo(values, b.runs, &ell)
			return values
		}
		lagrange := func(x [h2MaxDim]float64) []float64 {
			l := make([]float64, b.nodes)
			for a, v := range valuesAt(x) {
				for i := range l {
					l[i] += b.inv[a*b.cols+i] * v
				}
			}
			return l
		}
		node := func(i int) (x [h2MaxDim]float64) {
			at := b.grid[i]
			for k := range q {
				x[k] = cheb.x[q[k]][at%q[k]]
				at /= q[k]
			}
			return x
		}
		for _, i := range []int{0, b.nodes / 2, b.nodes - 1} {
			l := lagrange(node(i))
			l[i]--
			for j, v := range l {
				if math.Abs(v) > 1e-11 {
					t.Fatalf("%v: polynomial %d is off by %g at node %d", q, j, v, i)
				}
			}
		}
		for range 10 {
			x := [h2MaxDim]float64{1 - 2*rng.Float64(), 1 - 2*rng.Float64(), 1 - 2*rng.Float64()}
			l, want := lagrange(x), valuesAt(x)
			size := 0.0
			for _, v := range l {
				size += math.Abs(v)
			}
			if size > 200 {
				t.Errorf("%v: polynomials add up to %g", q, size)
			}
			for i, v := range l {
				for a, at := range valuesAt(node(i)) {
					want[a] -= v * at
				}
			}
			for a, v := range want {
				if math.Abs(v) > 1e-11 {
					t.Fatalf("%v: polynomial %d of the ball is off by %g", q, a, v)
				}
			}
		}
	}
}

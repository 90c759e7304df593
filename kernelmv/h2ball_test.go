package kernelmv

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/linalg"
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

// Entries of K are within the tolerance in three inputs: columns of K by products with unit
// vectors, at lengthscales where boxes take balls of many sizes.
func TestBallEntries(t *testing.T) {
	const p = 4
	ctx, n := context.Background(), rowsOf(8000)
	for i, f := range families {
		for j, tol := range []float64{1e-4, 1e-6, 1e-8} {
			kind, l := []string{"uniform", "grid", "clusters"}[(i+j)%3], []float64{0.3, 0.8, 2}[(i+2*j)%3]
			k := Kernel{f, 1, []float64{l, 1.3 * l, l}}
			o := newOp(t, engine(t, nil, 1), h2Points(kind, n, 3, uint64(i)), k, nil)
			v, got, want := linalg.NewMatrix(n, p), linalg.NewMatrix(n, p), linalg.NewMatrix(n, p)
			for c := range p {
				v.Set(c*n/p+n/8, c, 1)
			}
			o.SetForm(FormH2, tol, tol)
			if err := o.With(F64).MulTo(ctx, got, v); err != nil {
				t.Fatal(err)
			}
			o.SetForm(FormDense, tol, tol)
			if err := o.With(F64).MulTo(ctx, want, v); err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for k, x := range want.Data {
				worst = max(worst, math.Abs(x-got.Data[k]))
			}
			if worst > tol {
				t.Errorf("%s, %v, l %g: entries are off by %.2g, %.2g allowed", kind, f, l, worst, tol)
			}
		}
	}
}

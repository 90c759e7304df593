package precond

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// scalarCov is a covariance matrix given entry by entry: the plainest ColOp.
type scalarCov struct {
	x   linalg.Matrix
	cov func(r2 float64) float64
}

var scalarFamilies = map[string]func(r2 float64) float64{
	"matern12": func(r2 float64) float64 { return math.Exp(-math.Sqrt(r2)) },
	"matern32": func(r2 float64) float64 { a := math.Sqrt(3 * r2); return (1 + a) * math.Exp(-a) },
	"matern52": func(r2 float64) float64 { a := math.Sqrt(5 * r2); return (1 + a + a*a/3) * math.Exp(-a) },
	"gaussian": func(r2 float64) float64 { return math.Exp(-r2 / 2) },
}

func (s scalarCov) dist(i, j int) float64 {
	r2 := 0.0
	for d, v := range s.x.Row(i) {
		t := v - s.x.At(j, d)
		r2 += t * t
	}
	return r2
}

func (s scalarCov) at(i, j int) float64 { return s.cov(s.dist(i, j)) }
func (s scalarCov) Dim() int            { return s.x.Rows }

func (s scalarCov) DiagTo(dst []float64) {
	for i := range dst {
		dst[i] = s.at(i, i)
	}
}

func (s scalarCov) ColsTo(ctx context.Context, dst linalg.Matrix, from int, cols []int) error {
	for i := range dst.Rows {
		for c, j := range cols {
			dst.Set(i, c, s.at(from+i, j))
		}
	}
	return ctx.Err()
}

func (s scalarCov) BlockTo(_ int, dst linalg.Matrix, rows []int32) {
	for i, a := range rows {
		for j, b := range rows {
			dst.Set(i, j, s.at(int(a), int(b)))
		}
	}
}

func (s scalarCov) TrianglesTo(_ int, dst []float64, rows []int32) {
	const L = asm.CholLanes
	for k := range dst {
		dst[k] = math.NaN()
	}
	for a := range len(rows) / L {
		for b := range a + 1 {
			for l := range L {
				dst[(a*(a+1)/2+b)*L+l] = s.at(int(rows[a*L+l]), int(rows[b*L+l]))
			}
		}
	}
}

func (s scalarCov) NeighboursTo(ctx context.Context, dst []int32, order []int, k int) error {
	for i := range order {
		near := make([]int, i)
		for j := range near {
			near[j] = j
		}
		sort.SliceStable(near, func(a, b int) bool {
			return s.dist(order[i], order[near[a]]) < s.dist(order[i], order[near[b]])
		})
		for t := range k {
			dst[i*k+t] = -1
			if t < i {
				dst[i*k+t] = int32(near[t])
			}
		}
	}
	return ctx.Err()
}

// randomCov is a covariance matrix of n points in d dimensions, with noise of
// about the given size.
func randomCov(family string, n, d int, noise float64, seed uint64) (scalarCov, []float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	x := linalg.NewMatrix(n, d)
	for i := range x.Data {
		x.Data[i] = r.NormFloat64()
	}
	e := make([]float64, n)
	for i := range e {
		e[i] = noise * (0.5 + r.Float64())
	}
	return scalarCov{x: x, cov: scalarFamilies[family]}, e
}

// residualOf is K - L L' + diag(noise), dense.
func residualOf(k scalarCov, l linalg.Matrix, noise []float64) linalg.Matrix {
	n := k.Dim()
	m := linalg.NewMatrix(n, n)
	for i := range n {
		for j := range n {
			v := k.at(i, j)
			for c := range l.Cols {
				v -= l.At(i, c) * l.At(j, c)
			}
			m.Set(i, j, v)
		}
		m.Set(i, i, m.At(i, i)+noise[i])
	}
	return m
}

// nystrom is K[:, 0:m] C^-T with C C' = K[0:m, 0:m]: a plain pivoted Cholesky
// factor of the first m rows.
func nystrom(k scalarCov, m int) linalg.Matrix {
	n := k.Dim()
	l := linalg.NewMatrix(n, m)
	for j := range m {
		for i := range n {
			v := k.at(i, j)
			for c := range j {
				v -= l.At(i, c) * l.At(j, c)
			}
			if i < j {
				v = 0
			}
			l.Set(i, j, v)
		}
		d := math.Sqrt(l.At(j, j))
		for i := j; i < n; i++ {
			l.Set(i, j, l.At(i, j)/d)
		}
	}
	return l
}

// denseRow is row q of W by Gaussian elimination with the definitions of
// Vecchia: b and v of the rows sub, of which the last is the row itself.
func denseRow(r linalg.Matrix, sub []int32) (b []float64, v float64) {
	m := len(sub) - 1
	self := int(sub[m])
	a := linalg.NewMatrix(m, m+1)
	for i := range m {
		for j := range m {
			a.Set(i, j, r.At(int(sub[i]), int(sub[j])))
		}
		a.Set(i, m, r.At(int(sub[i]), self))
	}
	for i := range m {
		p := i
		for k := i; k < m; k++ {
			if math.Abs(a.At(k, i)) > math.Abs(a.At(p, i)) {
				p = k
			}
		}
		for c := range m + 1 {
			x, y := a.At(i, c), a.At(p, c)
			a.Set(i, c, y)
			a.Set(p, c, x)
		}
		for k := range m {
			if k == i {
				continue
			}
			f := a.At(k, i) / a.At(i, i)
			for c := i; c <= m; c++ {
				a.Set(k, c, a.At(k, c)-f*a.At(i, c))
			}
		}
	}
	b, v = make([]float64, m), r.At(self, self)
	for i := range b {
		b[i] = a.At(i, m) / a.At(i, i)
		v -= b[i] * r.At(int(sub[i]), self)
	}
	return b, v
}

// denseVecchia is W in full, n×n.
func denseVecchia(r linalg.Matrix, near *Neighbours) linalg.Matrix {
	w := linalg.NewMatrix(near.n, near.n)
	for q := range near.n {
		self := near.rows[q*near.width]
		sub := append(append([]int32(nil), near.of(q)...), self)
		b, v := denseRow(r, sub)
		w.Set(q, int(self), 1/math.Sqrt(v))
		for t, x := range b {
			w.Set(q, int(sub[t]), -x/math.Sqrt(v))
		}
	}
	return w
}

// applied is W (or W') as the product with the identity.
func applied(v *Vecchia, trans bool) linalg.Matrix {
	n := v.Dim()
	id, out := linalg.NewMatrix(n, n), linalg.NewMatrix(n, n)
	for i := range n {
		id.Set(i, i, 1)
	}
	if trans {
		v.MulTransTo(out, id)
	} else {
		v.MulTo(out, id)
	}
	return out
}

func newVecchia(t testing.TB, e *linalg.Engine, k linalg.ColOp, l linalg.Matrix, noise []float64, nn int) *Vecchia {
	v, err := NewVecchia(context.Background(), e, k, l, noise, nn, 7)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVecchiaDense(t *testing.T) {
	for _, im := range asm.All() {
		for family := range scalarFamilies {
			for _, n := range []int{1, 2, 3, 9, 60} {
				for _, nn := range []int{0, 1, 8, 31, 32, n} {
					for _, m := range []int{0, 5, 55} {
						if (n < 9 && m > 0) || (n == 60 && m == 55 && nn != 31) {
							continue // the same as, or little other than, the cases that run
						}
						t.Run(fmt.Sprintf("%s/%s/n=%d/nn=%d/m=%d", im.Name, family, n, nn, m), func(t *testing.T) {
							k, noise := randomCov(family, n, 3, 0.01, 3)
							if m > n-2 {
								m = 0
							}
							if family == "gaussian" {
								m = min(m, 5) // more columns would be rounding
							}
							checkVecchia(t, linalgtest.NewEngine(t, im, 2), k, nystrom(k, m), noise, nn)
						})
					}
				}
			}
		}
	}
}

// checkVecchia compares W, W' and log det with the dense construction, and
// W'W with R^-1 where every earlier row is a neighbour.
func checkVecchia(t *testing.T, e *linalg.Engine, k scalarCov, l linalg.Matrix, noise []float64, nn int) {
	n := k.Dim()
	v := newVecchia(t, e, k, l, noise, nn)
	if v.NeighbourCount() != min(nn, n-1) {
		t.Fatalf("%d neighbours", v.NeighbourCount())
	}
	r := residualOf(k, l, noise)
	want := denseVecchia(r, v.Neighbours())
	got, trans := applied(v, false), applied(v, true)
	logDet := 0.0
	for q := range n {
		for i := range n {
			if d := math.Abs(got.At(q, i) - want.At(q, i)); !(d <= 1e-9*want.At(q, q0(v, q))) {
				t.Fatalf("W[%d][%d] = %v, want %v", q, i, got.At(q, i), want.At(q, i))
			}
			if got.At(q, i) != trans.At(i, q) {
				t.Fatalf("W and W' differ at %d, %d: %v, %v", q, i, got.At(q, i), trans.At(i, q))
			}
		}
		logDet -= 2 * math.Log(got.At(q, q0(v, q)))
	}
	if math.Abs(logDet-v.LogDet()) > 1e-10*float64(n) {
		t.Errorf("LogDet %v, want %v", v.LogDet(), logDet)
	}
	if nn < n-1 {
		return
	}
	rw := linalg.NewMatrix(n, n)
	v.MulTo(rw, r) // W R
	for i := range n {
		for j := range n { // W R W' = I
			s := 0.0
			for a, x := range rw.Row(i) {
				s += x * got.At(j, a)
			}
			if i == j {
				s--
			}
			if math.Abs(s) > 1e-9 {
				t.Fatalf("W R W' - I = %g at %d, %d", s, i, j)
			}
		}
	}
}

// q0 is the row of R that row q of W belongs to.
func q0(v *Vecchia, q int) int { return int(v.near.rows[q*v.near.width]) }

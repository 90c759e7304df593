package krylov

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/linalg"
)

// TestMultiCG: the solution of A X = B and the quadrature of log by the
// Lanczos matrices, against a dense eigendecomposition, A = Khat.
func TestMultiCG(t *testing.T) {
	const n, p = 60, 3
	e, err := linalg.NewEngine(nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	g, a, b := linalg.NewMatrix(n, n), linalg.NewMatrix(n, n), linalg.NewMatrix(n, p)
	for i := range g.Data {
		g.Data[i] = rng.NormFloat64()
	}
	for i := range n * (p - 1) { // the last column stays 0
		b.Set(i/(p-1), i%(p-1), rng.NormFloat64())
	}
	e.GemmTo(a, 1, g, true, g, false, 0)
	for i := range n {
		a.Set(i, i, a.At(i, i)+1)
	}
	values, vectors, err := linalg.EigenSym(a.Clone())
	if err != nil {
		t.Fatal(err)
	}
	res, err := MultiCG(context.Background(), e, cgMatrix{e, a}, cgIdentity{n}, b,
		MultiCGOptions{Tol: 1e-13, MaxPasses: 10 * n})
	if err != nil {
		t.Fatal(err)
	}
	ax := linalg.NewMatrix(n, p)
	e.GemmTo(ax, 1, a, false, res.X, false, 0)
	for i := range ax.Data {
		if math.Abs(ax.Data[i]-b.Data[i]) > 1e-9 {
			t.Fatalf("A X misses B by %g", ax.Data[i]-b.Data[i])
		}
	}
	var quad Quad
	for c := range p - 1 {
		want, got := 0.0, []float64{0}
		for k, lam := range values {
			s := 0.0
			for i := range n {
				s += vectors.At(i, k) * b.At(i, c)
			}
			want += s * s * math.Log(lam)
		}
		if err := quad.GaussTo(got, res.Tri[c]); err != nil {
			t.Fatal(err)
		}
		if got[0] *= res.Norm2[c]; math.Abs(got[0]-want) > 1e-8*math.Abs(want) {
			t.Errorf("column %d: b'log(A)b is %g, eigenvalues give %g", c, got[0], want)
		}
	}
}

type cgMatrix struct {
	e *linalg.Engine
	a linalg.Matrix
}

func (o cgMatrix) Dim() int { return o.a.Rows }
func (o cgMatrix) MulTo(_ context.Context, dst, src linalg.Matrix) error {
	o.e.GemmTo(dst, 1, o.a, false, src, false, 0)
	return nil
}

type cgIdentity struct{ n int }

func (f cgIdentity) Dim() int                           { return f.n }
func (f cgIdentity) LogDet() float64                    { return 0 }
func (f cgIdentity) FInvTo(dst, src linalg.Matrix)      { dst.CopyFrom(src) }
func (f cgIdentity) FInvTransTo(dst, src linalg.Matrix) { dst.CopyFrom(src) }
func (f cgIdentity) SolveTo(dst, src linalg.Matrix)     { dst.CopyFrom(src) }

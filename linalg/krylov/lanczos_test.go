package krylov

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// A denseOp is a stored symmetric matrix.
type denseOp struct {
	e *linalg.Engine
	m linalg.Matrix
}

func (d denseOp) Dim() int { return d.m.Rows }

func (d denseOp) MulTo(ctx context.Context, dst, src linalg.Matrix) error {
	d.e.GemmTo(dst, 1, d.m, false, src, false, 0)
	return ctx.Err()
}

// A denseFactor is P = F F' with a stored F^-1.
type denseFactor struct {
	e      *linalg.Engine
	inv    linalg.Matrix
	logDet float64
}

func (d denseFactor) Dim() int        { return d.inv.Rows }
func (d denseFactor) LogDet() float64 { return d.logDet }

func (d denseFactor) FInvTo(dst, src linalg.Matrix) {
	d.e.GemmTo(dst, 1, d.inv, false, src.Clone(), false, 0)
}

func (d denseFactor) FInvTransTo(dst, src linalg.Matrix) {
	d.e.GemmTo(dst, 1, d.inv, true, src.Clone(), false, 0)
}

func (d denseFactor) SolveTo(dst, src linalg.Matrix) {
	d.FInvTo(dst, src)
	d.FInvTransTo(dst, dst)
}

// scaledIdentity is F = sqrt(noise) I.
func scaledIdentity(e *linalg.Engine, n int, noise float64) denseFactor {
	f := denseFactor{e: e, inv: linalg.NewMatrix(n, n), logDet: float64(n) * math.Log(noise)}
	for i := range n {
		f.inv.Set(i, i, 1/math.Sqrt(noise))
	}
	return f
}

// lowRankFactor is P = L L' + noise I with the greedy pivots of K: F is the
// Cholesky factor of P.
func lowRankFactor(e *linalg.Engine, k linalg.Matrix, noise float64, rank int) denseFactor {
	n := k.Rows
	m := k.Clone()
	l, _ := cholPivoted(m, 0)
	l = l.Sub(0, n, 0, min(rank, l.Cols))
	p := linalg.NewMatrix(n, n)
	for i := range n {
		for j := range n {
			for c, v := range l.Row(i) {
				p.Data[i*n+j] += v * l.At(j, c)
			}
		}
		p.Data[i*n+i] += noise
	}
	if cholSmall(p, 0) != nil {
		panic("lowRankFactor: not positive definite")
	}
	f := denseFactor{e: e, inv: linalg.NewMatrix(n, n)}
	for i := range n {
		f.inv.Set(i, i, 1)
		f.logDet += 2 * math.Log(p.At(i, i))
	}
	solveLower(p, f.inv, 0)
	return f
}

// families are the covariance functions of the distance r.
var families = map[string]func(r float64) float64{
	"matern12": func(r float64) float64 { return math.Exp(-r) },
	"matern32": func(r float64) float64 { a := math.Sqrt(3) * r; return (1 + a) * math.Exp(-a) },
	"matern52": func(r float64) float64 { a := math.Sqrt(5) * r; return (1 + a + a*a/3) * math.Exp(-a) },
	"gaussian": func(r float64) float64 { return math.Exp(-r * r / 2) },
}

// covMatrix returns K of n random points in d dimensions; every third point is
// a copy of the one before where duplicates are wanted.
func covMatrix(rng *rand.Rand, h func(float64) float64, n, d int, duplicates bool) linalg.Matrix {
	x := linalg.NewMatrix(n, d)
	for i := range n {
		for j := range d {
			x.Set(i, j, rng.NormFloat64())
		}
		if duplicates && i%3 == 2 {
			copy(x.Row(i), x.Row(i-1))
		}
	}
	k := linalg.NewMatrix(n, n)
	for i := range n {
		for j := range n {
			s := 0.0
			for c, v := range x.Row(i) {
				s += (v - x.At(j, c)) * (v - x.At(j, c))
			}
			k.Set(i, j, h(math.Sqrt(s)))
		}
	}
	return k
}

func addNoise(k linalg.Matrix, noise float64) linalg.Matrix {
	m := k.Clone()
	for i := range m.Rows {
		m.Data[i*m.Stride+i] += noise
	}
	return m
}

func rademacher(rng *rand.Rand, n, p int) linalg.Matrix {
	w := linalg.NewMatrix(n, p)
	for i := range w.Data {
		w.Data[i] = float64(2*rng.IntN(2) - 1)
	}
	return w
}

// dense returns F^-1 Khat F^-T and its eigendecomposition.
func whitened(op denseOp, f denseFactor) (a linalg.Matrix, values []float64, vectors *mat.Dense) {
	n := op.m.Rows
	half := linalg.NewMatrix(n, n)
	op.e.GemmTo(half, 1, f.inv, false, op.m, false, 0)
	a = linalg.NewMatrix(n, n)
	op.e.GemmTo(a, 1, half, false, f.inv, true, 0)
	values, vectors = symEigen(a)
	return a, values, vectors
}

func symEigen(a linalg.Matrix) ([]float64, *mat.Dense) {
	s := mat.NewSymDense(a.Rows, nil)
	for i := range a.Rows {
		for j := i; j < a.Rows; j++ {
			s.SetSym(i, j, (a.At(i, j)+a.At(j, i))/2)
		}
	}
	var es mat.EigenSym
	if !es.Factorize(s, true) {
		panic("eigendecomposition failed")
	}
	var v mat.Dense
	es.VectorsTo(&v)
	return es.Values(nil), &v
}

// spectralForm returns w'f(A)w for each column of w.
func spectralForm(values []float64, v *mat.Dense, w linalg.Matrix, f func(float64) float64) []float64 {
	out := make([]float64, w.Cols)
	for c := range out {
		for a, lam := range values {
			s := 0.0
			for i := range w.Rows {
				s += v.At(i, a) * w.At(i, c)
			}
			out[c] += f(lam) * s * s
		}
	}
	return out
}

// checkInverse brackets w'A^-1 w of the last column: Gauss below, and above it
// Gauss-Radau, which is tighter than |tail|²/node.
func checkInverse(t *testing.T, q *Quad, h *BlockTri, node, want float64) {
	t.Helper()
	var zero BlockLDL
	if !zero.Reset(h, 0) {
		t.Fatal("H is not positive definite")
	}
	k, last := h.Dim(), h.R0.Cols-1
	x := linalg.NewMatrix(k, 1)
	for i := range h.R0.Rows {
		x.Data[i] = h.R0.At(i, last)
	}
	zero.SolveTo(x)
	gauss := 0.0
	for i := range h.R0.Rows {
		gauss += x.Data[i] * h.R0.At(i, last)
	}
	b := h.Coupling()
	if b.Rows == 0 {
		return
	}
	tail, rest, plain, above := make([]float64, b.Rows), make([]float64, b.Rows), 0.0, 0.0
	for i := range tail {
		for j, v := range b.Row(i) {
			tail[i] += v * x.Data[k-b.Cols+j]
		}
		plain += tail[i] * tail[i] / node
	}
	if !q.ErrorTo(rest, tail, &zero) {
		t.Fatal("no Radau bound of the inverse")
	}
	for i, v := range rest {
		above += v * tail[i]
	}
	tol := 1e-8 * want
	if gauss > want+tol || gauss+above < want-tol || above > plain+tol {
		t.Fatalf("inverse: Gauss %.9g, exact %.9g, Radau %.9g, plain %.9g", gauss, want, gauss+above, gauss+plain)
	}
}

// A bracketCase is one process to compare with dense truth at every pass.
type bracketCase struct {
	op      denseOp
	f       denseFactor
	w       linalg.Matrix
	nodeOne bool // Khat >= P: the node 1; otherwise half the settled Ritz value
	wide    bool
}

// checkBracket compares the two quadratures with the dense value at every pass.
func checkBracket(t *testing.T, c bracketCase) {
	t.Helper()
	_, values, vectors := whitened(c.op, c.f)
	want := spectralForm(values, vectors, c.w, math.Log)
	inverse := spectralForm(values, vectors, c.w, func(x float64) float64 { return 1 / x })[c.w.Cols-1]
	n, high := float64(c.op.Dim()), values[len(values)-1]
	// What is stored in float32 is orthonormal to 6e-8, so Ritz values are off by
	// 6e-8 |A| / sqrt(n) or so, in the worst column; float64 rounds likewise.
	unit := 2e-8
	if c.wide {
		unit = 1e-15
	}
	tol := n * (10*unit + 1e-9 + unit*high/min(1, values[0]))
	l := NewLanczos(c.op.e, c.op.Dim(), c.w.Cols, LanczosOptions{Wide: c.wide})
	l.Start(c.op, c.f, c.w)
	gauss, radau := make([]float64, c.w.Cols), make([]float64, c.w.Cols)
	var q Quad
	last, seen := math.Inf(1), 0
	for pass := 1; !l.Exhausted() && pass <= 60; pass++ {
		if err := l.Step(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := q.GaussTo(gauss, l.H); err != nil {
			t.Fatalf("pass %d: Gauss: %v", pass, err)
		}
		node, settled := NodeOne(q.High), true
		if !c.nodeOne {
			node, settled = q.Low/2, q.Low > 0.8*last
		}
		last = q.Low
		copy(radau, want)
		if settled {
			seen++
			if err := q.RadauTo(radau, l.H, node); err != nil {
				t.Fatalf("pass %d: Radau at %g, smallest Ritz %g, eigenvalue %g: %v", pass, node, last, values[0], err)
			}
		}
		if settled && c.wide {
			checkInverse(t, &q, l.H, node, inverse)
		}
		for i := range want {
			if gauss[i] < want[i]-tol || radau[i] > want[i]+tol {
				t.Fatalf("pass %d, probe %d: Radau %.9g, exact %.9g, Gauss %.9g (node %g, smallest %g, tolerance %g)",
					pass, i, radau[i], want[i], gauss[i], node, values[0], tol)
			}
		}
	}
	if seen == 0 {
		t.Error("no pass with a settled node")
	}
	for i := range want {
		if l.Exhausted() && (math.Abs(gauss[i]-want[i]) > tol || math.Abs(gauss[i]-radau[i]) > tol) {
			t.Errorf("exhausted, probe %d: Radau %.9g, exact %.9g, Gauss %.9g (tolerance %g)", i, radau[i], want[i],
				gauss[i], tol)
		}
	}
}

// scaledCov is h at distances divided by l.
func scaledCov(h func(float64) float64, l float64) func(float64) float64 {
	return func(r float64) float64 { return h(r / l) }
}

func TestQuadratureBrackets(t *testing.T) {
	e := linalgtest.NewEngine(t, nil, 0)
	const n = 120
	for name, h := range families {
		for _, noise := range []float64{1, 1e-2, 1e-4, 1e-6} {
			for _, rank := range []int{0, 20, 100} {
				t.Run(fmt.Sprintf("%s/noise=%g/rank=%d", name, noise, rank), func(t *testing.T) {
					cov := func(l float64) linalg.Matrix {
						return covMatrix(rand.New(rand.NewPCG(1, 3)), scaledCov(h, l), n, 3, rank == 20)
					}
					k := cov(1)
					f, stale := scaledIdentity(e, n, noise), scaledIdentity(e, n, noise)
					if rank > 0 {
						f = lowRankFactor(e, k, noise, rank)
						stale = lowRankFactor(e, cov(0.9), 1.5*noise, n)
					}
					c := bracketCase{denseOp{e, addNoise(k, noise)}, f, rademacher(linalgtest.NewRand(9), n, 5), true,
						true}
					checkBracket(t, c)
					c.wide = false
					checkBracket(t, c)
					if rank > 0 {
						c.nodeOne, c.f, c.wide = false, stale, true
						checkBracket(t, c)
					}
				})
			}
		}
	}
}

func TestQuadratureSmall(t *testing.T) {
	e := linalgtest.NewEngine(t, nil, 0)
	for _, n := range []int{1, 2, 3, 4, 7} {
		for _, noise := range []float64{1, 1e-6} {
			for _, duplicates := range []bool{false, true} {
				for _, wide := range []bool{false, true} {
					k := covMatrix(linalgtest.NewRand(uint64(n)), families["matern32"], n, 2, duplicates)
					op := denseOp{e, addNoise(k, noise)}
					checkBracket(t, bracketCase{op, scaledIdentity(e, n, noise), rademacher(linalgtest.NewRand(2), n,
						9), true, wide})
				}
			}
		}
	}
}

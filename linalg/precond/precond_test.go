package precond

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

func newPrecond(t testing.TB, e *linalg.Engine, k linalg.ColOp, noise []float64, opt Options) *Precond {
	t.Helper()
	p, err := New(context.Background(), e, k, noise, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func toDense(m linalg.Matrix) *mat.Dense {
	d := mat.NewDense(m.Rows, m.Cols, nil)
	for i := range m.Rows {
		d.SetRow(i, m.Row(i))
	}
	return d
}

// denseFactorOf returns F^-1 and log det P by gonum, from the formulas at the
// head of precond.go. The signs that a QR is free to choose cancel in F.
func denseFactorOf(t *testing.T, e *linalg.Engine, k linalg.ColOp, noise []float64, opt Options) (*mat.Dense, float64) {
	t.Helper()
	n, ctx := k.Dim(), context.Background()
	l, _, _, err := PivotedCholesky(ctx, e, k, PivotOptions{MaxRank: opt.Rank, TraceTol: opt.TraceTol,
		Greedy: opt.Greedy, Seed: opt.Seed})
	if err != nil {
		t.Fatal(err)
	}
	w, logDet := mat.NewDense(n, n, nil), 0.0
	if opt.Neighbours > 0 {
		v, err := NewVecchia(ctx, e, k, l, noise, opt.Neighbours, opt.Seed)
		if err != nil {
			t.Fatal(err)
		}
		w, logDet = toDense(applied(v, false)), v.LogDet()
	} else {
		for i, s := range noise {
			w.Set(i, i, 1/math.Sqrt(s))
			logDet += math.Log(s)
		}
	}
	m := l.Cols
	if m == 0 {
		return w, logDet
	}
	var wl, qFull, q, r, c, f mat.Dense
	wl.Mul(w, toDense(l))
	var qr mat.QR
	qr.Factorize(&wl)
	qr.QTo(&qFull)
	q.CloneFrom(qFull.Slice(0, n, 0, m))
	r.Mul(q.T(), &wl)
	c.Mul(&r, r.T())
	sym := mat.NewSymDense(m, nil)
	for i := range m {
		for j := range i + 1 {
			sym.SetSym(i, j, c.At(i, j))
		}
		sym.SetSym(i, i, c.At(i, i)+1)
	}
	var chol mat.Cholesky
	if !chol.Factorize(sym) {
		t.Fatal("gonum: I + R R' is not positive definite")
	}
	var tri mat.TriDense
	chol.LTo(&tri)
	var inv, left, qtw mat.Dense
	if err := inv.Inverse(&tri); err != nil {
		t.Fatal(err)
	}
	for i := range m {
		inv.Set(i, i, inv.At(i, i)-1)
	}
	left.Mul(&q, &inv)
	qtw.Mul(q.T(), w)
	f.Mul(&left, &qtw)
	f.Add(&f, w)
	return &f, logDet + chol.LogDet()
}

// checkPrecond compares P with the dense construction: A = F^-1 Khat F^-T,
// P^-1 = F^-T F^-1 and log det P.
func checkPrecond(t *testing.T, e *linalg.Engine, name string, k scalarCov, noise []float64, opt Options) {
	t.Helper()
	n := k.Dim()
	p := newPrecond(t, e, k, noise, opt)
	f, logDet := denseFactorOf(t, e, k, noise, opt)
	if d := math.Abs(p.LogDet() - logDet); !(d <= 1e-9*(1+math.Abs(logDet))) {
		t.Errorf("%s: log det P %g, want %g", name, p.LogDet(), logDet)
	}
	if opt.Rank > 0 {
		_, _, trace, err := PivotedCholesky(context.Background(), e, k,
			PivotOptions{MaxRank: opt.Rank, Greedy: opt.Greedy, Seed: opt.Seed})
		if got := p.ResidualTrace(); err != nil || !(math.Abs(got-trace) <= 1e-11*float64(n)) {
			t.Errorf("%s: residual trace %g, want %g, %v", name, got, trace, err)
		}
	}
	khat := linalg.NewMatrix(n, n)
	for i := range n {
		for j := range n {
			khat.Set(i, j, k.at(i, j))
		}
		khat.Set(i, i, khat.At(i, i)+noise[i])
	}
	half, a := linalg.NewMatrix(n, n), linalg.NewMatrix(n, n)
	p.FInvTo(half, khat)
	half = linalgtest.Transposed(half)
	p.FInvTo(a, half)
	var wantA, fk, wantP mat.Dense
	fk.Mul(f, toDense(khat))
	wantA.Mul(&fk, f.T())
	compare(t, name+": A", a, &wantA)

	unit := linalg.NewMatrix(n, n)
	for i := range n {
		unit.Set(i, i, 1)
	}
	trans := unit.Clone()
	p.FInvTransTo(trans, trans) // in place
	compare(t, name+": F^-T", trans, f.T())
	p.SolveTo(unit, unit)
	wantP.Mul(f.T(), f)
	compare(t, name+": P^-1", unit, &wantP)
}

func compare(t *testing.T, name string, got linalg.Matrix, want mat.Matrix) {
	t.Helper()
	worst, size := 0.0, mat.Max(want)
	for i := range got.Rows {
		for j := range got.Cols {
			worst = max(worst, math.Abs(got.At(i, j)-want.At(i, j)))
		}
	}
	if !(worst <= 1e-9*max(1, size)) {
		t.Errorf("%s: off by %g of %g", name, worst, size)
	}
}

func TestPrecondDense(t *testing.T) {
	linalgtest.Engines(t, func(t *testing.T, e *linalg.Engine) {
		n := 260 // two blocks and groups of rows
		if e.Impl.Name == "generic" {
			n = 120
		}
		both := Options{Rank: 40, Neighbours: 10, Seed: 7}
		for family := range scalarFamilies {
			k, s := randomCov(family, n, 3, 1e-4, 31)
			opts := []Options{both}
			if family == "matern32" { // what stands in the matrix is all that the others change
				opts = append(opts, Options{}, Options{Rank: 60, Greedy: true}, Options{Rank: 100, Seed: 5},
					Options{Neighbours: 12, Seed: 6}, Options{Rank: 52, Neighbours: 13, Greedy: true, Seed: 8})
			}
			for _, opt := range opts {
				checkPrecond(t, e, fmt.Sprintf("%s %+v", family, opt), k, s, opt)
			}
			k, s = randomCov(family, n, 3, 1, 31)
			checkPrecond(t, e, family+", noise 1", k, s, both)
		}
	})
}

func TestPrecondSmall(t *testing.T) {
	linalgtest.Engines(t, func(t *testing.T, e *linalg.Engine) {
		for n := 1; n <= 3; n++ {
			k, s := randomCov("matern32", n, 2, 1e-2, 32)
			for _, opt := range []Options{{}, {Rank: 1}, {Rank: 10}, {Rank: 10, Greedy: true}, {Neighbours: 4},
				{Rank: 2, Neighbours: 2}} {
				checkPrecond(t, e, fmt.Sprintf("n %d %+v", n, opt), k, s, opt)
			}
		}
	})
}

// TestPrecondDuplicates: every row twice, so that K has half the rank that is asked for.
func TestPrecondDuplicates(t *testing.T) {
	linalgtest.Engines(t, func(t *testing.T, e *linalg.Engine) {
		k, s := randomCov("matern32", 80, 2, 1e-3, 33)
		for i := 40; i < 80; i++ {
			copy(k.x.Row(i), k.x.Row(i-40))
		}
		for _, greedy := range []bool{false, true} {
			opt := Options{Rank: 80, Greedy: greedy}
			if p := newPrecond(t, e, k, s, opt); p.Rank() != 40 || !(p.ResidualTrace() <= 1e-12) {
				t.Errorf("greedy %t: rank %d, trace %g", greedy, p.Rank(), p.ResidualTrace())
			}
			checkPrecond(t, e, fmt.Sprintf("duplicates, greedy %t", greedy), k, s, opt)
			opt.Rank, opt.Neighbours = 30, 8
			checkPrecond(t, e, fmt.Sprintf("duplicates with Vecchia, greedy %t", greedy), k, s, opt)
		}
	})
}

func TestPrecondNoise(t *testing.T) {
	e := linalgtest.NewEngine(t, nil, 2)
	k, s := randomCov("matern32", 20, 2, 1e-3, 34)
	s[7] = 0
	var bad *linalg.NotPDError
	if _, err := New(context.Background(), e, k, s, Options{Rank: 3}); !errors.As(err, &bad) ||
		bad.Pivot != 7 {
		t.Errorf("noise 0: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s[7] = 1
	if _, err := New(ctx, e, k, s, Options{Rank: 3}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestPrecondThreads: the same bits for any number of threads and, for each
// column, whatever other columns stand beside it in a block of the same padded width.
func TestPrecondThreads(t *testing.T) {
	im, err := asm.Default()
	if err != nil {
		t.Fatal(err)
	}
	k, s := randomCov("matern32", 400, 3, 1e-2, 35)
	x := linalgtest.GuardedMatrix(linalgtest.NewRand(36), 400, 9)
	var want [3]linalg.Matrix
	for _, threads := range []int{1, 2, 3} {
		p := newPrecond(t, linalgtest.NewEngine(t, im, threads), k, s, Options{Rank: 150, Neighbours: 9, Seed: 1})
		got := [3]linalg.Matrix{linalg.NewMatrix(400, 9), linalg.NewMatrix(400, 9), linalg.NewMatrix(400, 9)}
		p.FInvTo(got[0], x)
		p.FInvTransTo(got[1], x)
		p.SolveTo(got[2], x)
		if threads == 1 {
			want = got
		}
		for f := range got {
			for i, v := range got[f].Data {
				if v != want[f].Data[i] {
					t.Fatalf("%d threads, product %d: element %d differs", threads, f, i)
				}
			}
		}
	}
}

func TestPrecondAllocations(t *testing.T) {
	k, s := randomCov("matern32", 300, 3, 1e-2, 37)
	p := newPrecond(t, linalgtest.NewEngine(t, nil, 2), k, s, Options{Rank: 100, Neighbours: 9})
	x := linalgtest.GuardedMatrix(linalgtest.NewRand(38), 300, 9)
	if got := testing.AllocsPerRun(10, func() { p.FInvTo(x, x); p.FInvTransTo(x, x); p.SolveTo(x, x) }); got != 0 {
		t.Errorf("products with F allocate %g times", got)
	}
	if p.Bytes() < 8*300*100 {
		t.Errorf("Bytes: %d", p.Bytes())
	}
}

// TestEmptyEngine: an engine that computes nothing is told by name, not by a nil pointer.
func TestEmptyEngine(t *testing.T) {
	k, noise := randomCov("matern32", 10, 2, 1e-2, 32)
	for _, e := range []*linalg.Engine{nil, {}} {
		func() {
			defer func() {
				if s, ok := recover().(string); !ok || !strings.Contains(s, "NewEngine") {
					t.Error(s)
				}
			}()
			_, _ = New(context.Background(), e, k, noise, Options{})
		}()
	}
}

// Products with F of matrices that do not fit P panic with a constant text, as what reads their rows checks nothing.
func TestPrecondShapes(t *testing.T) {
	k, noise := randomCov("matern32", 40, 2, 1e-2, 39)
	p := newPrecond(t, linalgtest.NewEngine(t, nil, 1), k, noise, Options{Rank: 4, Neighbours: 3})
	x, wide, short := linalg.NewMatrix(40, 2), linalg.NewMatrix(40, 3), linalg.NewMatrix(39, 2)
	for name, f := range map[string]func(dst, src linalg.Matrix){"FInvTo": p.FInvTo, "FInvTransTo": p.FInvTransTo,
		"FInvRowsTo": p.FInvRowsTo, "FInvTransRowsTo": p.FInvTransRowsTo, "SolveTo": p.SolveTo} {
		for _, src := range []linalg.Matrix{wide, short} {
			func() {
				defer func() {
					if s, ok := recover().(string); !ok || !strings.Contains(s, "shapes") {
						t.Errorf("%s of %d×%d: %q", name, src.Rows, src.Cols, s)
					}
				}()
				f(x, src)
			}()
		}
	}
}

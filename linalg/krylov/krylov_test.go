package krylov

import (
	"context"
	"fmt"
	"math"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// krylovCase is a Matérn-3/2 system of n points with a low-rank factor.
func krylovCase(t testing.TB, n, rank int, noise float64) (denseOp, denseFactor) {
	e := linalgtest.NewEngine(t, nil, 0)
	k := covMatrix(linalgtest.NewRand(5), families["matern32"], n, 3, false)
	f := scaledIdentity(e, n, noise)
	if rank > 0 {
		f = lowRankFactor(e, k, noise, rank)
	}
	return denseOp{e, addNoise(k, noise)}, f
}

func steps(t testing.TB, l *Lanczos, count int) {
	t.Helper()
	for range count {
		if l.Exhausted() {
			return
		}
		if err := l.Step(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLanczosRelation(t *testing.T) {
	for _, wide := range []bool{false, true} {
		op, f := krylovCase(t, 230, 10, 1e-2)
		e := op.e
		tol := 3e-6
		if wide {
			tol = 1e-12
		}
		w := rademacher(linalgtest.NewRand(3), 230, 5)
		for i := range 230 {
			w.Set(i, 3, w.At(i, 0)-2*w.At(i, 1)) // no direction of its own
		}
		l := NewLanczos(e, 230, 5, LanczosOptions{Wide: wide})
		l.Start(op, f, w)
		steps(t, l, 30) // 121 columns: two chunks
		k := l.H.Dim()
		if k != 120 || l.H.R0.Rows != 4 {
			t.Fatalf("basis has %d columns, %d in the first block; want 120 and 4", k, l.H.R0.Rows)
		}
		eye, basis := linalg.NewMatrix(k, k), linalg.NewMatrix(230, k)
		for i := range k {
			eye.Set(i, i, 1)
		}
		if err := l.MulBasisTo(context.Background(), basis, eye); err != nil {
			t.Fatal(err)
		}
		gram, a, h := linalg.NewMatrix(k, k), linalg.NewMatrix(k, k), linalg.NewMatrix(k, k)
		e.GemmTo(gram, 1, basis, true, basis, false, 0)
		if d := linalgtest.MaxDiff(gram, eye); d > tol {
			t.Errorf("wide %v: T'T differs from I by %g", wide, d)
		}
		full, _, _ := whitened(op, f)
		at := linalg.NewMatrix(230, k)
		e.GemmTo(at, 1, full, false, basis, false, 0)
		e.GemmTo(a, 1, basis, true, at, false, 0)
		l.H.DenseTo(h)
		if d := linalgtest.MaxDiff(a, h); d > tol*maxNorm(h) {
			t.Errorf("wide %v: T'AT differs from H by %g of %g", wide, d, maxNorm(h))
		}
		start := linalg.NewMatrix(230, 5)
		e.GemmTo(start, 1, basis.Sub(0, 230, 0, 4), false, l.H.R0, false, 0)
		if d := linalgtest.MaxDiff(start, w); d > 10*tol {
			t.Errorf("wide %v: T_1 R0 differs from W0 by %g", wide, d)
		}
	}
}

// TestLanczosSpill compares processes that store part of the basis, or none of
// it, with one that stores all.
func TestLanczosSpill(t *testing.T) {
	op, f := krylovCase(t, 150, 40, 1e-1)
	w := rademacher(linalgtest.NewRand(4), 150, 4)
	y := linalgtest.GuardedMatrix(linalgtest.NewRand(5), 20, 3)
	var h, ty linalg.Matrix
	for _, most := range []int{0, -1, 4, 10} {
		l := NewLanczos(op.e, 150, 4, LanczosOptions{MaxCols: most})
		for range 2 { // a process can be started again
			l.Start(op, f, w)
			steps(t, l, 5)
			got, prod, next, again := linalg.NewMatrix(20, 20), linalg.NewMatrix(150, 3), linalg.NewMatrix(150, 1),
				linalg.NewMatrix(150, 1)
			l.NextTo(next, []float64{1, 2, 3, 4})
			if err := l.MulBasisTo(context.Background(), prod, y); err != nil {
				t.Fatal(err)
			}
			l.NextTo(again, []float64{1, 2, 3, 4})
			if d := linalgtest.MaxDiff(next, again); d != 0 {
				t.Errorf("MaxCols %d: the next block changed by %g", most, d)
			}
			l.H.DenseTo(got)
			if most == 0 {
				h, ty = got, prod
				if l.Replayed() != 0 {
					t.Error("a stored basis was made again")
				}
				continue
			}
			if d := linalgtest.MaxDiff(got, h); d > 1e-6 {
				t.Errorf("MaxCols %d: H differs by %g", most, d)
			}
			if d := linalgtest.MaxDiff(prod, ty); d > 1e-5 {
				t.Errorf("MaxCols %d: T y differs by %g", most, d)
			}
			if b := l.Bytes(); b < 8*4*150*4 {
				t.Errorf("MaxCols %d: %d bytes", most, b)
			}
			if want := 4 - max(most, 0)/4; l.Replayed() != want {
				t.Errorf("MaxCols %d: %d passes made again, want %d", most, l.Replayed(), want)
			}
		}
	}
}

// TestLanczosInverse compares InverseTo with its definition.
func TestLanczosInverse(t *testing.T) {
	op, f := krylovCase(t, 150, 40, 1e-1)
	l := NewLanczos(op.e, 150, 4, LanczosOptions{})
	l.Start(op, f, rademacher(linalgtest.NewRand(4), 150, 4))
	steps(t, l, 5)
	var ldl BlockLDL
	if !ldl.Reset(l.H, 0) {
		t.Fatal("H is indefinite")
	}
	k := l.H.Dim()
	one, basis := linalg.NewMatrix(k, k), linalg.NewMatrix(150, k)
	for i := range k {
		one.Set(i, i, 1)
	}
	if err := l.MulBasisTo(context.Background(), basis, one); err != nil {
		t.Fatal(err)
	}
	src, got, want, c := linalgtest.GuardedMatrix(linalgtest.NewRand(6), 150, 2), linalg.NewMatrix(150, 2),
		linalg.NewMatrix(150, 2), linalg.NewMatrix(k, 2)
	if !l.InverseTo(got, src, &ldl) {
		t.Fatal("a stored basis was not used")
	}
	op.e.GemmTo(c, 1, basis, true, src, false, 0)
	want.CopyFrom(src)
	op.e.GemmTo(want, -1, basis, false, c, false, 1)
	ldl.SolveTo(c)
	op.e.GemmTo(want, 1, basis, false, c, false, 1)
	if d := linalgtest.MaxDiff(got, want); d > 1e-5 {
		t.Errorf("differs by %g", d)
	}
	spilled := NewLanczos(op.e, 150, 4, LanczosOptions{MaxCols: 4})
	spilled.Start(op, f, rademacher(linalgtest.NewRand(4), 150, 4))
	steps(t, spilled, 5)
	if spilled.InverseTo(got, src, &ldl) {
		t.Error("a basis that is not stored was used")
	}
}

func TestLanczosThreads(t *testing.T) {
	var first linalg.Matrix
	for _, threads := range []int{1, 3} {
		op, f := krylovCase(t, 700, 0, 1e-2)
		e, err := linalg.NewEngine(nil, threads)
		if err != nil {
			t.Fatal(err)
		}
		op.e, f.e = e, e
		l := NewLanczos(e, 700, 5, LanczosOptions{})
		l.Start(op, f, rademacher(linalgtest.NewRand(4), 700, 5))
		steps(t, l, 3)
		h := linalg.NewMatrix(l.H.Dim(), l.H.Dim())
		l.H.DenseTo(h)
		if first.Rows == 0 {
			first = h
		}
		if d := linalgtest.MaxDiff(h, first); d != 0 {
			t.Errorf("%d threads: H differs by %g", threads, d)
		}
	}
}

// plainOp has products and factors that allocate nothing.
type plainOp struct{ n int }

func (p plainOp) Dim() int { return p.n }
func (p plainOp) MulTo(_ context.Context, dst, src linalg.Matrix) error {
	for i := range p.n {
		for j, v := range src.Row(i) {
			dst.Set(i, j, float64(i+1)*v)
		}
	}
	return nil
}
func (p plainOp) LogDet() float64                    { return 0 }
func (p plainOp) FInvTo(dst, src linalg.Matrix)      { dst.CopyFrom(src) }
func (p plainOp) FInvTransTo(dst, src linalg.Matrix) { dst.CopyFrom(src) }
func (p plainOp) SolveTo(dst, src linalg.Matrix)     { dst.CopyFrom(src) }

func TestLanczosAllocations(t *testing.T) {
	e := linalgtest.NewEngine(t, nil, 0)
	op := plainOp{400}
	l := NewLanczos(e, 400, 3, LanczosOptions{})
	l.Start(op, op, rademacher(linalgtest.NewRand(1), 400, 3))
	steps(t, l, 2)
	if got := testing.AllocsPerRun(20, func() {
		if err := l.Step(context.Background()); err != nil {
			t.Fatal(err)
		}
	}); got != 0 {
		t.Errorf("a pass allocates %v times", got)
	}
}

// TestLogGrad compares Y Y' with G formed from all eigenvectors of H.
func TestLogGrad(t *testing.T) {
	for _, noise := range []float64{1, 1e-4} {
		op, f := krylovCase(t, 200, 20, noise)
		const s = 4
		l := NewLanczos(op.e, 200, s+1, LanczosOptions{Wide: true})
		l.Start(op, f, rademacher(linalgtest.NewRand(8), 200, s+1))
		steps(t, l, 20)
		k := l.H.Dim()
		h := linalg.NewMatrix(k, k)
		l.H.DenseTo(h)
		values, v := symEigen(h)
		want := denseLoewner(values, v.At, l.H.R0, s)
		trace := 0.0
		for c := range s {
			for i := range l.H.R0.Rows {
				trace += l.H.R0.At(i, c) * l.H.R0.At(i, c) / s
			}
		}
		for _, tol := range []float64{1e-2, 1e-4, 1e-8} {
			g := LogGrad{Engine: op.e}
			y, err := g.FactorTo(l.H, s, values[0], values[k-1], tol)
			if err != nil {
				t.Fatal(err)
			}
			got := linalg.NewMatrix(k, k)
			op.e.GemmTo(got, 1, y, false, y, true, 0)
			kept, diff := 0.0, 0.0
			for i := range k {
				for j := range k {
					kept += h.At(i, j) * got.At(i, j)
					diff += (got.At(i, j) - want.At(i, j)) * h.At(i, j)
				}
			}
			if math.Abs(kept-trace) > tol*trace || math.Abs(diff) > tol*trace {
				t.Errorf("noise %g, tol %g, R %d: tr GH is %g, want %g", noise, tol, y.Cols, kept, trace)
			}
			if most := int(float64(s) * (2 + math.Abs(math.Log10(tol)))); y.Cols > most {
				t.Errorf("noise %g, tol %g: %d columns, more than %d", noise, tol, y.Cols, most)
			}
			if d := linalgtest.MaxDiff(got, want); d > 4*tol*trace/values[0] {
				t.Errorf("noise %g, tol %g: G differs by %g", noise, tol, d)
			}
		}
	}
}

func denseLoewner(values []float64, v func(i, j int) float64, r0 linalg.Matrix, s int) linalg.Matrix {
	k := len(values)
	c := linalg.NewMatrix(k, s) // c_i in the eigenbasis
	for a := range k {
		for i := range s {
			for l := range r0.Rows {
				c.Data[a*s+i] += v(l, a) * r0.At(l, i)
			}
		}
	}
	inner := linalg.NewMatrix(k, k)
	for a := range k {
		for b := range k {
			g := 1 / values[a]
			// log1p keeps the divided difference of close values.
			if d := values[b] - values[a]; a != b && d != 0 {
				g = math.Log1p(d/values[a]) / d
			}
			for i := range s {
				inner.Data[a*k+b] += g * c.At(a, i) * c.At(b, i) / float64(s)
			}
		}
	}
	vm, half, out := linalg.NewMatrix(k, k), linalg.NewMatrix(k, k), linalg.NewMatrix(k, k)
	for i := range k {
		for j := range k {
			vm.Set(i, j, v(i, j))
		}
	}
	mul := func(dst, a, b linalg.Matrix, trans bool) {
		for i := range k {
			for j := range k {
				x := 0.0
				for l := range k {
					if trans {
						x += a.At(i, l) * b.At(j, l)
					} else {
						x += a.At(i, l) * b.At(l, j)
					}
				}
				dst.Set(i, j, x)
			}
		}
	}
	mul(half, vm, inner, false)
	mul(out, half, vm, true)
	return out
}

func TestCG(t *testing.T) {
	op, f := krylovCase(t, 180, 30, 1e-3)
	b := rademacher(linalgtest.NewRand(6), 180, 6)
	for i := range 180 {
		b.Set(i, 2, 0)                          // zero
		b.Set(i, 4, 3*b.At(i, 1))               // dependent
		b.Set(i, 5, b.At(i, 0)+1e-9*b.At(i, 3)) // almost equal
	}
	s := NewCG(op.e, 180, 6)
	x, back := linalg.NewMatrix(180, 6), linalg.NewMatrix(180, 6)
	passes := 0
	opt := CGOptions{Tol: 1e-7, Verify: true, OnPass: func(int, linalg.Matrix, linalg.Matrix,
		[]float64) bool {
		passes++
		return false
	}}
	res, err := s.Solve(context.Background(), op, f, x, b, opt)
	if err != nil || !res.Converged {
		t.Fatalf("not solved: %+v, %v", res, err)
	}
	if passes < 2 || passes > 180 {
		t.Errorf("%d passes", passes)
	}
	if err := op.MulTo(context.Background(), back, x); err != nil {
		t.Fatal(err)
	}
	if d := linalgtest.MaxDiff(back, b); d > 1e-5 {
		t.Errorf("Khat X differs from B by %g", d)
	}
	// From the solution there is nothing to do.
	opt.Warm = true
	if res, err = s.Solve(context.Background(), op, f, x, b, opt); err != nil || !res.Converged || res.Passes > 2 {
		t.Errorf("warm start: %+v, %v", res, err)
	}
	// A tolerance that rounding forbids ends with a flag, not with a loop.
	opt = CGOptions{Tol: 1e-30, Verify: true}
	if res, err = s.Solve(context.Background(), op, f, x, b, opt); err == nil && !res.Stagnated && !res.Converged {
		t.Errorf("impossible tolerance: %+v", res)
	}
}

func TestCGSmall(t *testing.T) {
	for _, n := range []int{1, 2, 3} {
		op, f := krylovCase(t, n, 0, 1e-6)
		s := NewCG(op.e, n, 5)
		x := linalg.NewMatrix(n, 5)
		b := rademacher(linalgtest.NewRand(6), n, 5)
		res, err := s.Solve(context.Background(), op, f, x, b, CGOptions{Tol: 1e-6, Verify: true})
		if err != nil || !res.Converged {
			t.Errorf("n %d: %+v, %v", n, res, err)
		}
	}
}

func BenchmarkLanczosStep(b *testing.B) {
	for _, cols := range []int{90, 900} {
		b.Run(fmt.Sprintf("n=10000/k=%d/p=9", cols), func(b *testing.B) {
			op := plainOp{10000}
			l := NewLanczos(linalgtest.NewEngine(b, nil, 0), 10000, 9, LanczosOptions{})
			w := rademacher(linalgtest.NewRand(1), 10000, 9)
			for range b.N {
				b.StopTimer()
				l.Start(op, op, w)
				steps(b, l, cols/9-1)
				b.StartTimer()
				steps(b, l, 1)
			}
		})
	}
}

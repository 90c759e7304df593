package precond

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"bbgp.dev/internal/comm"
	"bbgp.dev/internal/comm/commtest"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/internal/dissect"
	"bbgp.dev/linalg/linalgtest"
)

// Places makes scalarCov a linalg.Placed.
func (s scalarCov) Places() (x []float64, dim int) {
	for i := range s.x.Rows {
		x = append(x, s.x.Row(i)...)
	}
	return x, s.x.Cols
}

// placedCov is a covariance of places of a kind, with noise that differs from row to row.
func placedCov(kind, family string, n, dim int, noise float64) (scalarCov, []float64) {
	rng := linalgtest.NewRand(uint64(n + dim))
	x, s := linalg.NewMatrix(n, dim), make([]float64, n)
	for i := range n {
		row := x.Row(i)
		for k := range row {
			row[k] = 3 * rng.Float64()
		}
		switch {
		case kind == "repeats" && i%3 > 0:
			copy(row, x.Row(i-i%3))
		case kind == "one place":
			clear(row)
		case kind == "clusters":
			for k := range row {
				row[k] = float64(i%4*(k+1)) + .02*row[k]
			}
		case kind == "curve" && dim == 2:
			row[1] = math.Sin(4 * row[0])
		case kind == "far" && i%40 == 0:
			row[0] += 1e5 * float64(i)
		}
		s[i] = noise * (.5 + rng.Float64())
	}
	return scalarCov{x, scalarFamilies[family]}, s
}

// latentDense returns P of a latent by dense matrices: B Q⁻¹B' + D, where all latents are in one node, so that Q⁻¹ is K
// of them with the nugget.
func latentDense(t *testing.T, e *linalg.Engine, k scalarCov, noise []float64, p *Precond, m int) linalg.Matrix {
	t.Helper()
	l := p.latent
	x, dim := k.Places()
	rows, _ := dissect.Net(context.Background(), x, dim, randomOrder(l.n, 0), m)
	order := l.pair.Tree().Order()
	nugget := max(leastNugget, nuggetOfNoise*slices.Min(noise))
	b, dense := linalg.NewMatrix(l.n, l.m), linalg.NewMatrix(l.n, l.n)
	for c := range len(l.starts) - 1 {
		cell, near := l.order[l.starts[c]:l.starts[c+1]], l.pair.Tree().Clique(c)
		knn, krn := linalg.NewMatrix(l.near, l.near), linalg.NewMatrix(len(cell), l.near)
		for j, q := range near {
			for i, r := range near {
				knn.Set(i, j, k.at(int(rows[order[r]]), int(rows[order[q]])))
			}
			for i, r := range cell {
				krn.Set(i, j, k.at(int(r), int(rows[order[q]])))
			}
		}
		f, err := e.NewCholesky(knn)
		if err != nil {
			t.Fatal(err)
		}
		x := linalgtest.Transposed(krn)
		f.SolveTo(x, x)
		for i, r := range cell {
			for j, q := range near {
				b.Set(int(r), int(order[q]), x.At(j, i))
			}
			for j, s := range cell {
				v := k.at(int(r), int(s))
				for a := range near {
					v -= krn.At(i, a) * x.At(a, j)
				}
				dense.Set(int(r), int(s), v)
			}
			dense.Data[int(r)*dense.Stride+int(r)] += noise[r]
		}
	}
	kuu, bk := linalg.NewMatrix(l.m, l.m), linalg.NewMatrix(l.n, l.m)
	for i, r := range rows {
		for j, s := range rows {
			kuu.Set(i, j, k.at(int(r), int(s)))
		}
		kuu.Set(i, i, kuu.At(i, i)+nugget)
	}
	e.GemmTo(bk, 1, b, false, kuu, false, 0)
	e.GemmTo(dense, 1, bk, false, b, true, 1)
	return dense
}

// P is B Q⁻¹B' + D.
func TestLatentDense(t *testing.T) {
	e := linalgtest.NewEngine(t, nil, 2)
	for _, c := range []struct {
		n, dim, m int
		noise     float64
	}{{300, 2, 60, .05}, {300, 2, 12, .01}, {200, 2, 90, .3}, {150, 1, 30, .1},
		{30, 2, 1, .1}, {1, 2, 1, .1}, {60, 3, 20, .1}} {
		k, noise := placedCov("uniform", "matern32", c.n, c.dim, c.noise)
		p := newPrecond(t, e, k, noise, Options{Latents: c.m})
		dense := latentDense(t, e, k, noise, p, c.m)
		back := linalg.NewMatrix(c.n, c.n)
		p.SolveTo(back, dense)
		for i := range c.n {
			back.Data[i*c.n+i]--
		}
		f, err := e.NewCholesky(dense)
		if err != nil {
			t.Fatal(err)
		}
		if d := linalgtest.MaxDiff(back, linalg.NewMatrix(c.n, c.n)); !(d < 1e-7) {
			t.Errorf("%+v: P⁻¹P is off by %g", c, d)
		}
		if d := math.Abs(f.LogDet() - p.LogDet()); !(d < 1e-8*float64(c.n)) {
			t.Errorf("%+v: log det P %g, want %g", c, p.LogDet(), f.LogDet())
		}
		if p.Latents() < c.m*3/4 || p.Latents() > c.m*5/4 || p.Rank() != 0 || p.Neighbours() != 0 || p.NodeIsOne() {
			t.Errorf("%+v: %d latents", c, p.Latents())
		}
	}
}

// On all kinds of places F'⁻¹F⁻¹ = P⁻¹, log det P is that of F, and P is near K̂.
func TestLatentFactor(t *testing.T) {
	e := linalgtest.NewEngine(t, nil, 2)
	for _, kind := range []string{"uniform", "repeats", "one place", "clusters", "curve", "far"} {
		for family := range scalarFamilies {
			if testing.Short() && kind != "clusters" && family != "matern32" {
				continue
			}
			const n = 240
			k, noise := placedCov(kind, family, n, 2, 1e-2)
			p := newPrecond(t, e, k, noise, Options{Latents: 110})
			unit := linalg.NewMatrix(n, n)
			for i := range n {
				unit.Set(i, i, 1)
			}
			f, fTrans, solve := linalg.NewMatrix(n, n), unit.Clone(), linalg.NewMatrix(n, n)
			p.FInvTo(f, unit)
			p.FInvTransTo(fTrans, fTrans)
			p.SolveTo(solve, unit)
			name, size := kind+" "+family, solve.At(0, 0)
			if d := linalgtest.MaxDiff(f, linalgtest.Transposed(fTrans)); !(d < 1e-10*size) {
				t.Errorf("%s: F⁻¹ and F'⁻¹ differ by %g", name, d)
			}
			both := linalg.NewMatrix(n, n)
			e.GemmTo(both, 1, f, true, f, false, 0)
			if d := linalgtest.MaxDiff(both, solve); !(d < 1e-8*size) {
				t.Errorf("%s: F'⁻¹F⁻¹ and P⁻¹ differ by %g of %g", name, d, size)
			}
			c, err := e.NewCholesky(both)
			if err != nil {
				t.Fatal(err)
			}
			if d := math.Abs(c.LogDet() + p.LogDet()); !(d < 1e-6*n) {
				t.Errorf("%s: log det P %g, by F %g", name, p.LogDet(), -c.LogDet())
			}
			// tr(P⁻¹K̂) = n(1 + a little) for a P near K̂.
			trace := 0.0
			for i := range n {
				for j := range n {
					trace += solve.At(i, j) * k.at(i, j)
				}
				trace += solve.At(i, i) * noise[i]
			}
			if !(math.Abs(trace/n-1) < .15) {
				t.Errorf("%s: tr P⁻¹K̂ is %g times n", name, trace/n)
			}
		}
	}
}

// P has the same bits for every number of threads and ranks; each rank has its cells only.
func TestLatentOverRanks(t *testing.T) {
	const n = 900
	compute := func(c comm.Comm, threads int) ([]float64, error) {
		e, err := linalg.NewEngine(nil, threads)
		if err != nil {
			return nil, err
		}
		e.Comm = c
		k, noise := placedCov("uniform", "matern32", n, 2, .01)
		p, err := New(context.Background(), e, k, noise, Options{Latents: 230})
		if err != nil {
			return nil, err
		}
		if l := p.latent; c != nil && len(l.u) > (n*2/e.Ranks()+200)*l.nearWidth {
			return nil, fmt.Errorf("%d entries of U are held", len(l.u))
		}
		x := linalgtest.GuardedMatrix(linalgtest.NewRand(3), n, 9)
		out := []float64{p.LogDet(), float64(p.Latents())}
		for _, apply := range []func(dst, src linalg.Matrix){p.SolveTo, p.FInvTo, p.FInvTransTo, p.On(e).SolveTo} {
			y := linalg.NewMatrix(n, 9)
			apply(y, x)
			out = append(out, y.Data...)
		}
		return out, nil
	}
	want, err := compute(nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := compute(nil, 4); err != nil || !slices.Equal(got, want) {
		t.Errorf("four threads give other bits than one (%v)", err)
	}
	for _, ranks := range []int{2, 3, 7} {
		err := commtest.Run(ranks, func(c comm.Comm) error {
			got, err := compute(c, 2)
			if err == nil && !slices.Equal(got, want) {
				err = errors.New("other bits than alone")
			}
			return err
		})
		if err != nil {
			t.Errorf("%d ranks: %v", ranks, err)
		}
	}
}

// Noise that rounding hides is refused by name, an end of the context ends the work.
func TestLatentErrors(t *testing.T) {
	e := linalgtest.NewEngine(t, nil, 2)
	k, noise := placedCov("repeats", "gaussian", 300, 2, .1)
	ctx, cancel := context.WithCancel(context.Background())
	bad := slices.Clone(noise)
	for i := range bad {
		bad[i] = 0
	}
	var pd *linalg.NotPDError
	if _, err := New(ctx, e, k, bad, Options{Latents: 50}); !errors.As(err, &pd) || pd.Pivot < 0 || pd.Pivot >= 300 {
		t.Errorf("no noise: %v", err)
	}
	bad[7] = math.Inf(1)
	if _, err := New(ctx, e, k, bad, Options{Latents: 50}); !errors.As(err, &pd) || pd.Pivot != 7 {
		t.Errorf("infinite noise: %v", err)
	}
	cancel()
	if _, err := New(ctx, e, k, noise, Options{Latents: 50}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
}

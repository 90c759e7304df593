package precond

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// Of what the latents nearest to a cell leave there, leftOf returns the largest eigenvalue, in units of the noise.
func TestLeftOf(t *testing.T) {
	e := linalgtest.NewEngine(t, nil, 1)
	for _, family := range []string{"matern12", "matern32"} {
		k, noise := placedCov("uniform", family, 60, 2, .05)
		cell, rows, net := []int32{3, 9, 30, 31, 40}, []int32{3, 9, 30, 31, 40, 2, 7, 20, 55, 59}, []int32{9, 5, 2, 7}
		got := leftOf(e, k, noise, cell, rows, slices.Clone(net))
		// K - K_rn K_nn⁻¹ K_nr by gonum
		var knn, krn, krr mat.Dense
		fill := func(m *mat.Dense, r, c []int32) {
			*m = *mat.NewDense(len(r), len(c), nil)
			for i, a := range r {
				for j, b := range c {
					m.Set(i, j, k.at(int(a), int(b)))
				}
			}
		}
		var latents []int32
		for _, p := range net {
			latents = append(latents, rows[p])
		}
		fill(&knn, latents, latents)
		fill(&krn, cell, latents)
		fill(&krr, cell, cell)
		var x, left mat.Dense
		if err := x.Solve(&knn, krn.T()); err != nil {
			t.Fatal(err)
		}
		left.Mul(&krn, &x)
		left.Sub(&krr, &left)
		sym := mat.NewSymDense(len(cell), nil)
		for i, a := range cell {
			for j, b := range cell[:i+1] {
				sym.SetSym(i, j, left.At(i, j)/math.Sqrt(noise[a]*noise[b]))
			}
		}
		var eig mat.EigenSym
		if !eig.Factorize(sym, false) {
			t.Fatal("no eigenvalues")
		}
		if want := slices.Max(eig.Values(nil)); !(math.Abs(got-want) < .02*want) {
			t.Errorf("%s: %g, want %g", family, got, want)
		}
	}
}

// The share of a pilot grows with the rows of a latent, and as the noise falls; it is the same for the same seed.
func TestLatentPilot(t *testing.T) {
	e, ctx := linalgtest.NewEngine(t, nil, 2), context.Background()
	rows := []int{3, 6, 12, 40}
	for _, family := range []string{"matern12", "matern32", "gaussian"} {
		const n = 360
		k, noise := placedCov("uniform", family, n, 2, .02)
		shares, err := LatentPilot(ctx, e, k, noise, rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		again, err := LatentPilot(ctx, e, k, noise, rows, 1)
		if err != nil || !slices.Equal(shares, again) {
			t.Errorf("%s: %v again %v (%v)", family, shares, again, err)
		}
		if !slices.IsSorted(shares) || len(shares) != len(rows) {
			t.Errorf("%s: shares %v of %v rows", family, shares, rows)
		}
		quiet := slices.Clone(noise)
		for i := range quiet {
			quiet[i] /= 4
		}
		more, err := LatentPilot(ctx, e, k, quiet, rows, 1)
		for i := range shares {
			if err != nil || !(math.Abs(more[i]/shares[i]-4) < 1e-6) && shares[i] > 1e-9 {
				t.Errorf("%s: a quarter of the noise gives %v, not four times %v (%v)", family, more, shares, err)
			}
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	k, noise := placedCov("uniform", "matern12", 50, 2, .1)
	if _, err := LatentPilot(ended, e, k, noise, rows, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
}

// Where K of the latents has no factor, a pilot says that they tell nothing, and P names a row.
func TestLatentsWithoutFactor(t *testing.T) {
	e, ctx := linalgtest.NewEngine(t, nil, 2), context.Background()
	k, noise := placedCov("uniform", "matern12", 200, 2, .1)
	k.cov = func(r2 float64) float64 { return 1 + r2 }
	shares, err := LatentPilot(ctx, e, k, noise, []int{4}, 1)
	if err != nil || !math.IsInf(shares[0], 1) {
		t.Errorf("shares %v, %v", shares, err)
	}
	var pd *linalg.NotPDError
	if _, err := New(ctx, e, k, noise, Options{Latents: 40}); !errors.As(err, &pd) || pd.Pivot < 0 || pd.Pivot >= 200 {
		t.Errorf("P: %v", err)
	}
	b := &latentBuild{latents: []int32{17, 5}}
	err = b.ofRows(&linalg.NotPDError{Pivot: 1, Value: -2})
	if !errors.As(err, &pd) || pd.Pivot != 5 || pd.Value != -2 {
		t.Errorf("the row of a latent: %v", err)
	}
	if err := b.ofRows(context.Canceled); err != context.Canceled {
		t.Errorf("another error: %v", err)
	}
	k.cov = func(float64) float64 { return 0 }
	if shares, err := LatentPilot(ctx, e, k, noise, []int{4}, 1); err != nil || !math.IsInf(shares[0], 1) {
		t.Errorf("of nothing: %v, %v", shares, err)
	}
}

// Bytes says what latents hold: some floats a row and latent, and no n times m.
func TestLatentBytes(t *testing.T) {
	e := linalgtest.NewEngine(t, nil, 2)
	k, noise := placedCov("uniform", "matern32", 400, 2, .1)
	p := newPrecond(t, e, k, noise, Options{Latents: 100})
	x := linalg.NewMatrix(400, 4)
	p.SolveTo(x, x)
	l := p.latent
	least := int64(8*(len(l.w)+len(l.u)) + 4*400)
	if b := p.Bytes(); b < least || b > 8*400*(100+400) {
		t.Errorf("%d bytes, at least %d are in W and U", b, least)
	}
}

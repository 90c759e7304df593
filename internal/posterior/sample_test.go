package posterior

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// moments2 returns the mean and the covariance of the columns of v.
func moments2(v linalg.Matrix) (mean []float64, cov linalg.Matrix) {
	mean, cov = make([]float64, v.Rows), linalg.NewMatrix(v.Rows, v.Rows)
	for i := range v.Rows {
		for _, x := range v.Row(i) {
			mean[i] += x / float64(v.Cols)
		}
	}
	for i := range v.Rows {
		for j := range v.Rows {
			s := 0.0
			for c, x := range v.Row(i) {
				s += (x - mean[i]) * (v.At(j, c) - mean[j])
			}
			cov.Set(i, j, s/float64(v.Cols))
		}
	}
	return mean, cov
}

// TestSampleMoments: mean and covariance of many draws against the dense
// posterior and the prior, for exact draws and for features, dense and iterative.
func TestSampleMoments(t *testing.T) {
	ctx, d := context.Background(), gptest.RandomTable(120, 3, 4)
	d.NoiseExtra = nil
	xs := gptest.RandomTable(6, 3, 9).X
	copy(xs.Row(5), xs.Row(4))  // the same place twice
	copy(xs.Row(3), d.X.Row(7)) // a training row
	for j := range 3 {
		xs.Set(2, j, 30) // far from all data
	}
	for _, kernel := range []string{"matern12", "matern32", "matern52", "gaussian"} {
		p := gp.Params{Kernel: kernel, Mean: 0.2, Variance: 1.5, Noise: 0.05,
			Lengthscales: []float64{1, 2, math.Inf(1)}}
		dense, iter := pair(t, d, p, PrecondSpec{Neighbours: 16})
		for _, c := range []struct {
			m   *Posterior
			opt DrawOptions
		}{
			{dense, DrawOptions{Features: 4096}}, {iter, DrawOptions{Features: 4096}},
			{iter, DrawOptions{Features: -3000}},
			{dense, DrawOptions{Prior: true, Features: 4096}}, {dense, DrawOptions{Prior: true, Features: -3000}},
		} {
			if kernel != "matern32" && (c.opt.Features > 0 || !c.opt.Prior) {
				continue // nothing else knows of the kernel
			}
			c.opt.Draws, c.opt.Seed, c.opt.Tol = 4000, 5, MeanTol
			s, err := c.m.Draw(ctx, gptest.Engine(t), xs, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if s.Exact != (c.opt.Features > 0) || s.Exact != (s.CovRMS == 0) || s.CovMax > 0.1 {
				t.Errorf("%s %+v: exact %v, covariance off by %v, at most %v", kernel, c.opt, s.Exact, s.CovRMS,
					s.CovMax)
			}
			mean, cov := sampleTruth(t, dense, xs, c.opt)
			gotMean, gotCov := moments2(s.Values)
			slack := p.Variance * (0.08 + s.CovMax) // 4 standard errors
			for i := range xs.Rows {
				if e := math.Abs(gotMean[i] - mean[i]); e > 0.08*math.Sqrt(cov.At(i, i))+0.01 {
					t.Errorf("%s %+v, row %d: mean %v, want %v", kernel, c.opt, i, gotMean[i], mean[i])
				}
				for j := range xs.Rows {
					if e := math.Abs(gotCov.At(i, j) - cov.At(i, j)); e > slack {
						t.Errorf("%s %+v: cov(%d, %d) = %v, want %v", kernel, c.opt, i, j, gotCov.At(i, j),
							cov.At(i, j))
					}
				}
			}
			// Beside data the posterior is narrow, and the draws must be.
			if v := cov.At(3, 3); !c.opt.Prior && math.Abs(gotCov.At(3, 3)-v) > 0.15*v {
				t.Errorf("%s %+v: variance %v beside data, want %v", kernel, c.opt, gotCov.At(3, 3), v)
			}
		}
	}
}

// sampleTruth returns the mean and covariance that draws must have, by dense algebra.
func sampleTruth(t *testing.T, m *Posterior, xs linalg.Matrix, opt DrawOptions) (mean []float64, cov linalg.Matrix) {
	t.Helper()
	ctx, e, n, k := context.Background(), gptest.Engine(t), m.N(), xs.Rows
	if err := m.prepare(ctx, e, true); err != nil {
		t.Fatal(err)
	}
	op, err := m.extended(xs)
	if err != nil {
		t.Fatal(err)
	}
	full := linalg.NewMatrix(n+k, n+k)
	if err := op.DenseTo(ctx, full); err != nil {
		t.Fatal(err)
	}
	cov = full.Sub(n, n+k, n, n+k).Clone()
	mean = make([]float64, k)
	for i := range mean {
		mean[i] = m.params.Mean
	}
	if opt.Prior {
		return mean, cov
	}
	cross := full.Sub(0, n, n, n+k).Clone()
	white := cross.Clone()
	m.chol.SolveLTo(white, white)
	e.GemmTo(cov, -1, white, true, white, false, 1)
	for i := range k {
		for r := range n {
			mean[i] += cross.At(r, i) * m.weights[r]
		}
	}
	return mean, cov
}

// TestFewDraws: of a table of hardly more rows than a block of draws has columns, where conjugate gradients may not
// begin, draws are solved for all the same.
func TestFewDraws(t *testing.T) {
	ctx, e := context.Background(), gptest.Engine(t)
	d := gptest.RandomTable(40, 2, 4)
	d.NoiseExtra, d.NoiseScale = nil, nil
	xs := gptest.RandomTable(20, 2, 9).X
	p := gp.Params{Kernel: "matern12", Variance: 0.117, Noise: 6e-4, Lengthscales: []float64{0.12, 0.09}}
	dense, _ := pair(t, d, p, PrecondSpec{Rank: 28})
	want, err := dense.Predict(ctx, e, xs, Options{SD: true, SDTol: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	const draws = 400
	for seed := range uint64(40) {
		m := New(d, p, PrecondSpec{Rank: 28, Seed: seed}, nil, Weights{})
		got, err := m.Draw(ctx, e, xs, DrawOptions{Draws: draws, Seed: seed, Features: 4096, Tol: MeanTol})
		if err != nil {
			t.Fatal(err)
		}
		mean, cov := moments2(got.Values)
		for i := range mean {
			if z := (mean[i] - want.Mean[i]) * math.Sqrt(draws/want.Hi[i]); math.Abs(z) > 6 {
				t.Errorf("seed %d, row %d: mean %g for %g", seed, i, mean[i], want.Mean[i])
			}
			if q := cov.At(i, i) / want.Hi[i]; math.Abs(q-1) > 6*math.Sqrt(2.0/draws) {
				t.Errorf("seed %d, row %d: %.3f times the variance", seed, i, q)
			}
		}
		if got.SolveError > MeanTol {
			t.Errorf("seed %d: solved to %g", seed, got.SolveError)
		}
	}
}

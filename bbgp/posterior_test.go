package bbgp

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

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
	ctx, d := context.Background(), randomData(120, 3, 4)
	d.NoiseExtra = nil
	xs := randomData(6, 3, 9).X
	copy(xs.Row(5), xs.Row(4))  // the same place twice
	copy(xs.Row(3), d.X.Row(7)) // a training row
	for j := range 3 {
		xs.Set(2, j, 30) // far from all data
	}
	for _, kernel := range []string{"matern12", "matern32", "matern52", "gaussian"} {
		p := Params{Kernel: kernel, Mean: 0.2, Variance: 1.5, Noise: 0.05, Lengthscales: []float64{1, 2, math.Inf(1)}}
		dense, iter := pairOfModels(t, d, p, recipe{Neighbours: 16})
		for _, c := range []struct {
			m   *Model
			opt SampleOptions
		}{
			{dense, SampleOptions{}}, {iter, SampleOptions{}}, {iter, SampleOptions{Features: -3000}},
			{dense, SampleOptions{Prior: true}}, {dense, SampleOptions{Prior: true, Features: -3000, Noise: true}},
		} {
			if kernel != "matern32" && (c.opt.Features == 0 || !c.opt.Prior) {
				continue // nothing else knows of the kernel
			}
			c.opt.Draws, c.opt.Seed = 4000, 5
			s, err := c.m.Sample(ctx, gptest.Engine(t), xs, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if s.Exact != (c.opt.Features == 0) || s.Exact != (s.CovRMS == 0) || s.CovMax > 0.1 {
				t.Errorf("%s %+v: exact %v, covariance off by %v, at most %v", kernel, c.opt, s.Exact, s.CovRMS,
					s.CovMax)
			}
			mean, cov := sampleTruth(t, dense, xs, c.opt)
			gotMean, gotCov := moments2(s.Values)
			scale := dense.Scaling.YScale
			slack := p.Variance * (0.08 + s.CovMax) * scale * scale // 4 standard errors
			for i := range xs.Rows {
				if e := math.Abs(gotMean[i] - mean[i]); e > 0.08*math.Sqrt(cov.At(i, i))+0.01*scale {
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

// sampleTruth returns the mean and covariance that draws must have, in the units
// of the data, by dense algebra.
func sampleTruth(t *testing.T, m *Model, xs linalg.Matrix, opt SampleOptions) (mean []float64, cov linalg.Matrix) {
	t.Helper()
	ctx, e, n, k := context.Background(), gptest.Engine(t), m.N(), xs.Rows
	p, err := m.prepare(ctx, e, true)
	if err != nil {
		t.Fatal(err)
	}
	std := linalg.NewMatrix(k, xs.Cols)
	m.Scaling.XTo(std, xs)
	op, err := m.extended(p, std)
	if err != nil {
		t.Fatal(err)
	}
	full := linalg.NewMatrix(n+k, n+k)
	if err := op.DenseTo(ctx, full); err != nil {
		t.Fatal(err)
	}
	cov = full.Sub(n, n+k, n, n+k).Clone()
	mean = make([]float64, k)
	if !opt.Prior {
		cross := full.Sub(0, n, n, n+k).Clone()
		white := cross.Clone()
		p.chol.SolveLTo(white, white)
		e.GemmTo(cov, -1, white, true, white, false, 1)
		for i := range k {
			for r := range n {
				mean[i] += cross.At(r, i) * m.weights[r]
			}
		}
	}
	s := m.Scaling.YScale
	for i := range k {
		mean[i] = m.Scaling.YMean + s*(mean[i]+m.Parameters.Mean)
		for j := range k {
			v := cov.At(i, j)
			if i == j && opt.Noise {
				v += m.Parameters.Noise
			}
			cov.Set(i, j, s*s*v)
		}
	}
	return mean, cov
}

// TestSampleRepeats: a place that is asked for twice has one value; the seed
// decides everything; what is not there is an error.
func TestSampleRepeats(t *testing.T) {
	ctx := context.Background()
	m, d := smallModel(t, 60, Options{MaxSteps: 3, PrefitRows: -1})
	xs := linalg.NewMatrix(2, 3)
	copy(xs.Row(0), d.X.Row(3))
	copy(xs.Row(1), d.X.Row(3))
	a, err := m.Sample(ctx, nil, xs, SampleOptions{Draws: 3, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for c := range 3 {
		if math.Abs(a.Values.At(0, c)-a.Values.At(1, c)) > 1e-6*m.Scaling.YScale {
			t.Errorf("draw %d: %v and %v at one place", c, a.Values.At(0, c), a.Values.At(1, c))
		}
	}
	b, _ := m.Sample(ctx, nil, xs, SampleOptions{Draws: 3, Seed: 1})
	other, _ := m.Sample(ctx, nil, xs, SampleOptions{Draws: 3, Seed: 2})
	if !slices.Equal(a.Values.Data, b.Values.Data) || slices.Equal(a.Values.Data, other.Values.Data) {
		t.Error("draws do not follow the seed")
	}
	var bad *OptionError
	if _, err := m.Sample(ctx, nil, xs, SampleOptions{Draws: -1}); !errors.As(err, &bad) {
		t.Errorf("error %v", err)
	}
	var de *DataError
	if _, err := m.Sample(ctx, nil, linalg.NewMatrix(1, 2), SampleOptions{}); !errors.As(err, &de) {
		t.Errorf("error %v", err)
	}
	if s, err := m.Sample(ctx, nil, linalg.NewMatrix(0, 3), SampleOptions{}); err != nil || s.Values.Rows != 0 {
		t.Errorf("no rows: %v", err)
	}
}

// TestCase25SamplingWhiteLike: where rows are many lengthscales apart, draws of the
// prior are white: standard deviation 1, no correlation of neighbours (a sampler
// that adds jitter or works with too low a rank gives 0.02 here).
func TestCase25SamplingWhiteLike(t *testing.T) {
	const n, draws = 10000, 20
	x, y := linalg.NewMatrix(50, 1), make([]float64, 50)
	for i := range y {
		x.Data[i], y[i] = float64(i), math.Sin(float64(i))
	}
	p := Params{Kernel: "matern32", Variance: 1, Noise: 0.1, Lengthscales: []float64{1e-3}}
	m := &Model{Parameters: p, Scaling: NewScaling(&Data{X: x, Y: y}, true), Names: []string{"x"}, Target: "y", x: x,
		y: y, recipe: recipe{Dense: true}}
	xs := linalg.NewMatrix(n, 1)
	for i := range n {
		xs.Data[i] = float64(i)
	}
	s, err := m.Sample(context.Background(), gptest.Engine(t), xs, SampleOptions{Draws: draws, Prior: true, Seed: 25})
	if err != nil {
		t.Fatal(err)
	}
	square, next := 0.0, 0.0
	for i := range n {
		for c, v := range s.Values.Row(i) {
			square += v * v / (n * draws)
			if i > 0 {
				next += v * s.Values.At(i-1, c) / (n * draws)
			}
		}
	}
	if sd := math.Sqrt(square); math.Abs(sd-1) > 0.02 || math.Abs(next/square) > 0.02 {
		t.Errorf("standard deviation %.4f, correlation of neighbours %.4f", sd, next/square)
	}
	if s.Exact || s.CovRMS > 0.03 || s.CovRMS == 0 {
		t.Errorf("exact %v, covariance off by %v", s.Exact, s.CovRMS)
	}
}

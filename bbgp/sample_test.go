package bbgp

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/internal/posterior"
	"bbgp.dev/linalg"
)

// TestSampleRepeats: a place that is asked for twice has one value; the seed
// decides everything; what is not there is an error.
func TestSampleRepeats(t *testing.T) {
	ctx := context.Background()
	m, d := smallModel(t, 60, Options{MaxSteps: 3, PrefitRows: -1})
	xs := linalg.NewMatrix(2, 3)
	copy(xs.Row(0), d.X.Row(3))
	copy(xs.Row(1), d.X.Row(3))
	a, err := m.Sample(ctx, xs, SampleOptions{Draws: 3, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for c := range 3 {
		if math.Abs(a.Values.At(0, c)-a.Values.At(1, c)) > 1e-6*m.Scaling.YScale {
			t.Errorf("draw %d: %v and %v at one place", c, a.Values.At(0, c), a.Values.At(1, c))
		}
	}
	b, _ := m.Sample(ctx, xs, SampleOptions{Draws: 3, Seed: 1})
	other, _ := m.Sample(ctx, xs, SampleOptions{Draws: 3, Seed: 2})
	if !slices.Equal(a.Values.Data, b.Values.Data) || slices.Equal(a.Values.Data, other.Values.Data) {
		t.Error("draws do not follow the seed")
	}
	var bad *OptionError
	if _, err := m.Sample(ctx, xs, SampleOptions{Draws: -1}); !errors.As(err, &bad) {
		t.Errorf("error %v", err)
	}
	var de *DataError
	if _, err := m.Sample(ctx, linalg.NewMatrix(1, 2), SampleOptions{}); !errors.As(err, &de) {
		t.Errorf("error %v", err)
	}
	if s, err := m.Sample(ctx, linalg.NewMatrix(0, 3), SampleOptions{}); err != nil || s.Values.Rows != 0 {
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
	d := &Data{X: x, Y: y}
	m := modelOf(d, gp.Identity(d.X.Cols), p, posterior.PrecondSpec{Dense: true})
	xs := linalg.NewMatrix(n, 1)
	for i := range n {
		xs.Data[i] = float64(i)
	}
	s, err := m.Sample(context.Background(), xs, SampleOptions{Draws: draws,
		Prior: true, Seed: 25, Engine: gptest.Engine(t)})
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

// TestFewRowsDraws: where rows are few, draws have the law that predictions state: shares of them lie in
// its central intervals. Without the factor of a draw 97 to 99.5 % of them are inside of 95 %.
func TestFewRowsDraws(t *testing.T) {
	const draws = 3000
	for _, c := range []struct {
		design, n int
		robust    bool
	}{{2, 6, false}, {3, 12, false}, {0, 9, false}, {11, 7, false}, {7, 20, false}, {3, 30, true}} {
		g := &fewDesigns[c.design]
		rng := rand.New(rand.NewPCG(uint64(c.design), uint64(c.n)))
		m, err := Fit(t.Context(), g.draw(c.n, rng), Options{Engine: gptest.Engine(t)})
		if err != nil {
			t.Fatal(err)
		}
		if c.robust {
			m.Result.NoiseDF = 4
		}
		test := g.draw(5, rng)
		p, err := m.Predict(t.Context(), test.X, PredictOptions{SD: true, NoiseExtra: test.NoiseExtra})
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Sample(t.Context(), test.X, SampleOptions{Draws: draws, Noise: true, NoiseExtra: test.NoiseExtra})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []float64{0.5, 0.95} {
			share := 0.0
			for i := range test.Y {
				half := p.Laws[i].HalfWidth(want)
				for _, v := range s.Values.Row(i) {
					if math.Abs(v-p.Mean[i]) <= half {
						share += 1.0 / float64(draws*len(test.Y))
					}
				}
			}
			// Rows of a draw have its factor in common: draws alone count.
			if off := math.Abs(share - want); off > 4*math.Sqrt(want*(1-want)/draws) {
				t.Errorf("%s, %d rows, df %.3g: %.1f %% of draws in the central %g", g.name, c.n, m.Result.DF,
					100*share, want)
			}
		}
	}
}

// TestOneRowDraws: a model of one row does not know how far off others are.
func TestOneRowDraws(t *testing.T) {
	m, err := Fit(t.Context(), &Data{X: linalg.NewMatrix(1, 1), Y: []float64{5}}, Options{Engine: gptest.Engine(t)})
	if err != nil {
		t.Fatal(err)
	}
	var bad *DataError
	if s, err := m.Sample(t.Context(), linalg.NewMatrix(2, 1), SampleOptions{}); !errors.As(err, &bad) {
		t.Errorf("draws %v, error %v", s, err)
	}
}

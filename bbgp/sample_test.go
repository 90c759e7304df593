package bbgp

import (
	"context"
	"errors"
	"math"
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

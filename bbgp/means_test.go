package bbgp

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/linalg"
)

// Means at many places by trees are those of the dense product within MeanError.
func TestManyMeans(t *testing.T) {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(3, 4))
	d := &Data{X: linalg.NewMatrix(4500, 2), Y: make([]float64, 4500)}
	for i := range d.Y {
		d.X.Set(i, 0, rng.Float64())
		d.X.Set(i, 1, 2*rng.Float64())
		d.Y[i] = math.Sin(9*d.X.At(i, 0)) + 0.1*rng.NormFloat64()
	}
	m, err := At(ctx, d, Params{Kernel: "matern32", Variance: 1, Noise: 0.02, Lengthscales: []float64{0.5, 0.7}},
		Options{})
	if err != nil {
		t.Fatal(err)
	}
	xs := linalg.NewMatrix(4000, 2)
	for i := range xs.Data {
		xs.Data[i] = 2 * rng.Float64()
	}
	few, err := m.Predict(ctx, nil, xs.Sub(0, 1500, 0, 2), PredictOptions{})
	if err != nil || m.prep.source != nil {
		t.Fatal(err, m.prep.source)
	}
	many, err := m.Predict(ctx, nil, xs, PredictOptions{})
	if err != nil || m.prep.source == nil {
		t.Fatal(err)
	}
	if extra := many.MeanError - few.MeanError; !(extra > 0 && extra < 2*formMean) {
		t.Errorf("errors of means: %g and %g", few.MeanError, many.MeanError)
	}
	for i, v := range few.Mean {
		if off := math.Abs(v-many.Mean[i]) / m.Scaling.YScale; off > 2*formMean {
			t.Fatalf("row %d: %v and %v", i, v, many.Mean[i])
		}
	}
}

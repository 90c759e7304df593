package posterior

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// Means at many places by trees are those of the dense product within MeanError.
func TestManyMeans(t *testing.T) {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(3, 4))
	d := &gp.Table{X: linalg.NewMatrix(4500, 2), Y: make([]float64, 4500)}
	for i := range d.Y {
		d.X.Set(i, 0, rng.Float64())
		d.X.Set(i, 1, 2*rng.Float64())
		d.Y[i] = math.Sin(9*d.X.At(i, 0)) + 0.1*rng.NormFloat64()
	}
	p := gp.Params{Kernel: "matern32", Variance: 1, Noise: 0.02, Lengthscales: []float64{0.15, 0.4}}
	m := New(d, p, PrecondSpec{Neighbours: 32}, nil, Weights{MeanError: math.Inf(1)})
	xs := linalg.NewMatrix(4000, 2)
	for i := range xs.Data {
		xs.Data[i] = 2 * rng.Float64()
	}
	few, err := m.Predict(ctx, nil, xs.Sub(0, 1500, 0, 2), Options{})
	if err != nil || m.source != nil {
		t.Fatal(err, m.source)
	}
	many, err := m.Predict(ctx, nil, xs, Options{})
	if err != nil || m.source == nil {
		t.Fatal(err)
	}
	if extra := many.MeanError - few.MeanError; !(extra > 0 && extra < 2*formMean) {
		t.Errorf("errors of means: %g and %g", few.MeanError, many.MeanError)
	}
	for i, v := range few.Mean {
		if off := math.Abs(v - many.Mean[i]); off > 2*formMean {
			t.Fatalf("row %d: %v and %v", i, v, many.Mean[i])
		}
	}
}

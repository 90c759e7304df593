package posterior

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// hiddenLaw is n rows of two inputs that are nearly one, whose small difference is the target.
func hiddenLaw(n int) *gp.Table {
	rng := rand.New(rand.NewPCG(3, 3))
	d := &gp.Table{X: linalg.NewMatrix(n, 2), Y: make([]float64, n)}
	for i := range n {
		level, c := float64(rng.IntN(9)-4)/2.6, rng.Float64()-0.5
		d.X.Set(i, 0, level)
		d.X.Set(i, 1, level+0.02*(level+2)*c)
		d.Y[i] = 3.4 * c
	}
	return d
}

// TestRescue: where conjugate gradients turn in rounding, a dense factor finds weights that
// predict; deviations are found as before.
func TestRescue(t *testing.T) {
	ctx, e := context.Background(), gptest.Engine(t)
	d := hiddenLaw(900)
	p := gp.Params{Kernel: "matern32", Variance: 1e6, Noise: 1e-6, Lengthscales: []float64{1.5, 50}}
	m := New(d, p, PrecondSpec{Neighbours: 8}, nil, Weights{MeanError: math.Inf(1)})
	if err := m.Refine(ctx, e, MeanTol); err != nil {
		t.Fatal(err)
	}
	before := m.Weights().MeanError
	if before <= hopelessMean {
		t.Fatalf("means are known to %v: nothing to rescue", before)
	}
	if err := m.Rescue(ctx, e); err != nil {
		t.Fatal(err)
	}
	if off := m.Weights().MeanError; off > before/5 || m.chol != nil || m.pre == nil {
		t.Errorf("means are known to %v, were to %v; a factor is kept: %v", off, before, m.chol != nil)
	}
	got, err := m.Predict(ctx, e, d.X, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, y := range d.Y { // the residual is the noise times the weight
		want := y - p.Noise*m.weights[i]
		if math.Abs(got.Mean[i]-want) > 1e-3 {
			t.Errorf("row %d: mean %v, want %v", i, got.Mean[i], want)
		}
	}
}

// TestMeansSeen: where the bound of means is far above what was asked for, for weights that
// float64 cannot have any better, what is seen of the error holds the distance from means by
// 128 bits, and is small where that is.
func TestMeansSeen(t *testing.T) {
	ctx, e := context.Background(), gptest.Engine(t)
	for _, c := range []struct {
		variance, noise, length float64
		d                       int
	}{{1e4, 1e-9, 6, 2}, {1e6, 1e-8, 20, 3}} {
		rng := rand.New(rand.NewPCG(7, 1))
		const n, rows = 150, 30
		d := &gp.Table{X: linalg.NewMatrix(n, c.d), Y: make([]float64, n)}
		for i := range n {
			for j := range c.d {
				d.X.Set(i, j, rng.NormFloat64())
			}
			d.Y[i] = math.Sin(2*d.X.At(i, 0)) + 0.1*rng.NormFloat64()
		}
		p := gp.Params{Kernel: "matern32", Variance: c.variance, Noise: c.noise}
		for range c.d {
			p.Lengthscales = append(p.Lengthscales, c.length)
		}
		xs := linalg.NewMatrix(rows, c.d)
		for i := range xs.Data {
			xs.Data[i] = rng.NormFloat64()
		}
		m := New(d, p, PrecondSpec{Neighbours: 32}, nil, Weights{MeanError: math.Inf(1)})
		if err := m.Refine(ctx, e, 1e-9); err != nil {
			t.Fatal(err)
		}
		got, err := m.Predict(ctx, e, xs, Options{MeanTol: 1e-9})
		if err != nil {
			t.Fatal(err)
		}
		all, err := m.MeansSeen(ctx, e)
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for i, mean := range bigMeans(p, d, xs) {
			worst = max(worst, math.Abs(got.Mean[i]-mean))
		}
		t.Logf("bound %.2g, seen %.2g at these rows, %.2g at others, off by %.2g", got.MeanError, got.MeanSeen,
			all, worst)
		if !(got.MeanError > 1e-9) || got.MeanSeen > got.MeanError/10 {
			t.Errorf("bound %v, seen %v: not a case of the kind", got.MeanError, got.MeanSeen)
		}
		if worst > 10*got.MeanSeen || worst > got.MeanError {
			t.Errorf("means are off by %v, seen %v, bound %v", worst, got.MeanSeen, got.MeanError)
		}
	}
}

package bbgp

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bbgp.dev/internal/gptest"
)

// TestEscalateToExact evaluates a smooth function at noise 1e-6 with preconditioners that
// are too weak: the bounds do not close, and the answers make them.
func TestEscalateToExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	x, y := make([][]float64, 700), make([]float64, 700)
	for i := range x {
		a, b := rng.Float64(), rng.Float64()
		x[i], y[i] = []float64{a, b}, math.Sin(4*a)+a*math.Cos(3*b)
	}
	d, err := NewData(x, y, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		variance   float64
		rank, near int
	}{{100, -1, -1}, {1e5, -1, 16}} {
		p := Params{Kernel: "gaussian", Variance: c.variance, Noise: 1e-6, Lengthscales: []float64{1.5, 1.5}}
		opt := Options{Engine: gptest.Engine(t), Method: "bbgp", Rank: c.rank, Neighbours: c.near, Probes: 7,
			NoGradient: true}
		r, err := LogMarginalLikelihood(context.Background(), d, p, opt)
		if err != nil {
			t.Fatal(err)
		}
		opt.Method = "exact"
		exact, err := LogMarginalLikelihood(context.Background(), d, p, opt)
		if err != nil {
			t.Fatal(err)
		}
		if diff := math.Abs(r.LML - exact.LML); diff > 2+5*r.StdErr {
			t.Errorf("variance %g: %v ± %v for %v", c.variance, r.LML, r.StdErr, exact.LML)
		}
		if len(r.Warnings) == 0 || !strings.Contains(r.Warnings[0], "answered by") {
			t.Errorf("variance %g: no answer was reported: %q", c.variance, r.Warnings)
		}
	}
}

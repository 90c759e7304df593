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

// TestFewUnknownDeviations: a few rows of which rounding leaves iterations nothing to tell, as the noise is a tiny part
// of σ_f², and which lie near others, have deviations as many rows have them.
func TestFewUnknownDeviations(t *testing.T) {
	const n, rows, tol = 1500, 12, 0.05
	rng := rand.New(rand.NewPCG(6, 10))
	d, xs := gptest.SmoothTable(n, 4, 0), linalg.NewMatrix(rows, 4)
	for i := range xs.Data {
		xs.Data[i] = d.X.Data[i] + 1e-3*rng.NormFloat64()
	}
	p := gp.Params{Kernel: "matern32", Variance: 8e3, Noise: 1e-6, Lengthscales: []float64{30, 40, 50, 60}}
	predict := func(spec PrecondSpec) (*Posterior, *Prediction) {
		m := New(d, p, spec, nil, Weights{MeanError: math.Inf(1)})
		got, err := m.Predict(context.Background(), gptest.Engine(t), xs, Options{SD: true, SDTol: tol})
		if err != nil {
			t.Fatal(err)
		}
		return m, got
	}
	_, want := predict(PrecondSpec{Dense: true})
	m, got := predict(PrecondSpec{Neighbours: 32})
	unknown := 0
	for i := range got.Lo {
		if got.Lo[i] > want.Hi[i] || got.Hi[i] < want.Lo[i] {
			t.Errorf("row %d: variance in [%g, %g] for [%g, %g]", i, got.Lo[i], got.Hi[i], want.Lo[i], want.Hi[i])
		}
		if !narrow(unknownWidth, got.Lo[i], got.Hi[i]) {
			unknown++
		}
	}
	if unknown > 0 || m.probes == nil {
		t.Errorf("%d of %d rows are known to a quarter of themselves or less", unknown, rows)
	}
}

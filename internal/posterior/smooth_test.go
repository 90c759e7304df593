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

// TestSmoothDeviations: smooth functions with noise, whose σ_f² is 1e4 to 1e6 times that, have deviations as
// narrow as asked although V has lost them to rounding, and with 1e10 times bounds of the size of the noise.
func TestSmoothDeviations(t *testing.T) {
	const n, tol = 400, 0.05
	for _, c := range []struct {
		kernel          string
		d               int
		variance, noise float64
		length          float64
	}{
		{"matern32", 1, 1e3, 0.05, 30}, {"matern52", 2, 3e3, 0.05, 20}, {"matern32", 3, 1e4, 0.01, 100},
		{"gaussian", 1, 1e4, 0.1, 5}, {"matern32", 2, 1e7, 1e-3, 300},
	} {
		rng := rand.New(rand.NewPCG(6, 9))
		d, xs := gptest.SmoothTable(n, max(c.d, 2), 0), linalg.NewMatrix(fewRows+20, c.d)
		d.X = d.X.Sub(0, n, 0, c.d).Clone()
		for i := range xs.Data {
			xs.Data[i] = rng.NormFloat64()
		}
		p := gp.Params{Kernel: c.kernel, Variance: c.variance, Noise: c.noise}
		for range c.d {
			p.Lengthscales = append(p.Lengthscales, c.length)
		}
		predict := func(spec PrecondSpec) *Prediction {
			m := New(d, p, spec, nil, Weights{MeanError: math.Inf(1)})
			got, err := m.Predict(context.Background(), gptest.Engine(t), xs, Options{SD: true, SDTol: tol})
			if err != nil {
				t.Fatal(err)
			}
			if !spec.Dense && (m.probes == nil || m.probes.rank == 0) {
				t.Errorf("%+v: no probes with V", c)
			}
			return got
		}
		want, got := predict(PrecondSpec{Dense: true}), predict(PrecondSpec{Rank: 40, Node: 1})
		wide := 0
		for i := range got.Lo {
			if got.Lo[i] > want.Hi[i] || got.Hi[i] < want.Lo[i] {
				t.Errorf("%+v, row %d: variance in [%g, %g] for [%g, %g]", c, i, got.Lo[i], got.Hi[i],
					want.Lo[i], want.Hi[i])
			}
			if !narrow(tol, got.Lo[i], got.Hi[i]) {
				wide++
			}
			if got.Hi[i] > want.Hi[i]+4*c.noise {
				t.Fatalf("%+v, row %d: a variance of up to %g beside a noise of %g", c, i, got.Hi[i], c.noise)
			}
		}
		t.Logf("%+v: %d of %d rows are wider than asked", c, wide, xs.Rows)
		if wide > 0 && c.variance < 1e7*c.noise {
			t.Errorf("%+v: %d of %d rows are wider than asked", c, wide, xs.Rows)
		}
	}
}

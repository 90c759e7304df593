package iterative

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/evidencetest"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// TestIterative: solved to the end, the estimates agree with the exact value
// and gradient within the spread over seeds.
func TestIterative(t *testing.T) {
	e, err := linalg.NewEngine(nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	data, p := gptest.SparseCase(300, 3)
	truth := evidencetest.Exact(t, data, p, evidence.Options{Gradient: true})
	for _, roulette := range []bool{false, true} {
		s, err := New(e, data, p, roulette)
		if err != nil {
			t.Fatal(err)
		}
		const runs = 40
		opt := evidence.Options{Request: cost.Request{Probes: 8, Rank: 20}, Gradient: true, Precision: "f64", Seed: 3}
		if err := s.Rebuild(ctx, p, opt); err != nil {
			t.Fatal(err)
		}
		var value, noise, length sampleMoments
		for range runs {
			ev, err := s.Evaluate(ctx, p, opt)
			if err != nil {
				t.Fatal(err)
			}
			value.add(ev.LML)
			noise.add(ev.Gradient.Noise)
			length.add(ev.Gradient.Lengthscales[1])
		}
		check := func(name string, m sampleMoments, want, floor float64) {
			t.Helper()
			if mean, se := m.meanErr(); math.Abs(mean-want) > 5*se+floor {
				t.Errorf("roulette %v: %s %.6g ± %.2g, exact %.6g", roulette, name, mean, se, want)
			}
		}
		// Ten passes with a rank of 20 leave "iterative" a small bias here.
		floor := 0.0
		if !roulette {
			floor = 0.05
		}
		check("value", value, truth.LML, floor)
		check("d by noise", noise, truth.Gradient.Noise, floor*math.Abs(truth.Gradient.Noise))
		check("d by lengthscale", length, truth.Gradient.Lengthscales[1],
			floor*math.Abs(truth.Gradient.Lengthscales[1]))
	}
}

// sampleMoments collects the mean of a sample and its standard error.
type sampleMoments struct{ n, sum, square float64 }

func (m *sampleMoments) add(v float64) { m.n++; m.sum += v; m.square += v * v }

func (m *sampleMoments) meanErr() (mean, se float64) {
	mean = m.sum / m.n
	return mean, math.Sqrt(max(0, m.square/m.n-mean*mean) / (m.n - 1))
}

package bbgp

import (
	"context"
	"math"
	"strings"
	"testing"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gptest"
)

// The derivatives of the priors are those of their values.
func TestPriorGradient(t *testing.T) {
	p := Params{Kernel: "matern32", Variance: 2.5, Noise: 0.02, Lengthscales: []float64{0.4, 3, math.Inf(1)}}
	g := &Gradient{Lengthscales: make([]float64, 3)}
	evidence.LogPrior(p, false, g)
	check := func(what string, v *float64, got float64) {
		at, h := *v, 1e-5**v
		*v = at + h
		up := evidence.LogPrior(p, false, nil)
		*v = at - h
		down := evidence.LogPrior(p, false, nil)
		*v = at
		gptest.CloseTo(t, what, got, (up-down)/(2*h), 1e-7)
	}
	check("by the variance", &p.Variance, g.Variance)
	check("by the noise", &p.Noise, g.Noise)
	check("by a lengthscale", &p.Lengthscales[0], g.Lengthscales[0])
	check("by another", &p.Lengthscales[1], g.Lengthscales[1])
	if g.Lengthscales[2] != 0 {
		t.Error("an input that is out has a derivative")
	}
}

// A fit of too few rows says so, and reports the likelihood itself.
func TestTooFewRows(t *testing.T) {
	d, err := NewData([][]float64{{0.032, 0.745}, {0.428, 0.916}, {0.427, 0.574}, {0.938, 0.425}, {0.999, 0.999}},
		[]float64{1.5244, 2.2617, 1.577, 1.79, 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Fit(context.Background(), d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range m.Parameters.Lengthscales {
		if l > 20 {
			t.Errorf("lengthscale %v", l)
		}
	}
	if !strings.Contains(strings.Join(m.Result.Warnings, "\n"), "5 rows do not identify the lengthscales") {
		t.Error(m.Result.Warnings)
	}
	r, err := LogMarginalLikelihood(context.Background(), d, m.Parameters, Options{})
	if err != nil {
		t.Fatal(err)
	}
	gptest.CloseTo(t, "LML", m.Result.LML, r.LML, 1e-9)
}

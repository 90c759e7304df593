package lanczos

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// TestGradientBias holds gradients at eps 1 against those of the same probes at eps 1e-6, where P
// leaves a large condition number: what the bounds leave open of the value is no bound of its derivatives.
func TestGradientBias(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for i := range 60 {
		n, inputs := 24+rng.IntN(100), 1+rng.IntN(3)
		d := &gp.Table{X: linalg.NewMatrix(n, inputs), Y: make([]float64, n)}
		for k := range d.X.Data {
			d.X.Data[k] = rng.NormFloat64()
		}
		for k := range d.Y {
			d.Y[k] = math.Sin(2*d.X.At(k, 0)) + float64(i%3)*0.05*rng.NormFloat64()
		}
		p := gptest.TestParams(gp.Families()[i%4], inputs, math.Pow(10, -2-4*rng.Float64()))
		p.Mean = 0.1
		for j := range p.Lengthscales {
			p.Lengthscales[j] = math.Pow(10, -1.5+2*rng.Float64())
		}
		o := mustObjective(t, d, p)
		var at [2][]float64
		for k, eps := range []float64{1, 1e-6} {
			at[k] = logGradient(t, o, p, evidence.Options{Request: cost.Request{Probes: 7, Rank: n / 2}, Eps: eps,
				Precision: "f64", Gradient: true})
		}
		for j, want := range at[1] {
			off := math.Abs(at[0][j] - want)
			if off > 0.05+2e-4*math.Abs(want) {
				t.Errorf("table %d: derivative %d is %.6g, %.6g at eps 1e-6", i, j, at[0][j], want)
			}
		}
	}
}

// logGradient returns the derivatives by log σ_f², log σ_n² and log ℓ, from no start.
func logGradient(t *testing.T, o *Estimator, p gp.Params, opt evidence.Options) []float64 {
	t.Helper()
	if err := o.Rebuild(context.Background(), p, opt); err != nil {
		t.Fatal(err)
	}
	o.v = nil
	ev, err := o.Evaluate(context.Background(), p, opt)
	if err != nil {
		t.Fatal(err)
	}
	g := ev.Gradient
	at := append([]float64{g.Variance * p.Variance, g.Noise * p.Noise}, g.Lengthscales...)
	for j, l := range p.Lengthscales {
		at[2+j] *= l
	}
	return at
}

// TestReportedGradientBias: of more rows than that gradients are as good where they are reported, and
// in a training, which pays by its passes, they are what its eps allows.
func TestReportedGradientBias(t *testing.T) {
	d := gptest.SmoothTable(gradientRows+1, 2, 0.1)
	p := gptest.TestParams("matern32", 2, 1e-2)
	o := mustObjective(t, d, p)
	opt := evidence.Options{Request: cost.Request{Probes: 2, Rank: 60}, Eps: 1, Precision: "f64", Gradient: true}
	training := logGradient(t, o, p, opt)
	opt.Reported = true
	reported := logGradient(t, o, p, opt)
	opt.Eps = 1e-2
	worst := 0.0
	for j, want := range logGradient(t, o, p, opt) {
		t.Logf("derivative %d: %.4f, reported %.4f, training %.4f", j, want, reported[j], training[j])
		if off := math.Abs(reported[j] - want); off > 0.005 {
			t.Errorf("derivative %d is %.6g, %.6g at a hundredth of eps", j, reported[j], want)
		}
		worst = max(worst, math.Abs(training[j]-want))
	}
	if worst < 0.2 {
		t.Errorf("without Reported derivatives are off by %.2g at most: the table tells nothing", worst)
	}
}

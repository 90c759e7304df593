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
			opt := evidence.Options{Request: cost.Request{Probes: 7, Rank: n / 2}, Eps: eps,
				Precision: "f64", Gradient: true}
			if err := o.Rebuild(context.Background(), p, opt); err != nil {
				t.Fatal(err)
			}
			o.v = nil
			ev, err := o.Evaluate(context.Background(), p, opt)
			if err != nil {
				t.Fatal(err)
			}
			g := ev.Gradient
			at[k] = append([]float64{g.Variance * p.Variance, g.Noise * p.Noise}, g.Lengthscales...)
			for j, l := range p.Lengthscales {
				at[k][2+j] *= l
			}
		}
		for j, want := range at[1] {
			off := math.Abs(at[0][j] - want)
			if off > 0.05+2e-4*math.Abs(want) {
				t.Errorf("table %d: derivative %d is %.6g, %.6g at eps 1e-6", i, j, at[0][j], want)
			}
		}
	}
}

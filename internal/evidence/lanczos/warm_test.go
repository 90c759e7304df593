package lanczos

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gptest"
)

// TestWarmStart compares evaluations that start where one at other parameters has
// ended with cold ones: the same value and gradient, fewer passes.
func TestWarmStart(t *testing.T) {
	d, p := gptest.SmoothTable(600, 3, 0.3), gptest.TestParams("matern32", 3, 0.1)
	q := p.Clone()
	q.Variance, q.Noise, q.Mean, q.Lengthscales[1] = 1.4, 0.09, 0.25, 1.2
	var wide []float64 // the gradient in float64
	for _, precision := range []string{"f64", "auto"} {
		opt := evidence.Options{Request: cost.Request{Probes: 7, Rank: 60, Neighbours: 0}, Eps: 0.3, Gradient: true,
			Precision: precision, Seed: 5}
		var got [2]*evidence.Value
		for k := range got {
			o := mustObjective(t, d, p)
			if k == 1 {
				if _, err := o.Evaluate(context.Background(), p, opt); err != nil {
					t.Fatal(err)
				}
			}
			if err := o.Rebuild(context.Background(), q, opt); err != nil {
				t.Fatal(err)
			}
			ev, err := o.Evaluate(context.Background(), q, opt)
			if err != nil {
				t.Fatal(err)
			}
			got[k] = ev
		}
		cold, warm := got[0], got[1]
		if math.Abs(cold.LML-warm.LML) > opt.Eps || warm.Passes > cold.Passes || warm.Upper < cold.Lower ||
			cold.Upper < warm.Lower {
			t.Errorf("%s: %.6f in [%.6f, %.6f] with %d passes, cold %.6f in [%.6f, %.6f] with %d", precision,
				warm.LML, warm.Lower, warm.Upper, warm.Passes, cold.LML, cold.Lower, cold.Upper, cold.Passes)
		}
		a, b := gptest.Flatten(warm.Gradient.Lengthscales, warm.Gradient.Variance, warm.Gradient.Noise,
			warm.Gradient.Mean), gptest.Flatten(cold.Gradient.Lengthscales, cold.Gradient.Variance,
			cold.Gradient.Noise, cold.Gradient.Mean)
		for i := range a {
			if math.Abs(a[i]-b[i]) > 0.5+0.01*math.Abs(b[i]) {
				t.Errorf("%s: gradient %d is %.6g, cold %.6g", precision, i, a[i], b[i])
			}
			// float32 products take v'K̂v from the process, float64 ones from K̂v.
			if wide != nil && math.Abs(a[i]-wide[i]) > 1e-3+1e-5*math.Abs(wide[i]) {
				t.Errorf("%s: gradient %d is %.6g, in float64 %.6g", precision, i, a[i], wide[i])
			}
		}
		wide = a
	}
}

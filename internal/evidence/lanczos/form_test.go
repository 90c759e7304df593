package lanczos

import (
	"context"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
)

// A process in float64 whose tolerance was too coarse is corrected: as many passes as with a fine one, and the same
// value.
func TestCorrectedForm(t *testing.T) {
	for _, kernel := range []string{"matern12", "matern32"} {
		d, p := gptest.SmoothTable(1500, 2, 0.1), gptest.TestParams(kernel, 2, .01)
		var got [2]*evidence.Value
		for k, tol := range []float64{1e-3, 1e-7} {
			o := mustObjective(t, d, p)
			ev, err := o.Evaluate(context.Background(), p, evidence.Options{Eps: .02, Product: "h2", Precision: "f64",
				Tolerance: tol, Request: cost.Request{Neighbours: 16, Probes: 3}})
			if err != nil {
				t.Fatal(err)
			}
			got[k] = ev
			if (o.finer == 0) != (k == 1) || ev.Tolerance > 1e-3*tolStep {
				t.Errorf("%s, tolerance %g: %d times finer, %g in the end", kernel, tol, o.finer, ev.Tolerance)
			}
		}
		a, b := got[0], got[1]
		if a.Passes != b.Passes || a.Lower > b.Upper || b.Lower > a.Upper || !gp.Finite(a.ProductDoubt) {
			t.Errorf("%s: %d passes, [%v, %v], with a fine tolerance %d, [%v, %v]", kernel,
				a.Passes, a.Lower, a.Upper, b.Passes, b.Lower, b.Upper)
		}
	}
}

package lanczos

import (
	"context"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/kernelmv"
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

// The last product takes finer tolerances a step at a time, so many times and no further than what is worth it.
func TestRefineLast(t *testing.T) {
	d, p := gptest.SmoothTable(900, 2, 0.1), gptest.TestParams("matern32", 2, .01)
	o := mustObjective(t, d, p)
	r := &process{o: o, ctx: context.Background()}
	for _, c := range []struct {
		times      int
		last, want float64
		finest     bool
	}{{0, 1e-6, 1e-6 * lastStep, false}, {mostFiner, 1e-6, 1e-6, true}, {1, 3 * finestTol, finestTol, false},
		{0, finestTol, finestTol, true}} {
		o.op.SetForm(kernelmv.FormH2, 1e-4, c.last)
		finest, err := r.refineLast(c.times)
		_, first, last := o.op.Form()
		if err != nil || finest != c.finest || first != 1e-4 || last != c.want {
			t.Errorf("%+v: finest %v, tolerances %g and %g, %v", c, finest, first, last, err)
		}
	}
}

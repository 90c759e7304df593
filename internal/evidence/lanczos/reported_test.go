package lanczos

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
)

// TestReportedGradient holds derivatives that are reported against those of eps 1e-4 with a basis in float64, on
// the same probes. Of the clusters one is .011 off in float32. Between rows that nearly repeat another with targets of
// their own, rounding of the basis leaves a residual that the process does not see.
func TestReportedGradient(t *testing.T) {
	for _, k := range []struct {
		name string
		d    *gp.Table
		p    gp.Params
		rank int
	}{
		{"clusters", clusters(1000, 3), gptest.TestParams("matern32", 3, 0.2), 5},
		{"near-repeated rows", nearRepeated(600, 3), gptest.TestParams("matern32", 3, 1e-5), 60},
	} {
		o := mustObjective(t, k.d, k.p)
		opt := evidence.Options{Request: cost.Request{Probes: 3, Rank: k.rank}, Eps: 1, Gradient: true, Reported: true}
		got := logGradient(t, o, k.p, opt)
		opt.Eps, opt.Precision = 1e-4, "f64"
		for j, want := range logGradient(t, thorough(t, k.d, k.p), k.p, opt) {
			if off := math.Abs(got[j] - want); off > 1e-4*max(10, math.Abs(want)) {
				t.Errorf("%s: derivative %d is %.6g, %.6g at eps 1e-4", k.name, j, got[j], want)
			}
		}
	}
}

// TestGradientColumns: with 1/s Σ w_i w_i' of trace n the derivatives by log σ_f² and log σ_n² add up to (Q - n)/2, but
// for what the columns of the gradient leave out.
func TestGradientColumns(t *testing.T) {
	d, p := gptest.SmoothTable(1500, 6, 0.2), gptest.TestParams("matern32", 6, 4e-2)
	o := mustObjective(t, d, p)
	off := func(reported bool) float64 {
		opt := evidence.Options{Request: cost.Request{Probes: 3, Rank: 60}, Eps: 1e-4, Precision: "f64",
			Gradient: true, Reported: reported}
		if err := o.Rebuild(context.Background(), p, opt); err != nil {
			t.Fatal(err)
		}
		ev, err := o.Evaluate(context.Background(), p, opt)
		if err != nil {
			t.Fatal(err)
		}
		q := 0.0
		for i, a := range ev.Alpha {
			q += a * (d.Y[i] - p.Mean)
		}
		return math.Abs(ev.Gradient.Variance*p.Variance + ev.Gradient.Noise*p.Noise - 0.5*(q-float64(o.n)))
	}
	if reported, training := off(true), off(false); reported > 1e-6*float64(o.n) || training < 10*reported {
		t.Errorf("derivatives leave out %.2g nats where they are reported, %.2g in a training", reported, training)
	}
}

// clusters returns n rows about five places, a part of the target floor(2x).
func clusters(n, d int) *gp.Table {
	t := gptest.SmoothTable(n, d, 0)
	for i := range n {
		for j := range d {
			t.X.Set(i, j, float64((i*7+j)%5-2)+0.01*t.X.At(i, j))
		}
		t.Y[i] = math.Floor(2 * t.X.At(i, 0))
	}
	return t
}

// nearRepeated returns n rows half of which nearly repeat another, with targets of their own.
func nearRepeated(n, d int) *gp.Table {
	t := gptest.SmoothTable(n, d, 0.3)
	for i := 0; i < n; i += 2 {
		for j := range d {
			t.X.Set(i, j, t.X.At(i/2, j)+1e-5*t.X.At(i, j))
		}
	}
	return t
}

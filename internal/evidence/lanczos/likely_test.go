package lanczos

import (
	"context"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/kernelmv"
)

// P is chosen for float64 products where the last evaluation tells that these will be
// needed, also on fewer rows, and not where float32 is asked for.
func TestLikely(t *testing.T) {
	d, p := gptest.SmoothTable(600, 3, 0.1), gptest.TestParams("matern32", 3, 2e-3)
	o := mustObjective(t, d, p)
	ev, err := o.Evaluate(context.Background(), p,
		evidence.Options{Request: cost.Request{Probes: 7, Rank: 20, Neighbours: 16}, Eps: 1})
	if err != nil {
		t.Fatal(err)
	}
	var s cost.History
	ev.Note(&s)
	if ev.Precision != "f32" || s.Unsure <= 0 {
		t.Fatalf("precision %s, %v nats unsure: this says nothing", ev.Precision, s.Unsure)
	}
	for _, k := range []struct {
		rows      int
		eps       float64
		precision string
		want      kernelmv.Precision
	}{
		{600, 2.1 * s.Unsure, "auto", kernelmv.F32},
		{600, 1.9 * s.Unsure, "auto", kernelmv.F64},
		{600, 1.9 * s.Unsure, "f32", kernelmv.F32},
		{1200, 15 * s.Unsure, "auto", kernelmv.F64},
	} {
		if got := o.likely(k.rows, p, evidence.Options{Request: cost.Request{Seen: s}, Eps: k.eps,
			Precision: k.precision}); got != k.want {
			t.Errorf("%+v: precision %v", k, got)
		}
	}
}

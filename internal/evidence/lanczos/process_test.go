package lanczos

import (
	"context"
	"errors"
	"math"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/evidencetest"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// TestPrecisionFallback starts in float32 where float32 cannot do, and must end
// in float64 with bounds that hold.
func TestPrecisionFallback(t *testing.T) {
	d, p := gptest.SmoothTable(600, 4, 0.01), gptest.TestParams("matern52", 4, 1e-6)
	p.Variance = 60
	for j := range p.Lengthscales {
		p.Lengthscales[j] *= 8
	}
	want := evidencetest.Exact(t, d, p, evidence.Options{})
	o := mustObjective(t, d, p)
	opt := evidence.Options{Request: cost.Request{Probes: 15, Rank: 0, Neighbours: 10}, Eps: 0.5}
	ev, err := o.Evaluate(context.Background(), p, opt)
	if err != nil {
		t.Fatal(err)
	}
	if ev.Precision != "f64" {
		t.Errorf("precision %s, want f64 after float32 has failed", ev.Precision)
	}
	if want.LML < ev.Lower-5*ev.StdErr || want.LML > ev.Upper+5*ev.StdErr || ev.Upper-ev.Lower > 2*opt.Eps {
		t.Errorf("exact %.3f, bounds [%.3f, %.3f], standard error %.3f", want.LML, ev.Lower, ev.Upper, ev.StdErr)
	}
	// Asked for float32, the objective must not pretend.
	opt.Precision = "f32"
	if ev, err := o.Evaluate(context.Background(), p, opt); err == nil {
		if ev.Precision != "f32" {
			t.Errorf("precision %s, asked for f32", ev.Precision)
		}
	} else if stall := (*evidence.StagnationError)(nil); !errors.Is(err, gp.ErrNotFinite) && !errors.As(err, &stall) {
		t.Errorf("unexpected error %v", err)
	}
}

// TestEstimate: the estimate of an evaluation is off by at most half of what its bounds leave open, from
// what the same probes say in the end.
func TestEstimate(t *testing.T) {
	ctx := context.Background()
	for _, near := range []int{0, 8} {
		d, p := gptest.SmoothTable(400, 3, 0.1), gptest.TestParams("matern32", 3, 1e-2)
		o := mustObjective(t, d, p)
		opt := evidence.Options{Request: cost.Request{Probes: 7, Rank: 0, Neighbours: near}, Eps: 1e-6,
			Precision: "f64"}
		end, err := o.Evaluate(ctx, p, opt)
		if err != nil {
			t.Fatal(err)
		}
		for _, opt.Eps = range []float64{20, 5, 1} {
			ev, err := o.Evaluate(ctx, p, opt)
			if err != nil {
				t.Fatal(err)
			}
			off, half := math.Abs(ev.LML-end.LML), (ev.Upper-ev.Lower)/2
			t.Logf("%d neighbours, %d passes: off by %.3g of %.3g", near, ev.Passes, off, half)
			if off > half+1e-5 {
				t.Errorf("%d neighbours, eps %g: off by %g, the bounds leave ±%g open", near, opt.Eps, off, half)
			}
		}
	}
}

// TestReject ends an evaluation as soon as its upper bound is below a target.
func TestReject(t *testing.T) {
	d, p := gptest.SmoothTable(400, 3, 0.1), gptest.TestParams("matern32", 3, 1e-2)
	o := mustObjective(t, d, p)
	opt := evidence.Options{Request: cost.Request{Probes: 7, Rank: 0, Neighbours: 0}, Eps: 0.1, Precision: "f64"}
	full, err := o.Evaluate(context.Background(), p, opt)
	if err != nil {
		t.Fatal(err)
	}
	last := math.Inf(1)
	opt.Reject = func(upper float64) bool {
		if upper < full.LML-1e-3*math.Abs(full.LML) {
			t.Errorf("upper bound %.6f below the value %.6f", upper, full.LML)
		}
		if upper > last+1e-6*math.Abs(upper) {
			t.Errorf("upper bound rose from %.6f to %.6f", last, upper)
		}
		last = upper
		return false
	}
	o.v = nil
	if ev, err := o.Evaluate(context.Background(), p, opt); err != nil || ev.Rejected || ev.LML != full.LML {
		t.Errorf("never rejected: %v, not %v, %v", ev.LML, full.LML, err)
	}
	o.v = nil
	opt.Reject = func(upper float64) bool { return upper < full.LML+200 }
	ev, err := o.Evaluate(context.Background(), p, opt)
	if err != nil || !ev.Rejected || ev.Passes >= full.Passes || ev.Upper < full.LML {
		t.Errorf("rejected: %+v, %v; %d passes in full", ev, err, full.Passes)
	}
}

// TestEvaluateThreads wants the same bits from any number of threads, of a first
// evaluation and of one that starts where that ended.
func TestEvaluateThreads(t *testing.T) {
	d, p := gptest.SmoothTable(700, 3, 0.1), gptest.TestParams("matern52", 3, 0.05)
	var first [2]*evidence.Value
	for _, threads := range []int{1, 3, 3} {
		e, err := linalg.NewEngine(nil, threads)
		if err != nil {
			t.Fatal(err)
		}
		o, err := New(e, d, p)
		if err != nil {
			t.Fatal(err)
		}
		opt := evidence.Options{Request: cost.Request{Probes: 7, Rank: 20, Neighbours: 8},
			Eps: 1, Gradient: true, Seed: 3}
		if err := o.Rebuild(context.Background(), p, opt); err != nil {
			t.Fatal(err)
		}
		for k := range 2 {
			ev, err := o.Evaluate(context.Background(), p, opt)
			if err != nil {
				t.Fatal(err)
			}
			if first[k] == nil {
				first[k] = ev
			}
			want := first[k]
			if ev.LML != want.LML || ev.Upper != want.Upper || ev.Gradient.Noise != want.Gradient.Noise ||
				ev.Gradient.Lengthscales[1] != want.Gradient.Lengthscales[1] || ev.Alpha[17] != want.Alpha[17] {
				t.Errorf("%d threads: %v, %v differ from %v, %v", threads, ev.LML, ev.Gradient, want.LML, want.Gradient)
			}
		}
	}
}

// TestSmallEvaluations covers n = 1, 2, 3 and copies of one row: the space is
// exhausted at once and the value is exact but for the probes.
func TestSmallEvaluations(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5} {
		for _, same := range []bool{false, true} {
			d, p := gptest.SmoothTable(n, 2, 0.1), gptest.TestParams("matern32", 2, 1e-3)
			for i := range n {
				if same {
					copy(d.X.Row(i), d.X.Row(0))
				}
			}
			want := evidencetest.Exact(t, d, p, evidence.Options{Gradient: true})
			o := thorough(t, d, p)
			opt := evidence.Options{Request: cost.Request{Rank: 0, Neighbours: 0},
				Eps: 1e-6, Precision: "f64", Gradient: true}
			if err := o.Rebuild(context.Background(), p, opt); err != nil {
				t.Fatal(err)
			}
			o.setProbes(unitProbes(n), 0)
			got, err := o.Evaluate(context.Background(), p, opt)
			if err != nil {
				t.Fatalf("n %d, same %v: %v", n, same, err)
			}
			if math.Abs(got.LML-want.LML) > 1e-6*(1+math.Abs(want.LML)) || got.BoundKind != "rigorous" {
				t.Errorf("n %d, same %v: %.9f (%s), exact %.9f", n, same, got.LML, got.BoundKind, want.LML)
			}
			a, b := gptest.Flatten(got.Gradient.Lengthscales, got.Gradient.Variance, got.Gradient.Noise,
				got.Gradient.Mean), gptest.Flatten(want.Gradient.Lengthscales, want.Gradient.Variance,
				want.Gradient.Noise, want.Gradient.Mean)
			for i := range a {
				if math.Abs(a[i]-b[i]) > 1e-5*(1+math.Abs(b[i])) {
					t.Errorf("n %d, same %v: gradient %d is %.9g, exact %.9g", n, same, i, a[i], b[i])
				}
			}
		}
	}
}

func TestStagnation(t *testing.T) {
	s := stagnation{best: math.Inf(1)}
	for pass := 1; pass <= 100; pass++ {
		if s.stalled(pass, 100/float64(pass)) {
			t.Fatalf("improving bounds stalled at pass %d", pass)
		}
	}
	pass := 101
	for ; !s.stalled(pass, 1.01); pass++ {
	}
	if pass != 160 {
		t.Errorf("stalled at pass %d, want 160", pass)
	}
	if err := error(&evidence.StagnationError{Precision: "f32"}); !errors.Is(err, evidence.ErrPrecision) {
		t.Error("a stagnation in float32 must ask for float64")
	}
}

// The end of the spectrum that is reported is at most 1, as models have it, also where the process has seen all of it.
func TestNodeOfFewRows(t *testing.T) {
	for n := 2; n <= 6; n++ {
		d, p := gptest.SmoothTable(n, 2, 0.1), gptest.TestParams("matern12", 2, 0.1)
		opt := evidence.Options{Request: cost.Request{Probes: 3}, Eps: 1, Precision: "f64"}
		ev, err := mustObjective(t, d, p).Evaluate(t.Context(), p, opt)
		if err != nil {
			t.Fatal(err)
		}
		if !(ev.Node > 0 && ev.Node <= 1) || !ev.Usable(n, 2, false) {
			t.Errorf("%d rows: node %v", n, ev.Node)
		}
	}
}

package bbgp

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"bbgp.dev/internal/gptest"
)

// TestEvaluator: the first evaluation has the bits of LogMarginalLikelihood, and so has one
// after Renew; later ones take no new preconditioner, and their bounds overlap with those
// of new ones.
func TestEvaluator(t *testing.T) {
	ctx, d := context.Background(), randomData(300, 3, 4)
	opt := Options{Method: "bbgp", Seed: 3, Engine: gptest.Engine(t)}
	ev, err := NewEvaluator(d, opt)
	if err != nil {
		t.Fatal(err)
	}
	p := Params{Kernel: "matern32", Variance: 1, Noise: 0.05, Lengthscales: []float64{1, 2, 3}}
	same := func(what string, got *LMLReport) {
		t.Helper()
		want, err := LogMarginalLikelihood(ctx, d, p, opt)
		if err != nil {
			t.Fatal(err)
		}
		if got.LML != want.LML || got.Passes != want.Passes ||
			!slices.Equal(flat(got.Gradient), flat(want.Gradient)) {
			t.Errorf("%s: %v in %d passes, alone %v in %d", what, got.LML, got.Passes, want.LML, want.Passes)
		}
	}
	at := func() *LMLReport {
		t.Helper()
		r, err := ev.At(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	same("first", at())
	obj := ev.obj
	for k := range 4 {
		p.Lengthscales[k%3] *= 1.2
		p.Noise *= 0.9
		got := at()
		if ev.obj != obj {
			t.Errorf("step %d: prepared anew", k)
		}
		want, err := LogMarginalLikelihood(ctx, d, p, opt)
		if err != nil {
			t.Fatal(err)
		}
		if slack := 5*math.Hypot(got.StdErr, want.StdErr) + 2; math.Abs(got.LML-want.LML) > slack {
			t.Errorf("step %d: %v, alone %v", k, got.LML, want.LML)
		}
	}
	ev.Renew()
	same("renewed", at())
	p.Kernel = "gaussian"
	same("other kernel", at())
	p.Noise = -1
	var bad *ParamError
	if _, err := ev.At(ctx, p); !errors.As(err, &bad) || bad.Key != "noise" {
		t.Errorf("noise -1: %v", err)
	}
}

// TestEvaluatorSmooth: within one preparation the estimate has the gradient that is
// reported: central differences of it agree to far less than the probes scatter.
func TestEvaluatorSmooth(t *testing.T) {
	ctx, d := context.Background(), randomData(300, 2, 4)
	ev, err := NewEvaluator(d, Options{Method: "bbgp", Precision: "f64",
		Eps: 1e-4, Probes: 3, Engine: gptest.Engine(t)})
	if err != nil {
		t.Fatal(err)
	}
	at := func(noise float64) *LMLReport {
		r, err := ev.At(ctx, Params{Kernel: "matern32", Variance: 1, Noise: noise, Lengthscales: []float64{1, 2}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const s, h = 0.05, 1e-4
	mid := at(s)
	slope := (at(s+h).LML - at(s-h).LML) / (2 * h)
	if off := math.Abs(slope - mid.Gradient.Noise); off > 0.02*math.Abs(slope)+2 {
		t.Errorf("slope %v, gradient %v", slope, mid.Gradient.Noise)
	}
}

// TestKernelConflict: parameters of another kernel than that asked for are refused.
func TestKernelConflict(t *testing.T) {
	ctx, d := context.Background(), randomData(30, 2, 4)
	p := DefaultParams("gaussian", 2)
	opt := Options{Kernel: "matern52", Start: &p, Engine: gptest.Engine(t)}
	_, fit := Fit(ctx, d, opt)
	_, plan := NewPlan(ctx, d, opt)
	_, lml := LogMarginalLikelihood(ctx, d, p, opt)
	_, model := NewModel(ctx, d, p, opt)
	for what, err := range map[string]error{"Fit": fit, "NewPlan": plan,
		"LogMarginalLikelihood": lml, "NewModel": model} {
		var bad *OptionError
		if !errors.As(err, &bad) || bad.Option != "kernel" {
			t.Errorf("%s: %v", what, err)
		}
	}
	opt.Kernel, opt.MaxSteps = "", 1
	if m, err := Fit(ctx, d, opt); err != nil || m.Parameters.Kernel != "gaussian" {
		t.Errorf("the kernel of Start is not taken: %v", err)
	}
}

// TestNewInputs: rows for Predict, and none that differ in length.
func TestNewInputs(t *testing.T) {
	x, err := NewInputs([][]float64{{1, 2}, {3, 4}})
	if err != nil || x.Rows != 2 || x.At(1, 0) != 3 {
		t.Errorf("%+v, %v", x, err)
	}
	var bad *DataError
	if _, err := NewInputs([][]float64{{1, 2}, {3}}); !errors.As(err, &bad) || bad.Row != 1 {
		t.Errorf("%v", err)
	}
}

package lanczos

import (
	"context"
	"math"
	"strings"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/evidencetest"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
)

// With a P of latents and every unit vector as a probe the value and its gradient are the exact ones, for all kernels.
func TestLatentsExact(t *testing.T) {
	for _, kernel := range gp.Families() {
		for _, noise := range []float64{0.3, 1e-3} {
			checkLatents(t, kernel, noise, 130, 110, false)
			checkLatents(t, kernel, noise, 40, 12, true)
		}
	}
}

func checkLatents(t *testing.T, kernel string, noise float64, n, m int, gradient bool) {
	t.Helper()
	d, p := gptest.SmoothTable(n, 2, 0.1), gptest.TestParams(kernel, 2, noise)
	for i := range 10 { // the same places again
		copy(d.X.Row(n-1-i), d.X.Row(i))
	}
	want := evidencetest.Exact(t, d, p, evidence.Options{Gradient: true})
	o := thorough(t, d, p)
	opt := evidence.Options{Request: cost.Request{Rank: -1, Neighbours: -1, Latents: m}, Eps: 1e-6,
		Precision: "f64", Gradient: gradient}
	if err := o.Rebuild(context.Background(), p, opt); err != nil {
		t.Fatal(err)
	}
	o.setProbes(unitProbes(n), 0)
	got, err := o.Evaluate(context.Background(), p, opt)
	if err != nil {
		t.Fatal(err)
	}
	if !(math.Abs(got.LML-want.LML) < 2e-6) || got.Latents < m*3/4 || got.Rank != 0 || got.Neighbours != 0 {
		t.Errorf("%s, noise %g: %.9f, exact %.9f, %d latents", kernel, noise, got.LML, want.LML, got.Latents)
	}
	if !gradient {
		return
	}
	for j, v := range want.Gradient.Lengthscales {
		if g := got.Gradient.Lengthscales[j]; !(math.Abs(g-v) < 1e-3*(1+math.Abs(v))) {
			t.Errorf("%s, noise %g, input %d: derivative %g, exact %g", kernel, noise, j, g, v)
		}
	}
}

// Products below n² and few probes: the exact value is where the interval says, and P of latents takes few passes.
// Where it cannot be made, there are neighbours, and the reason tells.
func TestLatentsH2(t *testing.T) {
	const n = 1500
	d, p := gptest.SmoothTable(n, 2, 0.1), gptest.TestParams("matern32", 2, .1)
	want := evidencetest.Exact(t, d, p, evidence.Options{})
	opt := evidence.Options{Request: cost.Request{Rank: -1, Neighbours: -1, Latents: 200}, Eps: .01, Product: "h2"}
	evaluate := func(p gp.Params) *evidence.Value {
		o := mustObjective(t, d, p)
		ev, err := o.Evaluate(context.Background(), p, opt)
		if err != nil {
			t.Fatal(err)
		}
		return ev
	}
	ev := evaluate(p)
	if in := ev.Interval(.999); !(in[0] <= evidence.Bound(want.LML) && evidence.Bound(want.LML) <= in[1]) {
		t.Errorf("%v in %v, exact %v", ev.LML, in, want.LML)
	}
	if ev.Product != "h2" || ev.Latents == 0 || ev.Passes > 8 {
		t.Errorf("%s products, %d latents, %d passes", ev.Product, ev.Latents, ev.Passes)
	}
	p.Noise = 1e-17
	for i := range n {
		copy(d.X.Row(i), []float64{float64(i % 40), float64(i % 25)}) // none of it is below rounding
	}
	d.NoiseExtra = make([]float64, n)
	for i := range n / 2 {
		d.NoiseExtra[i] = .01
	}
	o := mustObjective(t, d, p)
	if err := o.Rebuild(context.Background(), p, opt); err != nil {
		t.Fatal(err)
	}
	if o.pre.Latents() != 0 || !strings.Contains(o.reason, "latents were not possible") {
		t.Errorf("%d latents: %s", o.pre.Latents(), o.reason)
	}
}

// What a P of latents is foreseen to take is what it takes.
func TestLatentBytes(t *testing.T) {
	const n, m = 20000, 2000
	d, p := gptest.SmoothTable(n, 2, 0.1), gptest.TestParams("matern32", 2, .1)
	o := mustObjective(t, d, p)
	opt := evidence.Options{Request: cost.Request{Rank: -1, Neighbours: -1, Latents: m}, Eps: 1}
	if err := o.Rebuild(context.Background(), p, opt); err != nil {
		t.Fatal(err)
	}
	if is, said := o.pre.Bytes(), cost.LatentBytes(n, m); said < is || said > 2*is {
		t.Errorf("%d bytes foreseen, %d taken", said, is)
	}
}

// A trial says what all rows take by some of them: the size of P, passes, and how much more their products are.
func TestTry(t *testing.T) {
	d, p := gptest.SmoothTable(6000, 2, 0.1), gptest.TestParams("matern32", 2, .1)
	some := make([]int, 1500)
	for i := range some {
		some[i] = i
	}
	opt := evidence.Options{Request: cost.Request{Rank: -1, Neighbours: -1, Probes: 7}, Eps: 1, Product: "h2"}
	r, err := Try(context.Background(), gptest.Engine(t), d, some, p, opt)
	if err != nil {
		t.Fatal(err)
	}
	if r == nil || r.Value.Product != "h2" || r.Value.Passes < 1 || r.Products < 3 || r.Products > 8 ||
		r.Size.Rank+r.Size.Neighbours == 0 {
		t.Errorf("%+v", r)
	}
	opt.Product = "dense"
	if r, err := Try(context.Background(), gptest.Engine(t), d, some, p, opt); r != nil || err != nil {
		t.Errorf("dense products: %+v, %v", r, err)
	}
}

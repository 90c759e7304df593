package lanczos

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/evidencetest"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// unitProbes make the mean over probes the trace: sqrt(n) e_i.
func unitProbes(n int) linalg.Matrix {
	w := linalg.NewMatrix(n, n)
	for i := range n {
		w.Set(i, i, math.Sqrt(float64(n)))
	}
	return w
}

func mustObjective(t testing.TB, d *gp.Table, p gp.Params) *Estimator {
	t.Helper()
	return kept(t, d, p, usual)
}

// thorough keeps everything: the basis in float64, and next to all columns of the gradients.
func thorough(t testing.TB, d *gp.Table, p gp.Params) *Estimator {
	t.Helper()
	return kept(t, d, p, detail{basis64: true, gradTol: 1e-10})
}

func kept(t testing.TB, d *gp.Table, p gp.Params, keep detail) *Estimator {
	t.Helper()
	o, err := newEstimator(gptest.Engine(t), d, p, keep)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestUnitProbes tells bias from variance: with every unit vector as a probe
// nothing is random, and the value must be the exact one to eps.
func TestUnitProbes(t *testing.T) {
	for _, kernel := range gp.Families() {
		for _, noise := range []float64{0.5, 1e-3} {
			for _, nn := range []int{0, 12} {
				checkUnitProbes(t, kernel, noise, 200, nn, false)
				checkUnitProbes(t, kernel, noise, 40, nn, true)
			}
		}
	}
}

func checkUnitProbes(t *testing.T, kernel string, noise float64, n, nn int, gradient bool) {
	t.Helper()
	d, p := gptest.SmoothTable(n, 3, 0.1), gptest.TestParams(kernel, 3, noise)
	want := evidencetest.Exact(t, d, p, evidence.Options{Gradient: true})
	o := thorough(t, d, p)
	opt := evidence.Options{Request: cost.Request{Rank: 20, Neighbours: nn},
		Eps: 1e-6, Precision: "f64", Gradient: gradient}
	if err := o.Rebuild(context.Background(), p, opt); err != nil {
		t.Fatal(err)
	}
	o.setProbes(unitProbes(n), 0)
	got, err := o.Evaluate(context.Background(), p, opt)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got.LML-want.LML) > 1e-6 {
		t.Errorf("%s, noise %g, nn %d: %.9f in [%.9f, %.9f], exact %.9f",
			kernel, noise, nn, got.LML, got.Lower, got.Upper, want.LML)
	}
	if !gradient {
		return
	}
	// P knows the information of c within a factor of two: less than the subset does.
	if r := got.MeanInfo / want.MeanInfo; nn > 0 && !(r > 0.5 && r < 2) {
		t.Errorf("%s, noise %g, nn %d: information of c %.4g, exact %.4g",
			kernel, noise, nn, got.MeanInfo, want.MeanInfo)
	}
	a, b := gptest.Flatten(got.Gradient.Lengthscales, got.Gradient.Variance, got.Gradient.Noise, got.Gradient.Mean),
		gptest.Flatten(want.Gradient.Lengthscales, want.Gradient.Variance, want.Gradient.Noise, want.Gradient.Mean)
	for i := range a {
		if math.Abs(a[i]-b[i]) > 1e-6*(1+math.Abs(b[i])) {
			t.Errorf("%s, noise %g, nn %d: gradient %d is %.9g, exact %.9g", kernel, noise, nn, i, a[i], b[i])
		}
	}
}

// TestMemory compares an evaluation whose basis does not fit with one that has
// room: the same bounds and gradient, more passes.
func TestMemory(t *testing.T) {
	d, p := gptest.SmoothTable(600, 3, 0.1), gptest.TestParams("matern32", 3, 0.1)
	opt := evidence.Options{Request: cost.Request{Probes: 31, Rank: 50, Neighbours: 0},
		Eps: 0.1, Gradient: true, Precision: "f64"}
	var full *evidence.Value
	for _, most := range []int{0, -1, 96} {
		o := mustObjective(t, d, p)
		opt.Memory = 0
		if most != 0 {
			opt.Memory = cost.ProgramBytes + cost.TableBytes(600, 3) + 4*600*int64(max(most, 0)) + 100 +
				cost.KrylovBytes(600, 3, 32, cost.Size{Rank: 50})
		}
		if err := o.Rebuild(context.Background(), p, opt); err != nil {
			t.Fatal(err)
		}
		ev, err := o.Evaluate(context.Background(), p, opt)
		if err != nil {
			t.Fatal(err)
		}
		if most == 0 {
			full = ev
			continue
		}
		if ev.Replayed < 2 || ev.Passes != full.Passes+ev.Replayed {
			t.Errorf("%d columns stored: %d passes, %d of them again; "+
				"%d with room", most, ev.Passes, ev.Replayed, full.Passes)
		}
		for i, c := range [][2]float64{{ev.Lower, full.Lower}, {ev.Upper, full.Upper}} {
			if math.Abs(c[0]-c[1]) > 1e-6*math.Abs(c[1]) {
				t.Errorf("%d columns stored, bound %d: %.9g, with room %.9g", most, i, c[0], c[1])
			}
		}
		a, b := gptest.Flatten(ev.Gradient.Lengthscales, ev.Gradient.Variance, ev.Gradient.Noise, ev.Gradient.Mean),
			gptest.Flatten(full.Gradient.Lengthscales, full.Gradient.Variance, full.Gradient.Noise, full.Gradient.Mean)
		for i := range a {
			if math.Abs(a[i]-b[i]) > 1e-4*(10+math.Abs(b[i])) {
				t.Errorf("%d columns stored, gradient %d: %.7g, with room %.7g", most, i, a[i], b[i])
			}
		}
	}
}

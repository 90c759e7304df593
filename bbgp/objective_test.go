package bbgp

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// smooth returns n rows of d inputs with a target that depends on two of them.
func smoothData(n, d int, noise float64) *Data {
	rng := rand.New(rand.NewPCG(11, uint64(n)))
	data := &Data{X: linalg.NewMatrix(n, d), Y: make([]float64, n)}
	for i := range n {
		for j := range d {
			data.X.Set(i, j, rng.NormFloat64())
		}
		data.Y[i] = math.Sin(2*data.X.At(i, 0)) + 0.5*data.X.At(i, 1) + noise*rng.NormFloat64()
	}
	return data
}

// unitProbes make the mean over probes the trace: sqrt(n) e_i.
func unitProbes(n int) linalg.Matrix {
	w := linalg.NewMatrix(n, n)
	for i := range n {
		w.Set(i, i, math.Sqrt(float64(n)))
	}
	return w
}

func testParams(kernel string, d int, noise float64) Params {
	p := DefaultParams(kernel, d)
	p.Noise, p.Variance, p.Mean = noise, 1.3, 0.2
	for j := range p.Lengthscales {
		p.Lengthscales[j] = 0.8 + 0.3*float64(j)
	}
	return p
}

func mustObjective(t testing.TB, d *gp.Table, p Params) *krylovObjective {
	t.Helper()
	o, err := newKrylovObjective(engine(t), d, p)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestUnitProbes tells bias from variance: with every unit vector as a probe
// nothing is random, and the value must be the exact one to eps.
func TestUnitProbes(t *testing.T) {
	for _, kernel := range Families() {
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
	d, p := smoothData(n, 3, 0.1), testParams(kernel, 3, noise)
	exact, err := newExactObjective(engine(t), d.table(), p)
	if err != nil {
		t.Fatal(err)
	}
	want, err := exact.Evaluate(context.Background(), p, EvalOptions{Gradient: true})
	if err != nil {
		t.Fatal(err)
	}
	o := mustObjective(t, d.table(), p)
	o.basis64, o.exactGrad = true, true
	opt := EvalOptions{Request: cost.Request{Rank: 20, Neighbours: nn}, Eps: 1e-6, Precision: "f64", Gradient: gradient}
	if err := o.Rebuild(context.Background(), p, opt); err != nil {
		t.Fatal(err)
	}
	o.setProbes(unitProbes(n), 0)
	got, err := o.Evaluate(context.Background(), p, opt)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got.LML-want.LML) > 1e-6 {
		t.Errorf("%s, noise %g, nn %d: %.9f in [%.9f, %.9f], exact %.9f", kernel, noise, nn, got.LML, got.Lower, got.Upper, want.LML)
	}
	if !gradient {
		return
	}
	// P knows the information of c within a factor of two: less than the subset does.
	if r := got.MeanInfo / want.MeanInfo; nn > 0 && !(r > 0.5 && r < 2) {
		t.Errorf("%s, noise %g, nn %d: information of c %.4g, exact %.4g", kernel, noise, nn, got.MeanInfo, want.MeanInfo)
	}
	a, b := flat(got.Gradient), flat(want.Gradient)
	for i := range a {
		if math.Abs(a[i]-b[i]) > 1e-6*(1+math.Abs(b[i])) {
			t.Errorf("%s, noise %g, nn %d: gradient %d is %.9g, exact %.9g", kernel, noise, nn, i, a[i], b[i])
		}
	}
}

// TestMemory compares an evaluation whose basis does not fit with one that has
// room: the same bounds and gradient, more passes.
func TestMemory(t *testing.T) {
	d, p := smoothData(600, 3, 0.1), testParams("matern32", 3, 0.1)
	opt := EvalOptions{Request: cost.Request{Probes: 31, Rank: 50, Neighbours: 0}, Eps: 0.1, Gradient: true, Precision: "f64"}
	var full *Evaluation
	for _, most := range []int{0, -1, 96} {
		o := mustObjective(t, d.table(), p)
		if opt.Memory = 0; most != 0 {
			opt.Memory = cost.ProgramBytes + cost.TableBytes(600, 3) + cost.KrylovBytes(600, 3, 32, 50, 0) + 4*600*int64(max(most, 0)) + 100
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
			t.Errorf("%d columns stored: %d passes, %d of them again; %d with room", most, ev.Passes, ev.Replayed, full.Passes)
		}
		for i, c := range [][2]float64{{ev.Lower, full.Lower}, {ev.Upper, full.Upper}} {
			if math.Abs(c[0]-c[1]) > 1e-6*math.Abs(c[1]) {
				t.Errorf("%d columns stored, bound %d: %.9g, with room %.9g", most, i, c[0], c[1])
			}
		}
		a, b := flat(ev.Gradient), flat(full.Gradient)
		for i := range a {
			if math.Abs(a[i]-b[i]) > 1e-4*(1+math.Abs(b[i])) {
				t.Errorf("%d columns stored, gradient %d: %.7g, with room %.7g", most, i, a[i], b[i])
			}
		}
	}
}

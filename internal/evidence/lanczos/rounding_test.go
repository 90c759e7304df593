package lanczos

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/evidencetest"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// reordered returns the rows of d in another order.
func reordered(d *gp.Table, rng *rand.Rand) *gp.Table { return d.Rows(rng.Perm(d.X.Rows)) }

// TestRounding: where the noise is tiny and the target does not fit, the likelihood is
// rounded in every order of the rows otherwise; the exact and the iterative bounds allow for that,
// and for not much more.
func TestRounding(t *testing.T) {
	ctx := context.Background()
	for _, kernel := range gp.Families() {
		for _, noise := range []float64{1e-8, 1e-6} {
			rng := rand.New(rand.NewPCG(3, 4))
			d := &gp.Table{X: linalg.NewMatrix(300, 2), Y: make([]float64, 300)}
			for i := range d.Y {
				d.X.Set(i, 0, rng.NormFloat64())
				d.X.Set(i, 1, rng.NormFloat64())
				d.Y[i] = rng.NormFloat64()
			}
			p := gp.Params{Kernel: kernel, Variance: 1, Noise: noise, Lengthscales: []float64{3, 3}}
			var first *evidence.Value
			for range 4 {
				ev := evidencetest.Exact(t, d, p, evidence.Options{})
				if first == nil {
					first = ev
				}
				if off := math.Abs(ev.LML - first.LML); off > (ev.Upper-ev.Lower)/2+(first.Upper-first.Lower)/2 {
					t.Errorf("%s, noise %g: %.10g and %.10g are further apart than "+
						"the bounds say", kernel, noise, ev.LML, first.LML)
				}
				if width := ev.Upper - ev.Lower; !(width > 0) || width > 1e-5*math.Abs(ev.LML) {
					t.Errorf("%s, noise %g: %.3g allowed for rounding of %.6g", kernel, noise, width, ev.LML)
				}
				d = reordered(d, rng)
			}
			it, err := mustObjective(t, d, p).Evaluate(ctx, p,
				evidence.Options{Request: cost.Request{Probes: 7, Rank: 0, Neighbours: 40}, Eps: 1, Precision: "f64"})
			if err != nil {
				t.Fatal(err)
			}
			if i := it.Interval(0.999); i[0] > evidence.Bound(first.Upper) || i[1] < evidence.Bound(first.Lower) {
				t.Errorf("%s, noise %g: interval %v, exact in [%.10g, %.10g]",
					kernel, noise, i, first.Lower, first.Upper)
			}
		}
	}
}

// TestFloat32Asked: float32 that is asked for is declined, or its interval holds the truth,
// in one input and more, at any noise.
func TestFloat32Asked(t *testing.T) {
	ctx := context.Background()
	for _, kernel := range gp.Families() {
		for _, inputs := range []int{1, 2} {
			for _, noise := range []float64{1e-2, 1e-5, 1e-6, 1e-7} {
				rng := rand.New(rand.NewPCG(5, 6))
				d := &gp.Table{X: linalg.NewMatrix(400, inputs), Y: make([]float64, 400)}
				for i := range d.Y {
					for j := range inputs {
						d.X.Set(i, j, rng.NormFloat64())
					}
					d.Y[i] = math.Sin(2*d.X.At(i, 0)) + 1e-3*rng.NormFloat64()
				}
				p := gp.Params{Kernel: kernel, Variance: 1, Noise: noise, Lengthscales: []float64{1, 1}[:inputs]}
				want := evidencetest.Exact(t, d, p, evidence.Options{})
				ev, err := mustObjective(t, d, p).Evaluate(ctx, p,
					evidence.Options{Request: cost.Request{Probes: 7, Rank: 0, Neighbours: 32},
						Eps: 1, Precision: "f32"})
				if err != nil {
					continue // declined
				}
				if i := ev.Interval(0.999); i[0] > evidence.Bound(want.Upper) || i[1] < evidence.Bound(want.Lower) ||
					ev.Upper-ev.Lower > 4 {
					t.Errorf("%s, %d inputs, noise %g, in %s: interval %v, bias in [%.6g, "+
						"%.6g], exact %.6g", kernel, inputs, noise, ev.Precision, i, ev.Lower, ev.Upper, want.LML)
				}
			}
		}
	}
}

// TestFarRows: rows far from the others cost neither the value nor the gradient digits,
// whatever the precision.
func TestFarRows(t *testing.T) {
	ctx := context.Background()
	for _, kind := range []string{"sentinels", "shifted", "four far away", "Cauchy"} {
		rng := rand.New(rand.NewPCG(7, 8))
		d := &gp.Table{X: linalg.NewMatrix(700, 3), Y: make([]float64, 700)}
		for i := range d.Y {
			row := d.X.Row(i)
			for j := range row {
				row[j] = rng.NormFloat64()
			}
			d.Y[i] = math.Sin(2*row[0]) + 0.5*row[1]*row[1]*math.Cos(row[2]) + 0.2*rng.NormFloat64()
			switch far := rng.IntN(20) == 0; {
			case kind == "sentinels" && far:
				row[0] = -999
			case kind == "shifted" && far:
				row[0] += 1000
			case kind == "four far away" && i < 4:
				row[0] += 1e7 * (1 + rng.Float64())
			case kind == "Cauchy":
				row[0] /= rng.NormFloat64()
			}
		}
		p := gp.Params{Kernel: "matern32", Variance: 1, Noise: 0.04, Lengthscales: []float64{0.5, 1, 2}}
		var evs [2]*evidence.Value
		for k, prec := range []string{"f32", "f64"} {
			ev, err := mustObjective(t, d, p).Evaluate(ctx, p,
				evidence.Options{Request: cost.Request{Probes: 7, Rank: 100, Neighbours: 0}, Eps: 1e-2, Seed: 1,
					Precision: prec, Gradient: true})
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			evs[k] = ev
		}
		if a, b := evs[0], evs[1]; a.Precision != "f32" || a.Lower > b.Upper || a.Upper < b.Lower ||
			a.Upper-a.Lower > 0.1 {
			t.Errorf("%s: [%.6f, %.6f] in %s, [%.6f, %.6f] in float64",
				kind, a.Lower, a.Upper, a.Precision, b.Lower, b.Upper)
		}
		a, b := gptest.Flatten(evs[0].Gradient.Lengthscales, evs[0].Gradient.Variance, evs[0].Gradient.Noise,
			evs[0].Gradient.Mean), gptest.Flatten(evs[1].Gradient.Lengthscales, evs[1].Gradient.Variance,
			evs[1].Gradient.Noise, evs[1].Gradient.Mean)
		for i, v := range b {
			if math.Abs(a[i]-v) > 1e-2*(1+0.01*math.Abs(v)) {
				t.Errorf("%s: derivative %d is %.6g in float32, %.6g in float64", kind, i, a[i], v)
			}
		}
	}
}

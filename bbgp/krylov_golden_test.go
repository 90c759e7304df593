package bbgp

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/lanczos"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
)

// TestGoldenBounds holds the bounds and the standard error against the exact
// values of three real sets, for three seeds; for ten under BBGP_LONG=1.
func TestGoldenBounds(t *testing.T) {
	seeds := uint64(3)
	if long() {
		seeds = 10
	}
	for _, name := range []string{"elevators", "pol", "bike"} {
		g, _, std := loadGolden(t, name)
		for _, c := range []struct {
			point string
			pt    goldenPoint
			d     *gp.Table
		}{
			{"initial", g.Initial, std},
			{"n1000.initial", g.N1000.Initial, first1000(std)},
			{"n1000.low_noise", g.N1000.LowNoise, first1000(std)},
		} {
			p, want := c.pt.params(), float64(c.pt.LML)
			o := krylovOf(t, c.d, p)
			for seed := range seeds {
				opt := evidence.Options{Request: cost.Request{Probes: 32, Rank: -1, Neighbours: -1}, Eps: 1, Seed: seed}
				if err := o.Rebuild(context.Background(), p, opt); err != nil {
					t.Fatal(err)
				}
				ev, err := o.Evaluate(context.Background(), p, opt)
				if err != nil {
					t.Fatalf("%s %s: %v", name, c.point, err)
				}
				if ev.Upper-ev.Lower > 2*opt.Eps {
					t.Errorf("%s %s seed %d: bounds %.3f apart", name, c.point, seed, ev.Upper-ev.Lower)
				}
				if want < ev.Lower-5*ev.StdErr || want > ev.Upper+5*ev.StdErr {
					t.Errorf("%s %s seed %d: exact %.3f, bounds [%.3f, %.3f], standard error %.3f",
						name, c.point, seed, want, ev.Lower, ev.Upper, ev.StdErr)
				}
			}
		}
	}
}

// TestGoldenGradient compares the mean of gradients over probes with the exact
// one: its components must agree within what the seeds scatter.
func TestGoldenGradient(t *testing.T) {
	for _, name := range []string{"elevators", "bike"} {
		g, _, std := loadGolden(t, name)
		d := first1000(std)
		for _, pt := range []goldenPoint{g.N1000.Initial, g.N1000.LowNoise} {
			p, want := pt.params(), pt.gradient()
			o := krylovOf(t, d, p)
			const seeds = 6
			sum, square := make([]float64, len(want)), make([]float64, len(want))
			for seed := range uint64(seeds) {
				opt := evidence.Options{Request: cost.Request{Probes: 15, Rank: -1, Neighbours: -1}, Eps: 0.1,
					Seed: seed, Gradient: true}
				if err := o.Rebuild(context.Background(), p, opt); err != nil {
					t.Fatal(err)
				}
				ev, err := o.Evaluate(context.Background(), p, opt)
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range flat(ev.Gradient) {
					sum[i] += v / seeds
					square[i] += v * v / seeds
				}
			}
			for i, v := range want {
				se := math.Sqrt(max(square[i]-sum[i]*sum[i], 0) / (seeds - 1))
				// eps is a bias of the value; the gradient may carry the like of it.
				if math.Abs(sum[i]-v) > 6*se+0.2+2e-3*math.Abs(v) {
					t.Errorf("%s noise %g, component %d: mean %.5g, standard error %.2g, exact %.5g",
						name, p.Noise, i, sum[i], se, v)
				}
			}
		}
	}
}

func krylovOf(t testing.TB, d *gp.Table, p Params) *lanczos.Estimator {
	o, err := lanczos.New(gptest.Engine(t), d, p)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

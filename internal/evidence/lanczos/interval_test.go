package lanczos

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/evidencetest"
	"bbgp.dev/internal/gptest"
)

// TestStudentQuantile against tables (Abramowitz and Stegun 26.10) and the normal limit.
func TestStudentQuantile(t *testing.T) {
	for _, c := range []struct{ p, degrees, want float64 }{
		{0.975, 1, 12.7062047364}, {0.975, 7, 2.36462425159}, {0.9995, 7, 5.40788252098}, {0.9995, 2, 31.5990545764},
		{0.975, 100, 1.98397151852}, {0.9995, 1e9, 3.29052673149}, {0.975, 1e5, 1.95998770777},
		{0.75, 3, 0.764892328404},
	} {
		if got := evidence.StudentQuantile(c.p, c.degrees); math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("quantile %v with %v degrees of freedom: %.9g, want %.9g", c.p, c.degrees, got, c.want)
		}
	}
}

// TestIntervals: of 2000 evaluations in 200 cases, with any number of probes and any
// preconditioner, at least 94 % of the 95 % intervals hold the exact likelihood, and 99.7 % of
// those of 99.9 %. Maps whose preconditioner is left open have one of latents with every other seed.
func TestIntervals(t *testing.T) {
	ctx := context.Background()
	all, latents, in95, in999 := 0, 0, 0, 0
	for number := range uint64(200) {
		d, p, rank, near := gptest.Drawn(number)
		want := evidencetest.Exact(t, d, p, evidence.Options{})
		for seed := range uint64(10) {
			probes := []int{7, 2, 15, 7, 1}[seed%5]
			opt := evidence.Options{Request: cost.Request{Probes: probes, Rank: rank, Neighbours: near},
				Eps: 0.05, Seed: seed + 1}
			if rank < 0 && d.X.Cols <= 2 && seed%2 == 1 {
				opt.Latents = 1 + d.X.Rows/cost.LatentRows[(number+seed)%uint64(len(cost.LatentRows))]
				opt.Product = []string{"dense", "h2"}[number%2]
			}
			ev, err := mustObjective(t, d, p).Evaluate(ctx, p, opt)
			if err != nil {
				t.Fatalf("case %d: %v", number, err)
			}
			if ev.Latents > 0 {
				latents++
			}
			all++
			inside := func(level float64) int {
				i := ev.Interval(level)
				if i[0] <= evidence.Bound(want.LML) && evidence.Bound(want.LML) <= i[1] {
					return 1
				}
				return 0
			}
			in95, in999 = in95+inside(0.95), in999+inside(0.999)
		}
	}
	a, b := float64(in95)/float64(all), float64(in999)/float64(all)
	t.Logf("%d evaluations, %d with latents, %.4f and %.4f inside", all, latents, a, b)
	if a < 0.94 || b < 0.997 || latents == 0 {
		t.Errorf("%.4f of the 95 %% intervals hold the likelihood, %.4f of those of 99.9 %%", a, b)
	}
}

// TestMergedScatter: runs of 7 and 15 probes are as good as one of 22.
func TestMergedScatter(t *testing.T) {
	one := func(probes int) evidence.Scatter {
		return evidence.Scatter{Scale: 3 / math.Sqrt(float64(probes)), Degrees: 10 * float64(probes), Probes: probes}
	}
	got, want := one(7).Merge(one(15)), one(22)
	if math.Abs(got.Scale-want.Scale) > 1e-12 || math.Abs(got.Degrees-want.Degrees) > 1e-9 ||
		got.Probes != want.Probes {
		t.Errorf("merged %+v, want %+v", got, want)
	}
}

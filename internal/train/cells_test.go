package train

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
)

// A rounded function of two counts, beside an input that tells nothing: each cell has a level of its own, and rows that
// share one tell that there is no noise. A smooth function with rounding as noise is a maximum 300 nats lower, where
// most climbs end. With the same cells and noise in them nothing is to be told.
func TestCellsApart(t *testing.T) {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(3, 22))
	counts := func(noise float64) *gp.Table {
		return filled(300, 3, func(_ int, x []float64) float64 {
			for j := range x {
				x[j] = float64(rng.IntN(20)-10) / 6
			}
			x[2] += rng.Float64()
			y := math.Round(3 + 2*math.Sin(2*x[0]+3) + math.Exp(0.6*x[1]+1))
			return (y-6)/3 + noise*rng.NormFloat64()
		})
	}
	d := counts(0)
	f := searchOf(t, d, true)
	all, err := f.denseSearch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	at, err := f.denseSurface(f.Std)
	if err != nil {
		t.Fatal(err)
	}
	p := gp.Params{Kernel: f.Config.Kernel, Variance: 1, Noise: 2e-6, Lengthscales: []float64{0.4, 0.4, gp.FarLength}}
	c := newClimber(gptest.Engine(t), "the place", at, p, f.Flat, len(d.Y))
	c.start(ctx)
	if err := c.climb(ctx, 60); err != nil {
		t.Fatal(err)
	}
	t.Logf("%.2f from %s, %.2f from the place", all[0].LML, all[0].From, c.value)
	if !(float64(all[0].LML) > c.value-0.1) {
		t.Errorf("the search ends at %.2f, from %s, below %.2f", all[0].LML, all[0].From, c.value)
	}
	f = searchOf(t, counts(0.2), true)
	p.Noise, p.Lengthscales = 0.04, []float64{2, 2, math.Inf(1)}
	if _, from := f.cellsApart(&climber{p: p}); from != "" {
		t.Error("noise within cells is taken for none: ", from)
	}
}

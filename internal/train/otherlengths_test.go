package train

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/gp"
)

// terraces returns rows whose target has steps in the first and the last of its inputs, with much noise.
func terraces(n, d int) *gp.Table {
	rng := rand.New(rand.NewPCG(5, 8))
	return filled(n, d, func(_ int, x []float64) float64 {
		for j := range x {
			x[j] = math.Sqrt(12) * (rng.Float64() - 0.5)
		}
		return math.Floor(1.2*x[0]) + math.Floor(x[d-1]) + 0.4*rng.NormFloat64()
	})
}

// stoodAt returns a training that has ended near p, with the kernel.
func stoodAt(t *testing.T, kernel string, d *gp.Table, p gp.Params) (*Search, *Trainer) {
	p.Kernel = kernel
	f, tr := ended(t, d, p)
	f.Config.Kernel = kernel
	if _, err := tr.run(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	return f, tr
}

// A training that has told steps by long lengthscales and noise goes on at short ones, and one that has
// come there stays.
func TestOtherLengths(t *testing.T) {
	d, out := terraces(1200, 4), math.Inf(1)
	f, tr := stoodAt(t, "gaussian", d, startAt(0.2, 3, out, out, 2.5))
	before := tr.Cur
	better, err := f.otherLengths(context.Background(), tr)
	if err != nil || !better {
		t.Fatal(better, err, before.P, f.Starts)
	}
	if _, err := tr.run(context.Background(), tr.Cur.P); err != nil {
		t.Fatal(err)
	}
	l := tr.Cur.P.Lengthscales
	t.Logf("L %v, before %v; lengthscales %.3g, before %.3g", tr.Cur.Ev.LML, before.Ev.LML, l, before.P.Lengthscales)
	if tr.Cur.Ev.LML < before.Ev.LML+30 || l[0] > 1 || l[3] > 1 {
		t.Errorf("L %v, before %v; lengthscales %.3g", tr.Cur.Ev.LML, before.Ev.LML, l)
	}
	if better, err = f.otherLengths(context.Background(), tr); err != nil || better {
		t.Error(better, err, f.Starts)
	}
	if c := f.Starts[len(f.Starts)-1]; c.Dropped == "" || c.Evaluations > 30 {
		t.Errorf("where nothing leads: %+v", c)
	}
}

// Where inducing rows leave much open, or there is hardly any noise, they are not asked.
func TestOtherLengthsAreNotAsked(t *testing.T) {
	d := terraces(600, 2)
	f, tr := stoodAt(t, "matern12", d, startAt(0.02, 0.3, 0.3))
	tr.Cur.P.Lengthscales = []float64{0.05, 0.05}
	tr.Cur.P.Noise = 0.02
	for range 2 {
		if better, err := f.otherLengths(context.Background(), tr); better || err != nil || len(f.Starts) > 0 {
			t.Error(better, err, f.Starts)
		}
		tr.Cur.P.Noise = 1e-4
	}
}

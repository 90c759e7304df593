package train

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// roughRows returns n rows of d inputs and a draw of Matérn 1/2 with ℓ = .5 in the first two, of mean 3.
func roughRows(n, d int, noise float64) *gp.Table {
	rng := rand.New(rand.NewPCG(5, 8))
	const waves = 400
	way, phase := [waves][2]float64{}, [waves]float64{}
	for k := range way { // the law of its frequencies
		chi := math.Abs(rng.NormFloat64())
		way[k] = [2]float64{rng.NormFloat64() / chi / 0.5, rng.NormFloat64() / chi / 0.5}
		phase[k] = 2 * math.Pi * rng.Float64()
	}
	return filled(n, d, func(_ int, x []float64) float64 {
		y := 3 + math.Sqrt(noise)*rng.NormFloat64()
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		for k, w := range way {
			y += math.Sqrt(2.0/waves) * math.Cos(w[0]*x[0]+w[1]*x[1]+phase[k])
		}
		return y
	})
}

// A candidate far out on the ridge, where lengths are fifty times those of the function and σ_f²
// makes up for it, comes back to them; one that is there stays, and so do a Gaussian, four inputs
// and a few rows.
func TestRidge(t *testing.T) {
	d := roughRows(5000, 4, 0.01)
	search := searchOf(t, d, false)
	search.Config.Kernel = "matern12"
	s, err := newCoarse(search)
	if err != nil {
		t.Fatal(err)
	}
	inf := math.Inf(1)
	truth := gp.Params{Kernel: "matern12", Mean: 3, Variance: 1, Noise: 0.01, Lengthscales: []float64{.5, .5, inf, inf}}
	far := truth.Clone()
	far.Variance, far.Lengthscales[0], far.Lengthscales[1], far.Mean = 50, 25, 25, 0
	at := func(p gp.Params) (gp.Params, float64) {
		top, gain, err := s.atTop(context.Background(), p, linalg.Matrix{})
		if err != nil {
			t.Fatal(err)
		}
		return top, gain
	}
	top, gain := at(far)
	if l := top.Lengthscales[0]; l < 0.2 || l > 1.5 || gain < 3 || math.Abs(top.Variance/l-2) > 1e-9 ||
		math.Abs(top.Mean-3) > 1.5 || top.Noise != far.Noise || !math.IsInf(top.Lengthscales[2], 1) {
		t.Errorf("from far out: %+v, %.3g nats", top, gain)
	}
	if back, more := at(top); math.Abs(math.Log(back.Lengthscales[0]/top.Lengthscales[0])) > 0.2 || more > 0.1 {
		t.Errorf("from the top: %+v, %.3g nats", back, more)
	}
	// Other rows that tell the lengthscales hold it back, and those that tell the noise alone do not.
	told := linalg.NewMatrix(7, 7)
	told.Set(5, 5, 1e6)
	free, _, err := s.atTop(context.Background(), far, told)
	told.Set(0, 0, 1e4)
	held, _, err2 := s.atTop(context.Background(), far, told)
	if err != nil || err2 != nil || free.Variance != top.Variance || math.Abs(held.Variance/far.Variance-1) > 0.1 {
		t.Errorf("beside rows that tell the noise %+v, the first length %+v", free, held)
	}
	smooth, all := far.Clone(), far.Clone()
	smooth.Kernel = "gaussian"
	all.Lengthscales = []float64{25, 25, 25, 25}
	for name, p := range map[string]gp.Params{"gaussian": smooth, "four inputs": all} {
		if q, gain := at(p); gain != 0 || q.Variance != p.Variance {
			t.Errorf("%s: moved to %+v", name, q)
		}
	}
	search.Std = search.Std.Rows(gp.Subset(5000, 1000, 1))
	if _, gain := at(far); gain != 0 {
		t.Error("a hundred rows tell too little")
	}
}

// Noise that near rows of a rough function speak against is not evaluated on all rows; less clear cases
// and smooth functions are.
func TestNoiseByNeighbours(t *testing.T) {
	search := searchOf(t, roughRows(1500, 2, 1e-6), false)
	for _, c := range []struct {
		kernel string
		noise  float64
		drops  bool
	}{{"matern12", 0.5, true}, {"matern12", 1e-4, false}, {"matern52", 0.5, false}, {"gaussian", 0.5, false}} {
		p := gp.Params{Kernel: c.kernel, Mean: 3, Variance: 1, Noise: 1e-6, Lengthscales: []float64{.5, .5}}
		search.Config.Kernel = c.kernel
		near, err := search.compares(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		q := p.Clone()
		q.Noise = c.noise
		if why, err := near.drops(context.Background(), q); err != nil || (why != "") != c.drops {
			t.Errorf("%s, noise %g: %q, %v", c.kernel, c.noise, why, err)
		}
	}
}

// A training that has ended beyond where the coarse search may go is taken to the top of its ridge;
// one within that room, or of few rows, stays.
func TestUpRidge(t *testing.T) {
	inf := math.Inf(1)
	far := gp.Params{Kernel: "matern12", Variance: 80, Noise: 0.01, Lengthscales: []float64{40, 40, inf, inf}}
	near := far.Clone()
	near.Variance, near.Lengthscales[0], near.Lengthscales[1] = 20, 10, 10
	for _, c := range []struct {
		rows  int
		p     gp.Params
		moves bool
	}{{5000, far, true}, {5000, near, false}, {3000, far, false}} {
		f := searchOf(t, roughRows(c.rows, 4, 0.01), false)
		f.Config.Kernel = "matern12"
		tr := f.trainer(nil, f.Std, "train")
		tr.Cur = Iterate{P: c.p, Ev: &evidence.Value{StdErr: 1}}
		moves, err := f.upRidge(context.Background(), tr)
		if err != nil || moves != c.moves {
			t.Fatal(c.rows, c.p, moves, err)
		}
		if l := tr.Cur.P.Lengthscales[0]; moves && (l < 0.2 || l > 1.5 || len(f.Starts) != 1) {
			t.Errorf("%d rows: lengthscales %v", c.rows, tr.Cur.P.Lengthscales)
		}
	}
}

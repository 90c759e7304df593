package train

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// The likelihood along a line is that of the dense matrix, up to one constant for all lengths and noises.
func TestFilterOfLine(t *testing.T) {
	ctx, e, rng := context.Background(), gptest.Engine(t), rand.New(rand.NewPCG(2, 9))
	d := filled(60, 1, func(i int, x []float64) float64 {
		x[0] = rng.NormFloat64() * 20
		if i%5 == 0 {
			x[0] = 3 // at one place
		}
		return math.Sin(float64(i)/5) + rng.NormFloat64()
	})
	d.NoiseScale = make([]float64, len(d.Y))
	mean := 0.0
	for i, y := range d.Y {
		d.NoiseScale[i] = 0.5 + rng.Float64()
		mean += y / float64(len(d.Y))
	}
	ordered := newLone(d, 0)
	// dense is log p(y) at the most likely scale, up to the same constant.
	dense := func(l, noise float64) float64 {
		p := gp.DefaultParams("matern32", 1)
		p.Lengthscales[0], p.Variance, p.Noise, p.Mean = l, 1-noise, noise, mean
		chol, err := gp.NewCholesky(e, d, p)
		if err != nil {
			t.Fatal(err)
		}
		if err := chol.Factor(ctx, p); err != nil {
			t.Fatal(err)
		}
		n, square := len(d.Y), 0.0
		b := linalg.NewMatrix(n, 1)
		for i, y := range d.Y {
			b.Set(i, 0, y-mean)
		}
		chol.Chol.SolveLTo(b, b)
		for i := range n {
			square += b.At(i, 0) * b.At(i, 0)
		}
		return -(float64(n)*math.Log(square/float64(n)) + chol.Chol.LogDet()) / 2
	}
	for _, l := range []float64{0.1, 2, 50} {
		for _, noise := range []float64{0.999, 0.5, 0.01} {
			gptest.CloseTo(t, "likelihood", ordered.filter(d.Y, l, noise), dense(l, noise), 1e-8)
		}
	}
}

// Structure of one input that a common length for all inputs does not show: a short wave beside a long one, a wave over
// few levels beside a trend, a wave behind much noise, a product of waves along the bound of rounding, a wave
// beside indicators. The likelihoods are those of the best of 40 restarts or better.
func TestAloneStarts(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	uniform := func(x []float64) {
		for j := range x {
			x[j] = rng.Float64()
		}
	}
	levels := filled(170, 5, func(_ int, x []float64) float64 {
		uniform(x)
		for j := range x {
			x[j] = math.Round(20*x[j]) / 20
		}
		return math.Sin(10*math.Pi*x[0]) + x[1] + 0.01*rng.NormFloat64()
	})
	noisy := filled(210, 3, func(_ int, x []float64) float64 {
		uniform(x)
		return math.Mod(8*x[0], 1) + 0.4*rng.NormFloat64()
	})
	scales := filled(110, 5, func(_ int, x []float64) float64 {
		uniform(x)
		return math.Sin(2*x[0]) + 0.3*math.Sin(60*x[1]) + 0.01*rng.NormFloat64()
	})
	product := filled(200, 4, func(_ int, x []float64) float64 {
		uniform(x)
		return math.Sin(12*x[0])*math.Sin(12*x[1]) + x[0] + x[1] + x[2] + x[3] + 0.01*rng.NormFloat64()
	})
	indicators := filled(200, 7, func(i int, x []float64) float64 {
		uniform(x[5:])
		x[i%5] = 1
		return []float64{0, 3, -2, 1, 5}[i%5] + math.Sin(15*x[5]) + 0.01*rng.NormFloat64()
	})
	for i, d := range []*gp.Table{levels, noisy, scales, product, indicators} {
		all, err := searchOf(t, d, true).denseSearch(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		want := []float64{345.6, -282.7, -42.9, 70.4, 600.6}[i]
		t.Logf("%.3f from %s", all[0].LML, all[0].From)
		if float64(all[0].LML) < want-0.1 {
			t.Errorf("table %d: the search ends at %.2f, from %s, below %.2f", i, all[0].LML, all[0].From, want)
		}
	}
}

// The rows that are looked at may have more variance than all: their noise is no more than what is tried.
func TestAloneStartsOfFarRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 9))
	d := filled(4*aloneRows, 3, func(_ int, x []float64) float64 {
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		return 4*math.Sin(3*x[0]) + 2*math.Sin(3*x[1]) + 3*rng.NormFloat64()
	})
	for _, i := range gp.Subset(len(d.Y), aloneRows, 0) {
		d.Y[i] *= 3
	}
	starts := aloneStarts("matern52", d, make([]bool, 3))
	if len(starts) < 3 {
		t.Fatalf("%d starts", len(starts))
	}
	for _, s := range starts {
		if err := s.p.Check(3); err != nil {
			t.Errorf("%s: %v", s.from, err)
		}
	}
}

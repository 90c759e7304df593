package bbgp

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// mapData returns n places of d inputs, uniform or in clusters, with a smooth field.
func mapData(n, d int, clusters bool, noise float64, seed uint64) *Data {
	rng := rand.New(rand.NewPCG(seed, 9))
	x, y := linalg.NewMatrix(n, d), make([]float64, n)
	for i := range n {
		for k := range d {
			v := rng.Float64()
			if clusters && i%2 == 0 {
				v = 0.1*float64((i*7+k*3)%10) + 0.02*rng.NormFloat64()
			}
			x.Set(i, k, v)
			y[i] += math.Sin(9 * v * float64(k+1))
		}
		y[i] += math.Sqrt(noise) * rng.NormFloat64()
	}
	return &Data{X: x, Y: y}
}

// With the same P and probes, likelihoods by products of form h2 are those by dense ones
// to eps/10, so are the gradients, and their bounds overlap: kernels, lengthscales, noise
// of 1e-1 to 1e-6 of the variance, two and three inputs, uniform and clustered.
func TestProductForms(t *testing.T) {
	ctx := context.Background()
	kernels := []string{"matern12", "matern32", "matern52", "gaussian"}
	noises, lengths := []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-6}, []float64{0.05, 0.1, 0.3}
	for i := range 10 {
		d := 2 + i%5/4
		p := Params{Kernel: kernels[i%4], Variance: 1, Noise: noises[i%5],
			Lengthscales: []float64{lengths[i%3], lengths[i%3], lengths[i%3]}[:d]}
		name := fmt.Sprintf("%s, %d inputs, noise %g, l %g", p.Kernel, d, p.Noise, lengths[i%3])
		data := mapData(2500, d, i%2 == 1, p.Noise, uint64(i))
		var got [2]*LMLReport
		for k, product := range []string{"dense", "h2"} {
			var err error
			opt := Options{Method: "bbgp", Product: enum.Product(product),
				NoScale: true, Rank: -1, Neighbours: 48, Probes: 3, Seed: 3}
			if got[k], err = LogMarginalLikelihood(ctx, data, p, opt); err != nil {
				t.Fatalf("%s: %s: %v", name, product, err)
			}
			if string(got[k].Product) != product {
				t.Fatalf("%s: product %s", name, got[k].Product)
			}
		}
		dense, fast := got[0], got[1]
		if diff := math.Abs(dense.LML - fast.LML); diff > 0.1+float64(fast.Upper-fast.Lower) || fast.Tolerance <= 0 ||
			fast.BoundKind != "probable" {
			t.Errorf("%s: %v in [%v, %v], dense %v, tolerance %g, %s", name, fast.LML, fast.Lower, fast.Upper,
				dense.LML, fast.Tolerance, fast.BoundKind)
		}
		if fast.Lower > dense.Upper || dense.Lower > fast.Upper {
			t.Errorf("%s: bounds [%v, %v], dense [%v, %v]", name, fast.Lower, fast.Upper, dense.Lower, dense.Upper)
		}
		for k, g := range dense.Gradient.Lengthscales {
			if diff := math.Abs(fast.Gradient.Lengthscales[k] - g); diff > 1e-2*math.Abs(g)+1/p.Lengthscales[k] {
				t.Errorf("%s: gradient %d: %v, dense %v", name, k, fast.Gradient.Lengthscales[k], g)
			}
		}
	}
}

// A tolerance that is far too coarse is found out: it is made finer, or the bounds say what
// it may do, and K is never called indefinite.
func TestCoarseTolerance(t *testing.T) {
	p := Params{Kernel: "matern32", Variance: 1, Noise: 1e-4, Lengthscales: []float64{0.3, 0.3}}
	data := mapData(2500, 2, false, p.Noise, 5)
	var got [2]*LMLReport
	for k, product := range []string{"dense", "h2"} {
		opt := Options{Method: "bbgp", Product: enum.Product(product),
			Tolerance: 1e-3, NoScale: true, Rank: -1, Neighbours: 48,
			Probes: 3, Seed: 3, Eps: 0.5}
		var err error
		if got[k], err = LogMarginalLikelihood(context.Background(), data, p, opt); err != nil {
			t.Fatal(err)
		}
	}
	if got[1].Lower > got[0].Upper || got[0].Lower > got[1].Upper || got[1].Tolerance > 1e-5 {
		t.Errorf("[%v, %v] with tolerance %g, dense [%v, %v]", got[1].Lower, got[1].Upper, got[1].Tolerance,
			got[0].Lower, got[0].Upper)
	}
}

// The choice by itself: few inputs and many rows, and dense elsewhere.
func TestProductChoice(t *testing.T) {
	for _, c := range []struct {
		n, d int
		want string
	}{{14000, 2, "h2"}, {3000, 2, "dense"}, {3000, 5, "dense"}} {
		p := Params{Kernel: "matern32", Variance: 1, Noise: 1e-2}
		for range c.d {
			p.Lengthscales = append(p.Lengthscales, 0.1)
		}
		r, err := LogMarginalLikelihood(context.Background(), mapData(c.n, c.d, false, 1e-2, 1), p,
			Options{Method: "bbgp", NoScale: true, NoGradient: true, Neighbours: 32, Rank: -1})
		if err != nil || string(r.Product) != c.want {
			t.Errorf("%d rows, %d inputs: %v, %v", c.n, c.d, r.Product, err)
		}
	}
}

// The derivative by an input that is out is that of dense products.
func TestProductGradientOut(t *testing.T) {
	data := mapData(2500, 3, true, 0.01, 5)
	p := Params{Kernel: "matern52", Variance: 1, Noise: 0.01, Lengthscales: []float64{0.2, gp.FarLength, 0.3}}
	var got [2]*LMLReport
	for k, product := range []string{"dense", "h2"} {
		opt := Options{Method: "bbgp", Product: enum.Product(product),
			NoScale: true, Rank: -1, Neighbours: 48, Probes: 3, Seed: 3}
		var err error
		if got[k], err = LogMarginalLikelihood(context.Background(), data, p, opt); err != nil ||
			string(got[k].Product) != product {
			t.Fatal(err, got[k])
		}
	}
	for j, want := range got[0].Gradient.Lengthscales {
		if off := math.Abs(got[1].Gradient.Lengthscales[j] - want); want == 0 || off > 1e-3*math.Abs(want) {
			t.Errorf("input %d: %v, dense %v", j, got[1].Gradient.Lengthscales[j], want)
		}
	}
}

// A plan of a map knows that products are below n².
func TestPlanMap(t *testing.T) {
	data := mapData(60000, 2, false, 0.01, 5)
	var seconds [2]float64
	for k, product := range []string{"auto", "dense"} {
		p, err := NewPlan(context.Background(), data, Options{Kernel: "matern32", Product: enum.Product(product)})
		if err != nil {
			t.Fatal(err)
		}
		seconds[k] = p.CPUSeconds
		if k == 0 && (p.Rank > 0 || p.Neighbours == 0) {
			t.Errorf("rank %d, %d neighbours", p.Rank, p.Neighbours)
		}
	}
	if !(3*seconds[0] < seconds[1]) {
		t.Errorf("%.3g CPU s below n², %.3g dense", seconds[0], seconds[1])
	}
}

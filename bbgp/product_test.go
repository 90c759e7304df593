package bbgp

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/cost"
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

// A formCase is a map with a θ at which forms are compared.
type formCase struct {
	name string
	data *Data
	p    Params
}

// formCaseOf returns the i-th of fifty: four kernels, lengthscales of .001 to 1000, noise of 1e-1 to 1e-6
// of the variance, two and three inputs; uniform or clustered places, repeats, all on a line, some
// far away, weights, known noise, and inputs that are out.
func formCaseOf(i, n int) formCase {
	kernel := []string{"matern12", "matern32", "matern52", "gaussian"}[i%4]
	noise := []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6}[i/2%6]
	length := []float64{0.05, 0.1, 0.3, 1, 1e3, 1e-3, 0.02}[i%7]
	kind := []string{"uniform", "clusters", "repeats", "line", "far", "weights", "known noise", "ten inputs"}[i*3/5%8]
	d := 2 + i%3/2
	data := mapData(n, d, kind == "clusters" || i%3 == 0, noise, uint64(i))
	p := Params{Kernel: kernel, Variance: 1, Noise: noise, Lengthscales: []float64{length, length, length}[:d]}
	rng := rand.New(rand.NewPCG(uint64(i), 4))
	x := data.X
	switch kind {
	case "repeats":
		copy(x.Data[n/2*d:], x.Data[:n/2*d])
	case "line":
		for r := range n {
			for k := 1; k < d; k++ {
				x.Set(r, k, 1-2*x.At(r, 0))
			}
		}
	case "far":
		x.Set(3, 0, 1e7)
		x.Set(n/2, d-1, -1e5)
	case "weights":
		for range n {
			data.NoiseScale = append(data.NoiseScale, math.Exp(rng.NormFloat64()))
		}
	case "known noise":
		for range n {
			data.NoiseExtra = append(data.NoiseExtra, 3*noise*rng.Float64())
		}
	case "ten inputs":
		wide := linalg.NewMatrix(n, 10)
		for r := range n {
			for j := range 10 {
				wide.Set(r, j, rng.NormFloat64())
			}
			for k := range d {
				wide.Set(r, 3*k+1, x.At(r, k))
			}
		}
		data.X = wide
		p.Lengthscales = slices.Repeat([]float64{math.Inf(1)}, 10)
		for k := range d {
			p.Lengthscales[3*k+1] = length
		}
	}
	drawn(data, p, 500, rng)
	return formCase{fmt.Sprintf("%d: %s, %d inputs, noise %g, l %g, %s", i, kernel, d, noise, length, kind), data, p}
}

// drawn sets the target to a draw of p, by so many random frequencies: those of a Matérn function
// have Student's t with 2ν degrees of freedom as law.
func drawn(d *Data, p Params, frequencies int, rng *rand.Rand) {
	dof := map[string]int{"matern12": 1, "matern32": 3, "matern52": 5}[p.Kernel]
	n := d.X.Rows
	d.Y = make([]float64, n)
	way := make([]float64, d.X.Cols)
	for range frequencies {
		chi := 0.0
		for range dof {
			z := rng.NormFloat64()
			chi += z * z / float64(dof)
		}
		if dof == 0 {
			chi = 1
		}
		for k, l := range p.Lengthscales {
			way[k] = rng.NormFloat64() / l / math.Sqrt(chi)
		}
		phase := 2 * math.Pi * rng.Float64()
		for i := range n {
			at := phase
			for k, w := range way {
				at += w * d.X.At(i, k)
			}
			d.Y[i] += math.Sqrt(2*p.Variance/float64(frequencies)) * math.Cos(at)
		}
	}
	for i, v := range gp.NoiseOf(p, d.table()) {
		d.Y[i] += math.Sqrt(v) * rng.NormFloat64()
	}
}

// both returns the likelihood at c by dense products and by those of form h2.
func (c *formCase) both(t *testing.T, opt Options) (dense, fast *LMLReport) {
	t.Helper()
	var got [2]*LMLReport
	for k, product := range []string{"dense", "h2"} {
		var err error
		opt.Product = enum.Product(product)
		if got[k], err = LogMarginalLikelihood(context.Background(), c.data, c.p, opt); err != nil {
			t.Fatalf("%s: %s: %v", c.name, product, err)
		}
		if string(got[k].Product) != product {
			t.Fatalf("%s: product %s", c.name, got[k].Product)
		}
	}
	return got[0], got[1]
}

// With the same P and probes, likelihoods by products of form h2, their bounds and their gradients by
// logarithms are those by dense ones to eps/10. BBGP_LONG=1 takes all fifty cases. Of more rows than cost.DenseRows
// reported gradients have more passes with dense products, and are no measure of the form.
func TestProductForms(t *testing.T) {
	n, every := 2500, 5
	if os.Getenv("BBGP_LONG") != "" {
		n, every = cost.DenseRows, 1
	}
	for i := 0; i < 50; i += every {
		t.Run(fmt.Sprint(i), func(t *testing.T) { compareForms(t, formCaseOf(i, n)) })
	}
}

func compareForms(t *testing.T, c formCase) {
	const eps = 1.0
	dense, fast := c.both(t, Options{Method: "bbgp", NoScale: true, Rank: -1, Neighbours: 48, Probes: 3, Seed: 3})
	near := func(what string, got, want, scale float64) {
		most := eps / 10
		if strings.HasPrefix(what, "by") {
			most += 0.02 * math.Abs(want) * scale // twice what the columns of a gradient leave in either
		}
		if off := math.Abs(got-want) * scale; !(off <= most) {
			t.Errorf("%s: %s: %v, dense %v", c.name, what, got, want)
		}
	}
	near("value", fast.LML, dense.LML, 1)
	near("lower", float64(fast.Lower), float64(dense.Lower), 1)
	near("upper", float64(fast.Upper), float64(dense.Upper), 1)
	near("by the variance", fast.Gradient.Variance, dense.Gradient.Variance, c.p.Variance)
	near("by the noise", fast.Gradient.Noise, dense.Gradient.Noise, c.p.Noise)
	near("by the mean", fast.Gradient.Mean, dense.Gradient.Mean, math.Sqrt(c.p.Variance))
	for k, g := range dense.Gradient.Lengthscales {
		if l := c.p.Lengthscales[k]; !math.IsInf(l, 1) {
			near(fmt.Sprintf("by length %d", k), fast.Gradient.Lengthscales[k], g, l)
		}
	}
	if fast.Tolerance <= 0 || fast.BoundKind != "probable" {
		t.Errorf("%s: tolerance %g, %s", c.name, fast.Tolerance, fast.BoundKind)
	}
	t.Logf("%s: %.6g in [%.6g, %.6g], dense %.6g in [%.6g, %.6g], %d and %d passes, %s and %s", c.name, fast.LML,
		fast.Lower, fast.Upper, dense.LML, dense.Lower, dense.Upper, fast.Passes, dense.Passes, fast.Precision,
		dense.Precision)
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
		if k == 0 && (p.Rank > 0 || p.Neighbours+p.Latents == 0) {
			t.Errorf("rank %d, %d neighbours, %d latents", p.Rank, p.Neighbours, p.Latents)
		}
	}
	if !(3*seconds[0] < seconds[1]) {
		t.Errorf("%.3g CPU s below n², %.3g dense", seconds[0], seconds[1])
	}
}

package main

import (
	"context"
	"math"
	"math/rand/v2"

	"bbgp.dev/bbgp"
	"bbgp.dev/linalg"
	"gonum.org/v1/gonum/optimize"
)

// bestDense is the greatest dense likelihood that BFGS of another author finds from so
// many random starts, within the limits that bbgp has.
func bestDense(ctx context.Context, g *design, starts int, e *linalg.Engine) (best float64, at bbgp.Params) {
	d, n := g.data.X.Cols, float64(g.data.X.Rows)
	opt := bbgp.Options{Method: "exact", Engine: e}
	params := func(z []float64) bbgp.Params {
		p := bbgp.DefaultParams(g.kernel, d)
		for j := range p.Lengthscales {
			p.Lengthscales[j] = math.Exp(min(max(z[j], -12), 16))
		}
		p.Noise = 1e-6 + math.Exp(min(z[d+1], 5))
		p.Variance = min(math.Exp(min(max(z[d], -13), 27)), 1e14*p.Noise/n)
		p.Mean = z[d+2]
		return p
	}
	var lastZ, grad []float64
	var value float64
	eval := func(z []float64) {
		if lastZ != nil && equal(lastZ, z) {
			return
		}
		lastZ = append(lastZ[:0], z...)
		grad = make([]float64, len(z))
		p := params(z)
		r, err := bbgp.LogMarginalLikelihood(ctx, g.data, p, opt)
		if err != nil {
			value = math.Inf(1)
			return
		}
		value = -r.LML
		for j, l := range p.Lengthscales {
			grad[j] = -r.Gradient.Lengthscales[j] * l
		}
		grad[d], grad[d+1], grad[d+2] = -r.Gradient.Variance*p.Variance,
			-r.Gradient.Noise*(p.Noise-1e-6), -r.Gradient.Mean
		if -value > best {
			best, at = -value, p
		}
	}
	best = math.Inf(-1)
	rng := rand.New(rand.NewPCG(99, uint64(g.index)))
	problem := optimize.Problem{
		Func: func(z []float64) float64 { eval(z); return value },
		Grad: func(dst, z []float64) { eval(z); copy(dst, grad) },
	}
	for s := range starts {
		z := make([]float64, d+3)
		common := math.Log(0.03) + rng.Float64()*math.Log(30/0.03)
		for j := range d {
			z[j] = common
			if s%2 == 0 {
				z[j] = math.Log(0.03) + rng.Float64()*math.Log(30/0.03)
			}
		}
		z[d], z[d+1] = rng.Float64()*math.Log(10), math.Log(1e-5)*rng.Float64()
		// An error is a line search that found no step: what it has seen counts.
		_, _ = optimize.Minimize(problem, z, &optimize.Settings{MajorIterations: 150, FuncEvaluations: 300,
			Converger: &optimize.FunctionConverge{Absolute: 1e-4, Iterations: 8}}, &optimize.BFGS{})
	}
	return best, at
}

func equal(a, b []float64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

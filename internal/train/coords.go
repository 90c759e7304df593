package train

import (
	"math"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// The two coordinate systems of training, both of D + 3 numbers in the order
// ℓ_1..ℓ_D, σ_f², σ_n², c: logarithms (z) for the metric steps, the softplus
// line (u) for Adam. An inactive input (ℓ = +Inf) has a place, but is not free.

const (
	// lowSoft is the least u that a search starts from: below it u has no effect.
	lowSoft = -30
	// maxVariance bounds σ_f² in training, and mostCondition n σ_f²/σ_n², the
	// condition of K̂: beyond it the noise drowns in the rounding of products.
	maxVariance   = 1e12
	mostCondition = 1e14
)

// logVector returns z; inactive inputs have log FarLength.
func logVector(p gp.Params) []float64 {
	z := make([]float64, 0, len(p.Lengthscales)+3)
	for _, l := range p.Lengthscales {
		z = append(z, math.Log(min(l, gp.FarLength)))
	}
	return append(z, math.Log(p.Variance), math.Log(p.Noise), p.Mean)
}

// fromLog returns the parameters at z, with those inputs inactive.
func fromLog(kernel string, z []float64, inactive []bool) gp.Params {
	d := len(z) - 3
	p := gp.Params{Kernel: kernel, Lengthscales: make([]float64, d),
		Variance: math.Exp(z[d]), Noise: max(math.Exp(z[d+1]), gp.MinParam), Mean: z[d+2]}
	for j := range p.Lengthscales {
		p.Lengthscales[j] = math.Exp(z[j])
		if inactive[j] {
			p.Lengthscales[j] = math.Inf(1)
		}
	}
	return p
}

// logGradient returns ∂L/∂z at p.
func logGradient(g *evidence.Gradient, p gp.Params) []float64 {
	d := len(p.Lengthscales)
	v := make([]float64, d+3)
	for j, l := range p.Lengthscales {
		if !math.IsInf(l, 1) {
			v[j] = g.Lengthscales[j] * l
		}
	}
	v[d], v[d+1], v[d+2] = g.Variance*p.Variance, g.Noise*p.Noise, g.Mean
	return v
}

// logRange returns the least and the greatest value of each of z in training.
func logRange(d int) (lo, hi []float64) {
	lo, hi = make([]float64, d+3), make([]float64, d+3)
	for j := range d {
		lo[j], hi[j] = math.Log(gp.MinParam), math.Log(gp.FarLength)
	}
	lo[d], hi[d] = math.Log(gp.MinParam), math.Log(maxVariance)
	lo[d+1], hi[d+1] = math.Log(gp.MinParam), math.Log(maxVariance)
	lo[d+2], hi[d+2] = math.Inf(-1), math.Inf(1)
	return lo, hi
}

// softVector returns u; the mean is itself.
func softVector(p gp.Params) []float64 {
	u := make([]float64, 0, len(p.Lengthscales)+3)
	for _, l := range p.Lengthscales {
		u = append(u, max(gp.SoftplusInverse(l), lowSoft))
	}
	return append(u, max(gp.SoftplusInverse(p.Variance), lowSoft), max(gp.SoftplusInverse(p.Noise), lowSoft), p.Mean)
}

// fromSoft returns the parameters at u.
func fromSoft(kernel string, u []float64) gp.Params {
	d := len(u) - 3
	p := gp.Params{Kernel: kernel, Lengthscales: make([]float64, d),
		Variance: gp.Softplus(u[d]), Noise: gp.Softplus(u[d+1]), Mean: u[d+2]}
	for j := range p.Lengthscales {
		p.Lengthscales[j] = gp.Softplus(u[j])
	}
	return p
}

// softGradient returns ∂L/∂u at u.
func softGradient(g *evidence.Gradient, u []float64) []float64 {
	d := len(u) - 3
	v := make([]float64, d+3)
	for j := range d {
		v[j] = g.Lengthscales[j] * gp.SoftplusSlope(u[j])
	}
	v[d], v[d+1], v[d+2] = g.Variance*gp.SoftplusSlope(u[d]), g.Noise*gp.SoftplusSlope(u[d+1]), g.Mean
	return v
}

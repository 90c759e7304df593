package bbgp

import "math"

// The two coordinate systems of training, both of D + 3 numbers in the order
// ℓ_1..ℓ_D, σ_f², σ_n², c: logarithms (z) for the metric steps, the softplus
// line (u) for Adam. An input that is out (ℓ = +Inf) has a place, but is not free.

const (
	// farLength stands for a lengthscale of +Inf where the gradient by
	// w = 1/ℓ² at w = 0 is wanted: it changes no entry of K, and ∂L/∂log ℓ =
	// -2 w ∂L/∂w keeps its digits.
	farLength = 1e8
	// lowSoft is the least u that a search starts from: below it u has no effect.
	lowSoft = -30
	// maxVariance bounds σ_f² in training, and mostCondition n σ_f²/σ_n², the
	// condition of K̂: beyond it the noise drowns in the rounding of products.
	maxVariance   = 1e12
	mostCondition = 1e14
)

// dropFar returns p with +Inf in place of farLength.
func dropFar(p Params) Params {
	q := p.Clone()
	for j, l := range q.Lengthscales {
		if l == farLength {
			q.Lengthscales[j] = math.Inf(1)
		}
	}
	return q
}

// logVector returns z; inputs that are out have log farLength.
func logVector(p Params) []float64 {
	z := make([]float64, 0, len(p.Lengthscales)+3)
	for _, l := range p.Lengthscales {
		z = append(z, math.Log(min(l, farLength)))
	}
	return append(z, math.Log(p.Variance), math.Log(p.Noise), p.Mean)
}

// fromLog returns the parameters at z, with those inputs out.
func fromLog(kernel string, z []float64, out []bool) Params {
	d := len(z) - 3
	p := Params{Kernel: kernel, Lengthscales: make([]float64, d),
		Variance: math.Exp(z[d]), Noise: max(math.Exp(z[d+1]), minParam), Mean: z[d+2]}
	for j := range p.Lengthscales {
		if p.Lengthscales[j] = math.Exp(z[j]); out[j] {
			p.Lengthscales[j] = math.Inf(1)
		}
	}
	return p
}

// logGradient returns ∂L/∂z at p.
func logGradient(g *Gradient, p Params) []float64 {
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
		lo[j], hi[j] = math.Log(minParam), math.Log(farLength)
	}
	lo[d], hi[d] = math.Log(minParam), math.Log(maxVariance)
	lo[d+1], hi[d+1] = math.Log(minParam), math.Log(maxVariance)
	lo[d+2], hi[d+2] = math.Inf(-1), math.Inf(1)
	return lo, hi
}

// softVector returns u; the mean is itself.
func softVector(p Params) []float64 {
	u := make([]float64, 0, len(p.Lengthscales)+3)
	for _, l := range p.Lengthscales {
		u = append(u, max(softplusInverse(l), lowSoft))
	}
	return append(u, max(softplusInverse(p.Variance), lowSoft), max(softplusInverse(p.Noise), lowSoft), p.Mean)
}

// fromSoft returns the parameters at u.
func fromSoft(kernel string, u []float64) Params {
	d := len(u) - 3
	p := Params{Kernel: kernel, Lengthscales: make([]float64, d),
		Variance: softplus(u[d]), Noise: softplus(u[d+1]), Mean: u[d+2]}
	for j := range p.Lengthscales {
		p.Lengthscales[j] = softplus(u[j])
	}
	return p
}

// softGradient returns ∂L/∂u at u.
func softGradient(g *Gradient, u []float64) []float64 {
	d := len(u) - 3
	v := make([]float64, d+3)
	for j := range d {
		v[j] = g.Lengthscales[j] * softplusSlope(u[j])
	}
	v[d], v[d+1], v[d+2] = g.Variance*softplusSlope(u[d]), g.Noise*softplusSlope(u[d+1]), g.Mean
	return v
}

package kernelmv

import (
	"bbgp.dev/asm"
	"math"
)

// The scalar formulas, with math.Exp and in the units of the lengthscales. The
// tile routines are tested against them; nothing that runs over all pairs of
// points may use them.

// At returns k(a, b) = s2 h(r), r² = Σ_d ((a_d - b_d)/l_d)².
func (k *Kernel) At(a, b []float64) float64 {
	return k.Variance * unitCov(k.Family, k.dist2(a, b))
}

// WeightAt returns w(a, b) with ∂k(a, b)/∂log l_d = w ((a_d - b_d)/l_d)²:
// Matérn-1/2 k/r (0 at r = 0), 3/2 3 s2 exp(-a), 5/2 (5/3) s2 (1 + a) exp(-a),
// Gaussian k.
func (k *Kernel) WeightAt(a, b []float64) float64 {
	return k.Variance * unitWeight(k.Family, k.dist2(a, b))
}

// GradAt adds scale · ∂k(a, b)/∂log l_d to dst[d] for every input d.
func (k *Kernel) GradAt(dst []float64, scale float64, a, b []float64) {
	w := scale * k.WeightAt(a, b)
	for d, l := range k.Lengthscales {
		if t := (a[d] - b[d]) / l; t != 0 {
			dst[d] += w * t * t
		}
	}
}

func (k *Kernel) dist2(a, b []float64) float64 {
	if len(a) != len(k.Lengthscales) || len(b) != len(k.Lengthscales) {
		panic("kernelmv: At: bad lengths")
	}
	var s float64
	for d, l := range k.Lengthscales {
		t := (a[d] - b[d]) / l
		s += t * t
	}
	return s
}

// unitCov is h as a function of r².
func unitCov(f asm.Family, r2 float64) float64 {
	switch f {
	case Matern12:
		return math.Exp(-math.Sqrt(r2))
	case Matern32:
		a := math.Sqrt(3 * r2)
		return (1 + a) * math.Exp(-a)
	case Matern52:
		a := math.Sqrt(5 * r2)
		return (1 + a + a*a/3) * math.Exp(-a)
	case Gaussian:
		return math.Exp(-r2 / 2)
	}
	panic("kernelmv: unitCov: unknown family")
}

// unitWeight is w with ∂h/∂log l_d = w ((a_d - b_d)/l_d)², by dr/dlog l_d =
// -t_d²/r and h'(r)/r. Matérn-1/2 has no derivative at r = 0, where its terms
// vanish: 0 there.
func unitWeight(f asm.Family, r2 float64) float64 {
	switch f {
	case Matern12:
		if r2 == 0 {
			return 0
		}
		r := math.Sqrt(r2)
		return math.Exp(-r) / r
	case Matern32:
		return 3 * math.Exp(-math.Sqrt(3*r2))
	case Matern52:
		a := math.Sqrt(5 * r2)
		return 5.0 / 3 * (1 + a) * math.Exp(-a)
	case Gaussian:
		return math.Exp(-r2 / 2)
	}
	panic("kernelmv: unitWeight: unknown family")
}

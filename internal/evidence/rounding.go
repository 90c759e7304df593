package evidence

import (
	"math"

	"bbgp.dev/kernelmv"
)

// What the rounding of float64 does to L. An entry of K is rounded, a sum of n products or
// a pivot of Cholesky is rounded n times, by chance up or down, so that by the
// probabilistic analysis (Higham and Mary 2019) everything is as if K̂ were changed by
// ΔK with entries of about δ = u (n^1/2 + x) σ_f², u = 2^-52, x the largest scaled coordinate,
// for these are rounded, too. Then, to first order,
//
//	|ΔQ| = |α'ΔK α| <= δ |α|²,   |Δ log det K̂| = |tr K̂⁻¹ΔK| <= δ tr K̂⁻¹,   α = K̂⁻¹(y - c)
//
// if the signs of ΔK are random. Those of the function h are not quite: its values for near
// arguments are off in one direction, by less than u/16 in the mean. Where α is smooth, for the
// target is and the lengthscales do not fit it, this adds up to u/16 σ_f² |α|_1². The sums that make
// L add u n^1/2 of the sizes of their terms. Where the noise is small and the target does not fit,
// |α|² is large and L known to few digits.

// roundingMargin covers what "about" leaves open: the audit (bench/audit) finds errors of up to a
// third of this.
const roundingMargin = 4

// unit is the distance from 1 to the next float64.
const unit = 0x1p-52

// Products of one input carry sums along the line (kernelmv/line.go), and what a step rounds goes on to all later rows:
// where the sums of a smooth α are large and cancel, that is n^1/2 times as much.

// RoundingOfProducts is RoundingOf where K̂ is not there but in products.
func RoundingOfProducts(op *kernelmv.Op, alpha []float64, trace, quad float64) float64 {
	steps := 2 * unit * op.Kernel().Variance * op.LineHalves(alpha)
	return RoundingOf(op, alpha, trace, quad) + roundingMargin*0.5*steps
}

// RoundingOf bounds the error of L by rounding with the matrix of op, from α, an estimate
// of tr K̂⁻¹, and the size of Q.
func RoundingOf(op *kernelmv.Op, alpha []float64, trace, quad float64) float64 {
	alpha1, alpha2 := 0.0, 0.0
	for _, a := range alpha {
		alpha1 += math.Abs(a)
		alpha2 += a * a
	}
	n := float64(op.Dim())
	root := unit * math.Sqrt(n)
	entry := (root + unit*op.Extent()) * op.Kernel().Variance
	bias := unit / 16 * op.Kernel().Variance * alpha1 * alpha1
	// 40: logarithms of pivots are smaller, for 1e-17 < pivot < 1e17.
	return roundingMargin * 0.5 * (entry*(alpha2+trace) + bias + root*(40*n+math.Abs(quad)))
}

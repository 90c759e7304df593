package kernelmv

import (
	"math"

	"bbgp.dev/linalg"
)

// What float32 does to a gradient. The three terms of grad.go cancel to the squares of
// differences; what a sum of float32 loses is 2^-24 of the terms w_ab x'_a x'_b, by
// chance up or down. With |w| <= |M| the root of the sum of their squares is at most
//
//	(Σ_ab M_ab² x'_a² x'_b²)^1/2,  Σ_ab M_ab² x_a² x_b² = Σ_rs g_r g_s (Σ_a x_a² u_ra u_sa)²
//
// for M = Σ_r g_r u_r u_r': O(n R²) for an input. x' are coordinates within a far cluster.

const (
	float32Unit = 0x1p-24
	// sumLoss: rounding errors of sums of 48 rows, measured against the bound below.
	sumLoss = 1
	// modestX is a coordinate whose square float32 holds well enough in any case: 2^-24
	// modestX² sumLoss is 1e-4 of the terms.
	modestX = 16
)

// GradError foresees the largest error that GradTo in F32 makes beyond that of its
// entries, for the same u (n×R) and g, in the units of its result: the standard deviation
// of rounding errors, seldom exceeded twice.
func (o *Op) GradError(u linalg.Matrix, g []float64) float64 {
	if u.Rows != o.Dim() || len(g) != u.Cols {
		panic("kernelmv: GradError: bad shapes")
	}
	if o.line != nil || o.kernel.Family == Matern12 { // float64 in any case
		return 0
	}
	worst, n := 0.0, o.Dim()
	scaled, gram := linalg.NewMatrix(n, u.Cols), linalg.NewMatrix(u.Cols, u.Cols)
	for k, d := range o.pts.dims {
		if o.pts.localExtent(k) <= modestX {
			continue
		}
		for i := range n {
			x := o.pts.local(k, o.pts.raw.At(i, d))
			row := scaled.Row(i)
			for r, v := range u.Row(i) {
				row[r] = x * v
			}
		}
		o.engine.GemmTo(gram, 1, scaled, true, scaled, false, 0)
		sum := 0.0
		for r := range gram.Rows {
			for s, v := range gram.Row(r) {
				sum += g[r] * g[s] * v * v
			}
		}
		worst = max(worst, sum)
	}
	return 2 * sumLoss * float32Unit * o.kernel.Variance * o.kernel.Family.WeightFactor() * math.Sqrt(worst)
}

// localExtent is the largest local coordinate of input number k of dims.
func (p *points) localExtent(k int) float64 {
	d, far := p.dims[k], 0.0
	if p.cuts[k] == nil && p.spread[d]*p.factor[k] <= modestX {
		return p.spread[d] * p.factor[k]
	}
	for i := range p.raw.Rows {
		far = max(far, math.Abs(p.local(k, p.raw.At(i, d))))
	}
	return far
}

// Extent returns the largest scaled coordinate: in F32 they are off by up to 2^-24 of it.
func (o *Op) Extent() float64 {
	far := 0.0
	for _, v := range o.pts.x {
		far = max(far, math.Abs(v))
	}
	return far
}

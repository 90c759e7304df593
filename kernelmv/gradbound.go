package kernelmv

import (
	"math"

	"bbgp.dev/linalg"
)

// What rounding does to a gradient. The three terms of grad.go cancel to the squares of
// differences; sums lose 2^-24 or 2^-53 of the terms w_ab x'_a x'_b, by
// chance up or down. With |w| <= |M| the root of the sum of their squares is at most
//
//	(Σ_ab M_ab² x'_a² x'_b²)^1/2 <= X² |M|_F,   X = max |x'|
//	Σ_ab M_ab² x_a² x_b² = Σ_rs g_r g_s (Σ_a x_a² u_ra u_sa)²,   |M|_F² = Σ_rs g_r g_s (u_r'u_s)²
//
// for M = Σ_r g_r u_r u_r': O(n R²) for an input. x' are coordinates within a far cluster.
// Where that is too much in float64, too, the differences themselves are squared (direct.go).

// sumLoss is what a sum loses by that, measured: 0.02 to 0.2, on tables of farTable.
const sumLoss = 0.3

// GradError foresees the largest error that GradTo in F32 makes beyond that of its
// entries, for the same u (n×R) and g, in the units of its result; enough tells below which
// error no closer look is taken.
func (o *Op) GradError(u linalg.Matrix, g []float64, enough float64) float64 {
	u.Check()
	if u.Rows != o.Dim() || len(g) != u.Cols {
		panic("kernelmv: GradError: bad shapes")
	}
	if o.line != nil || o.kernel.Family == Matern12 { // float64 in any case
		return 0
	}
	n := o.Dim()
	unit := 2 * sumLoss * 0x1p-24 * o.kernel.Variance * o.kernel.Family.WeightFactor()
	size := unit * o.formSize(u, g)
	worst := 0.0
	scaled := linalg.NewMatrix(n, u.Cols)
	for k, d := range o.pts.dims {
		far := o.pts.localExtent(k)
		if bound := far * far * size; bound <= enough || bound <= worst {
			worst = max(worst, bound)
			continue
		}
		for i := range n {
			x := o.pts.local(k, o.pts.raw.At(i, d))
			row := scaled.Row(i)
			for r, v := range u.Row(i) {
				row[r] = x * v
			}
		}
		worst = max(worst, unit*o.formSize(scaled, g))
	}
	return worst
}

// formSize is |M|_F for M = Σ_r g_r u_r u_r'.
func (o *Op) formSize(u linalg.Matrix, g []float64) float64 {
	o.gram = grow(o.gram, u.Cols*u.Cols)
	gram, sum := linalg.Matrix{Rows: u.Cols, Cols: u.Cols, Stride: u.Cols, Data: o.gram}, 0.0
	o.engine.GemmTo(gram, 1, u, true, u, false, 0)
	for r := range gram.Rows {
		for s, v := range gram.Row(r) {
			sum += g[r] * g[s] * v * v
		}
	}
	return math.Sqrt(max(sum, 0))
}

// localExtent is the largest local coordinate of input number k of dims.
func (p *points) localExtent(k int) float64 {
	d, far := p.dims[k], 0.0
	for i := range p.raw.Rows {
		far = max(far, math.Abs(p.local(k, p.raw.At(i, d))))
	}
	return far
}

// rounded is how large a coordinate x of value v float32 has to hold in input number k of
// dims: where all rows near have that value, none, for a difference of 0 is exact.
func (p *points) rounded(k int, v, x float64) float64 {
	if cut := p.cuts[k]; cut != nil {
		if c := cut[clusterOf(cut, v)]; c.lo == c.hi {
			return 0
		}
	}
	return math.Abs(x)
}

// farthest sets size, if not nil, to the largest coordinate of every row that float32 has
// to hold, and returns the largest of all.
func (p *points) farthest(size []float64) float64 {
	most := 0.0
	for i := range p.raw.Rows {
		far := 0.0
		for k, d := range p.dims {
			far = max(far, p.rounded(k, p.raw.At(i, d), p.x[i*p.dim+k]))
		}
		most = max(most, far)
		if size != nil {
			size[i] = far
		}
	}
	return most
}

// Extent returns the largest scaled coordinate that F32 has to hold: it is off by up to
// 2^-24 of it, and so are distances to rows near that one.
func (o *Op) Extent() float64 { return o.pts.farthest(nil) }

// Farthest returns m rows, in no order, whose coordinates float32 rounds most.
func (o *Op) Farthest(m int) []int {
	n := o.Dim()
	size, rows := make([]float64, n), make([]int32, n)
	o.pts.farthest(size)
	for i := range rows {
		rows[i] = int32(i)
	}
	m = min(m, n)
	selectBy(rows, m, func(i int32) float64 { return -size[i] })
	out := make([]int, m)
	for k := range out {
		out[k] = int(rows[k])
	}
	return out
}

package kernelmv

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// A LengthscaleError refuses a lengthscale that its input is too wide for: scaled coordinates
// of 10¹⁵ and more have no squares to be compared.
type LengthscaleError struct{ Input int }

func (e *LengthscaleError) Error() string {
	return fmt.Sprintf("kernelmv: the lengthscale of input %d is too small for its values", e.Input)
}

// maxScaled bounds scaled coordinates, so that squares and their sums stay
// finite in float32.
const maxScaled = 1e15

// points are the training inputs, scaled so that exp(-a) = 2^-r with r the
// distance of two scaled points: x'_d = (x_d - mean_d) c/l_d, but for far clusters.
type points struct {
	raw     linalg.Matrix // n×D, not copied
	mean    []float64     // D
	centre  []float64     // D: medians, values of the column itself
	spread  []float64     // D: largest minus smallest value
	varying []int         // inputs with two different values
	dropped []int         // the others

	dims   []int       // inputs in the distance: varying and l_d finite
	factor []float64   // c/l_d for dims
	reach  float64     // scaled distance beyond which the covariance is nothing
	cuts   [][]cluster // of dims, nil for those without far clusters
	dim    int         // columns of x: len(dims), but at least 1
	x      []float64   // n×dim in the order of raw
}

func newPoints(x linalg.Matrix) (*points, error) {
	if x.Rows < 1 || x.Cols < 1 {
		return nil, errors.New("kernelmv: no points")
	}
	for i := range x.Rows {
		for d, v := range x.Row(i) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("kernelmv: input %d of row %d is %v", d, i, v)
			}
		}
	}
	p := &points{raw: x, mean: make([]float64, x.Cols), centre: make([]float64, x.Cols),
		spread: make([]float64, x.Cols)}
	column := make([]float64, x.Rows)
	for d := range x.Cols {
		lo, hi, first := x.Data[d], x.Data[d], x.Data[d]
		var sum float64
		for i := range x.Rows {
			v := x.Data[i*x.Stride+d]
			lo, hi, sum = min(lo, v), max(hi, v), sum+(v-first)
			column[i] = v
		}
		p.centre[d] = smallest(column, x.Rows/2)
		p.mean[d] = first + sum/float64(x.Rows)
		p.spread[d] = hi - lo
		if lo < hi {
			p.varying = append(p.varying, d)
		} else {
			p.dropped = append(p.dropped, d)
		}
	}
	return p, nil
}

// smallest returns the value that stands at position k of the sorted keys, which it permutes:
// quickselect in O(n). Its pivots come from places without a pattern, as columns may have one.
func smallest(keys []float64, k int) float64 {
	var r uint32
	pick := func() float64 {
		r = 1664525*r + 1013904223
		return keys[uint64(r)*uint64(len(keys))>>32]
	}
	for {
		pivot := medianOf3(pick(), pick(), pick())
		less, upTo := partition(keys, pivot)
		switch {
		case k < less:
			keys = keys[:less]
		case k < upTo:
			return pivot
		default:
			keys, k = keys[upTo:], k-upTo
		}
	}
}

// rescale recomputes the scaled coordinates for k.
func (p *points) rescale(k *Kernel) error {
	c := k.Family.Scale()
	p.dims, p.factor, p.cuts = p.dims[:0], p.factor[:0], p.cuts[:0]
	p.reach = math.Sqrt(farDist2(k.Family, emptyCov))
	for _, d := range p.varying {
		if l := k.Lengthscales[d]; !math.IsInf(l, 1) {
			p.dims = append(p.dims, d)
			p.factor = append(p.factor, c/l)
			p.cuts = append(p.cuts, p.clustersOf(d, c/l, p.reach))
		}
	}
	p.dim = max(1, len(p.dims))
	p.x = grow(p.x, p.raw.Rows*p.dim)
	for i := range p.raw.Rows {
		row := p.x[i*p.dim : (i+1)*p.dim]
		p.scaleRow(row, p.raw.Row(i))
		for k, v := range row {
			if !(math.Abs(v) < maxScaled) {
				return &LengthscaleError{Input: p.dims[k]}
			}
		}
	}
	return nil
}

// scaleRow sets dst (dim values) to the scaled coordinates of a row of D inputs.
func (p *points) scaleRow(dst, row []float64) {
	dst[0] = 0 // without any input in the distance all points are one
	for k, d := range p.dims {
		if p.cuts[k] != nil {
			dst[k] = coordinate(p.cuts[k], row[d], p.factor[k], p.reach)
			continue
		}
		dst[k] = (row[d] - p.mean[d]) * p.factor[k]
	}
}

// local is the scaled coordinate of v in input number k of dims about an origin near it:
// squares of differences to rows within reach cancel little.
func (p *points) local(k int, v float64) float64 {
	origin := p.centre[p.dims[k]]
	if cut := p.cuts[k]; cut != nil {
		origin = cut[clusterOf(cut, v)].middle
	}
	return (v - origin) * p.factor[k]
}

// locals returns the local coordinates of all rows, n×dim: x itself where no input has far
// clusters, for then x is as good.
func (p *points) locals() []float64 {
	if !slices.ContainsFunc(p.cuts, func(c []cluster) bool { return c != nil }) {
		return p.x
	}
	x := make([]float64, len(p.x))
	for i := range p.raw.Rows {
		for k, d := range p.dims {
			x[i*p.dim+k] = p.local(k, p.raw.At(i, d))
		}
	}
	return x
}

// interleave packs points q0..q1-1 of the row-major src (n×d) in groups of w:
// point q goes to dst[(q/w)·w·d + k·w + q mod w]. Position q holds row
// order[q] (a nil order: row q); positions from n on repeat
// position n-1. q0, q1 and w are
// multiples of 4: four points at a time make stores that lie together.
func interleave[T asm.Float](dst []T, src []float64, d, w int, order []int32, n, q0, q1 int) {
	at := func(q int) []float64 {
		q = min(q, n-1)
		if order != nil {
			q = int(order[q])
		}
		return src[q*d : (q+1)*d]
	}
	for q := q0; q < q1; q += 4 {
		a, b, c, e := at(q), at(q+1), at(q+2), at(q+3)
		out := dst[q/w*w*d+q%w:]
		b, c, e = b[:len(a)], c[:len(a)], e[:len(a)]
		for k, v := range a {
			o := out[k*w : k*w+4 : k*w+4]
			o[0], o[1], o[2], o[3] = T(v), T(b[k]), T(c[k]), T(e[k])
		}
	}
}

// grow returns a slice of length n, in the memory of s if that suffices. Its
// content is undefined.
func grow[E any](s []E, n int) []E {
	if cap(s) < n {
		return make([]E, n)
	}
	return s[:n]
}

// padTo is n rounded up to a multiple of unit.
func padTo(n, unit int) int { return (n + unit - 1) / unit * unit }

package kernelmv

import (
	"math"

	"bbgp.dev/asm"
)

// Skipping of tiles whose entries are negligible. For up to 3 inputs the
// points are put in the order of a k-d tree, so that superblocks, tiles of
// columns and tiles of rows are compact; a tile is left out if h at the
// distance of the bounding boxes is below a tolerance. With more inputs boxes
// are never far apart.

const (
	maxSortDim = 3
	farF32     = 1e-10 // tolerance of h: n·1e-10 ||V|| stays below the rounding of float32 products
	farF64     = 1e-17
)

// arrangeOrder makes the order of the points for the parameters at hand, if there is to
// be one: the tiles ask for it, other forms do without.
func (o *Op) arrangeOrder() {
	if o.unsorted {
		o.sortPoints()
		o.order, o.unsorted = o.sorted, false
	}
}

// sortPoints fills o.sorted with the order of a k-d tree whose cuts lie at the
// borders of superblocks, then of tiles, then of tile rows.
func (o *Op) sortPoints() {
	n := o.Dim()
	o.sorted = grow(o.sorted, n)
	for i := range o.sorted {
		o.sorted[i] = int32(i) // not the last order, or bits would depend on it
	}
	o.cut(0, n, make([]float64, 2*o.pts.dim))
}

func (o *Op) cut(from, to int, box []float64) {
	size := to - from
	unit := asm.RowUnit
	switch {
	case size <= unit:
		return
	case size > o.sched.block:
		unit = o.sched.block
	case size > asm.Pad:
		unit = asm.Pad
	}
	d := o.pts.dim
	at := func(p int32) []float64 { return o.pts.x[int(p)*d : int(p+1)*d] }
	widest := boundingBox(box, o.sorted[from:to], at)
	mid := from + max(unit, (size/2+unit/2)/unit*unit)
	selectBy(o.sorted[from:to], mid-from, func(p int32) float64 { return o.pts.x[int(p)*d+widest] })
	o.cut(from, mid, box)
	o.cut(mid, to, box)
}

// boxes are the bounding boxes of groups of points in packed order.
type boxes struct {
	dim               int
	limit             float64   // squared distance beyond which h is negligible
	rows, cols, block []float64 // of RowUnit points, Pad points, superblocks
	unit              int       // points in a superblock
}

// farDist2 is the squared distance of scaled points where h falls below tol.
func farDist2(f asm.Family, tol float64) float64 {
	if f == Gaussian {
		return -math.Log2(tol)
	}
	lo, hi := 0.0, 400.0
	for range 60 {
		mid := (lo + hi) / 2
		// scaled points at distance r have a = ln2 r, so r/c in lengthscales
		if r := mid / f.Scale(); unitCov(f, r*r) > tol {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi * hi
}

// set computes the boxes of the points of o for tiles of the given tolerance.
func (b *boxes) set(o *Op, tol float64) {
	b.dim, b.unit = o.pts.dim, o.sched.block
	var largest float64
	for _, v := range o.pts.x {
		largest = max(largest, math.Abs(v))
	}
	// Packed coordinates may be rounded to float32: by at most 2^-24 of them.
	r := math.Sqrt(farDist2(o.kernel.Family, tol)) + largest*0x1p-22*math.Sqrt(float64(b.dim))
	b.limit = r * r
	b.rows = b.group(b.rows, o, asm.RowUnit)
	b.cols = b.group(b.cols, o, asm.Pad)
	b.block = b.group(b.block, o, o.sched.block)
}

func (b *boxes) group(dst []float64, o *Op, unit int) []float64 {
	n, d := o.Dim(), b.dim
	count := (o.sched.padded + unit - 1) / unit
	dst = grow(dst, count*2*d)
	at := func(p int32) []float64 { return o.pts.x[int(p)*d : int(p+1)*d] }
	for k := range count {
		from := min(k*unit, n-1) // padding repeats the last point
		boundingBox(dst[k*2*d:(k+1)*2*d], o.order[from:max(from+1, min(n, (k+1)*unit))], at)
	}
	return dst
}

// apart tells whether two boxes are beyond the limit.
func (b *boxes) apart(x, y []float64) bool {
	var s float64
	for k := range b.dim {
		t := max(x[k]-y[b.dim+k], y[k]-x[b.dim+k], 0)
		s += t * t
	}
	return s > b.limit
}

// farBlocks tells whether all entries between two superblocks are negligible.
func (g *grid[T]) farBlocks(a, b int) bool {
	if g.boxes.dim == 0 {
		return false
	}
	d := 2 * g.boxes.dim
	return g.boxes.apart(g.boxes.block[a*d:(a+1)*d], g.boxes.block[b*d:(b+1)*d])
}

// far tells whether all entries of a tile are negligible.
func (g *grid[T]) far(i, rows, j, cols int) bool {
	if g.boxes.dim == 0 {
		return false
	}
	d := 2 * g.boxes.dim
	for k := i / asm.RowUnit; k < (i+rows)/asm.RowUnit; k++ {
		for l := j / asm.Pad; l < (j+cols)/asm.Pad; l++ {
			if !g.boxes.apart(g.boxes.rows[k*d:(k+1)*d], g.boxes.cols[l*d:(l+1)*d]) {
				return false
			}
		}
	}
	return true
}

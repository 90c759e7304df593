package kernelmv

import (
	"context"
	"math"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// CrossMulTo sets dst = K(X*, X) v for test rows xs (m×D), dst m×p and v n×p,
// in the precision of the operator. It fails for test inputs that are not
// finite, and with ctx.Err(). Once a shape has been seen, nothing is allocated.
func (o *Op) CrossMulTo(ctx context.Context, dst, xs, v linalg.Matrix) error {
	checkCall(ctx, dst, xs, v)
	if dst.Rows != xs.Rows || v.Rows != o.Dim() || dst.Cols != v.Cols {
		panic("kernelmv: CrossMulTo: bad shapes")
	}
	if o.precision == F32 {
		if o.c32 == nil {
			o.c32 = newCrossProduct(o, &o.engine.Impl.F32)
		}
		return o.c32.mulTo(ctx, dst, xs, v)
	}
	if o.c64 == nil {
		o.c64 = newCrossProduct(o, &o.engine.Impl.F64)
	}
	return o.c64.mulTo(ctx, dst, xs, v)
}

// A crossProduct is CrossMulTo in tiles of T. Sums over more than a tile are
// float64. Between calls it keeps the packed training rows.
type crossProduct[T asm.Float] struct {
	walk  walk[T]
	x     []float64 // scaled test rows
	p     int       // columns, padded
	scale []float64 // of each
	vj    []T       // [tile][p][cols]
	y     []float64 // [row tile][group][RowUnit][columns of the group]
}

func newCrossProduct[T asm.Float](o *Op, kit *asm.Kit[T]) *crossProduct[T] {
	c := &crossProduct[T]{walk: walk[T]{op: o, kit: kit}}
	c.walk.visit = c.visit
	c.walk.cutCols = padTo(o.Dim(), asm.Pad) // one owner per row
	c.walk.shared = true
	return c
}

func (t *crossProduct[T]) mulTo(ctx context.Context, dst, xs, v linalg.Matrix) error {
	w, o := &t.walk, t.walk.op
	left, err := o.testRowsIn(t.x, xs)
	t.x = left.x
	if err != nil || v.Cols == 0 {
		return err
	}
	w.left, w.right, w.clamp = left, o.allRows(), asm.Clamp[T](o.kernel.Family)
	t.packColumns(v)
	all, _ := w.tasks()
	t.y = grow(t.y, all*crossRows*t.p)
	clear(t.y)
	err = w.run(ctx)
	linalg.CompleteDealt(o.engine, t.y, all, crossRows*t.p, false)
	if err != nil {
		return err
	}
	for i := range dst.Rows {
		tile, a := t.y[i/asm.RowUnit*asm.RowUnit*t.p:], i%asm.RowUnit
		for c := range dst.Cols {
			from := c / maxGroup * maxGroup
			g := min(maxGroup, t.p-from)
			dst.Set(i, c, o.kernel.Variance*t.scale[c]*tile[from*asm.RowUnit+a*g+c-from])
		}
	}
	return nil
}

// packColumns sets scale and vj.
func (t *crossProduct[T]) packColumns(v linalg.Matrix) {
	w, n := &t.walk, v.Rows
	t.p = padTo(v.Cols, asm.ColUnit)
	t.scale = grow(t.scale, v.Cols)
	colScale(t.scale, v)
	t.vj = grow(t.vj, w.cutCols*t.p)
	clear(t.vj)
	for q := range n {
		j := q / w.kit.TileCols * w.kit.TileCols
		cols := min(w.kit.TileCols, w.cutCols-j)
		for c, x := range v.Row(q) {
			t.vj[j*t.p+c*cols+q-j] = T(x / t.scale[c])
		}
	}
}

func (t *crossProduct[T]) visit(_, _ int, tile crossTile[T]) {
	w := &t.walk
	w.kit.Cov(w.op.kernel.Family, tile.data)
	for c := 0; c < t.p; { // groups of columns that stay in the cache
		g := min(maxGroup, t.p-c)
		yi := t.y[tile.i*t.p+c*asm.RowUnit:]
		w.kit.AccI(yi[:asm.RowUnit*g], tile.data, t.vj[tile.j*t.p+c*tile.stride:tile.j*t.p+(c+g)*tile.stride],
			asm.RowUnit, tile.stride, g)
		c += g
	}
}

// colScale sets scale to a power of two near the largest value of every column.
func colScale(scale []float64, v linalg.Matrix) {
	clear(scale)
	for i := range v.Rows {
		for c, x := range v.Row(i) {
			scale[c] = max(scale[c], math.Abs(x))
		}
	}
	for c, largest := range scale {
		scale[c] = unitOf(largest)
	}
}

// unitOf is a power of two that brings largest near 1, or as near as its inverse is a number; 1 for NaN, Inf and 0.
func unitOf(largest float64) float64 {
	if largest > 0 && !math.IsInf(largest, 0) {
		return math.Ldexp(1, max(math.Ilogb(largest), -1000)) // 1 over it is finite, too
	}
	return 1
}

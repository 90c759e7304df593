package kernelmv

import (
	"bbgp.dev/asm"
)

// A grid is the packed points of both sides, in tiles of T.
type grid[T asm.Float] struct {
	sched    *schedule
	dim      int
	tileCols int
	clamp    T
	xi, xj   []T // [n/Panel][dim][Panel], [n/Block][dim][Block]
	boxes    boxes
}

// pack packs the points of o in its present order.
func (g *grid[T]) pack(o *Op, kit *asm.Kit[T]) {
	g.sched, g.dim, g.tileCols = o.sched, o.pts.dim, kit.TileCols
	g.clamp = asm.Clamp[T](o.kernel.Family)
	size := o.sched.padded * g.dim
	g.xi, g.xj = grow(g.xi, size), grow(g.xj, size)
	n := o.Dim()
	g.boxes.dim = 0
	o.arrangeOrder()
	if o.order != nil {
		tol := farF64
		if asm.Block[T]() == 16 {
			tol = farF32
		}
		g.boxes.set(o, tol)
	}
	o.engine.Par.For(o.sched.count, func(_, b int) {
		from, to := o.sched.span(b)
		interleave(g.xi, o.pts.x, g.dim, asm.Panel, o.order, n, from, to)
		interleave(g.xj, o.pts.x, g.dim, asm.Block[T](), o.order, n, from, to)
	})
}

// tileOf returns the first column and the width of the tile that holds
// position q. Tiles do not cross the border of a superblock.
func (g *grid[T]) tileOf(q int) (j0, cols int) {
	from := q / g.sched.block * g.sched.block
	to := min(from+g.sched.block, g.sched.padded)
	j0 = from + (q-from)/g.tileCols*g.tileCols
	return j0, min(g.tileCols, to-j0)
}

// dist sets the tile buf to the squared distances of rows points from i and
// cols points from j.
func (g *grid[T]) dist(kit *asm.Kit[T], buf []T, i, rows, j, cols int) {
	d := g.dim
	kit.Dist(buf, g.xi[i*d:(i+rows)*d], g.xj[j*d:(j+cols)*d], d, rows, cols, g.clamp)
}

// radii is dist in the form that CovRadii, WeightRadii and FusedRadii take.
func (g *grid[T]) radii(kit *asm.Kit[T], f asm.Family, buf []T, i, rows, j, cols int) {
	d := g.dim
	kit.Radii(f, buf, g.xi[i*d:(i+rows)*d], g.xj[j*d:(j+cols)*d], d, rows, cols)
}

// row returns the row of x at position q.
func (o *Op) row(q int) int {
	if o.order == nil {
		return q
	}
	return int(o.order[q])
}

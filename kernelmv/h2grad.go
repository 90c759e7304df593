package kernelmv

import (
	"context"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// The gradient by the H² form. ∂k/∂log l_d is as smooth as k, so that Σ_ab w_ab (x_ad - x_bd)²
// is the sum over near pairs of points and far pairs of nodes, with M = Σ_r g_r u_r u_r'
// made from u or from W'u. A tile of w goes with the columns 1, x - c, (x - c)², c the
// centre of the box of its rows:
//
//	Σ_ab w_ab (x_a - x_b)² = Σ_a [x_a² (w 1)_a - 2 x_a (w x)_a + (w x²)_a]
//
// Each unordered pair of boxes is visited once, by the lower number, and counts twice;
// a leaf and itself once.

// gradCols are the columns 1, x - c and (x - c)² for three inputs, padded.
const gradCols = 8

// An h2Gradient is the gradient by the H² form in tiles of T.
type h2Gradient[T asm.Float] struct {
	f      *h2Product[T] // goes up the tree with the columns of u
	weight []float64     // of each: g_r times the square of its power of two
	uj     []T           // [n/Block][R][Block]
	parts  []float64     // [box][dim]
	sums   []float64
	runs   []int // the first box of each rank, and their number
	work   []h2GradScratch[T]

	packBody, boxBody func(worker, i int)
}

type h2GradScratch[T asm.Float] struct {
	tile, xi, ui []T
	xj, uj       []T // [cols/Block][dim or R][Block]
	vj           []T // [gradCols][cols]
	yi           []float64
	have         int
}

func newH2Gradient[T asm.Float](o *Op, kit *asm.Kit[T]) *h2Gradient[T] {
	g := &h2Gradient[T]{f: newH2Product(o, kit)}
	g.f.users = g.markUsers
	g.work = make([]h2GradScratch[T], o.engine.Par.Threads())
	g.packBody, g.boxBody = g.packChunk, g.box
	return g
}

// sumsOf returns Σ_ab w_ab (x'_ad - x'_bd)² of the inputs in the distance.
func (g *h2Gradient[T]) sumsOf(ctx context.Context, plan *h2Plan, u linalg.Matrix, weight []float64) ([]float64,
	error) {
	f, t := g.f, plan.tree
	par := f.op.engine.Par
	g.sums = grow(g.sums, t.dim)
	clear(g.sums)
	if u.Cols == 0 {
		return g.sums, ctx.Err()
	}
	if f.plan != plan {
		g.share(plan)
		f.use(plan)
	}
	f.ctx, f.src = ctx, u
	f.p = padTo(u.Cols, asm.ColUnit)
	f.m = grow(f.m, plan.slots*f.p)
	f.vi = grow(f.vi, t.padded*f.p)
	f.setScale()
	par.For((t.padded+crossCols-1)/crossCols, f.rowsBody)
	g.weight = grow(g.weight, u.Cols)
	for r, inv := range f.invert {
		g.weight[r] = weight[r] / inv / inv
	}
	f.upward()
	g.uj = grow(g.uj, t.padded*u.Cols)
	par.For((t.padded+crossCols-1)/crossCols, g.packBody)
	g.parts = grow(g.parts, len(t.boxes)*t.dim)
	clear(g.parts)
	from, to := g.runs[f.op.engine.Rank()], g.runs[f.op.engine.Rank()+1]
	par.For(to-from, g.boxBody)
	f.ctx, f.src = nil, linalg.Matrix{}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.op.engine.CompleteRuns(linalg.Matrix{Rows: len(t.boxes), Cols: t.dim, Stride: t.dim, Data: g.parts}, nil, g.runs)
	for i, v := range g.parts {
		g.sums[i%t.dim] += v
	}
	return g.sums, ctx.Err()
}

// packChunk fills uj for some positions.
func (g *h2Gradient[T]) packChunk(_, i int) {
	f, t, wide := g.f, g.f.plan.tree, asm.Block[T]()
	r := f.src.Cols
	for q := i * crossCols; q < min((i+1)*crossCols, t.padded); q++ {
		out := g.uj[q/wide*wide*r+q%wide:]
		for k := range r {
			out[k*wide] = f.vi[q*f.p+k]
		}
	}
}

// box adds up the pairs of a box of this rank with itself and those of larger number.
func (g *h2Gradient[T]) box(worker, i int) {
	f, plan := g.f, g.f.plan
	i += g.runs[f.op.engine.Rank()]
	id := int32(i)
	t, s := plan.tree, &g.work[worker]
	b, side, d := &t.boxes[i], &plan.sides[i], plan.tree.dim
	r := f.src.Cols
	s.tile, s.yi = grow(s.tile, asm.RowUnit*gatherCols), grow(s.yi, asm.RowUnit*gradCols)
	s.xj, s.uj, s.vj = grow(s.xj, gatherCols*d), grow(s.uj, gatherCols*r), grow(s.vj, gatherCols*gradCols)
	if far := plan.far.of(id); len(far) > 0 && far[len(far)-1] > id && f.ctx.Err() == nil {
		g.packRows(s, b, plan.xn[side.slot*d:], side.nodes,
			func(a, k int) T { return f.m[side.slot*f.p+k*side.rows+a] })
		for _, e := range far {
			if e > id {
				g.gatherNodes(s, i, b, e, side.nodes)
			}
		}
		g.flush(s, i, s.xj, s.uj, side.nodes, noPoints, 2)
	}
	if !b.leaf() || f.ctx.Err() != nil {
		return
	}
	g.packRows(s, b, t.x[b.from*d:], b.size(), func(a, k int) T {
		return f.vi[(b.from+a)*f.p+k]
	})
	near := plan.near.of(id)
	for k := 0; k < len(near); {
		from, to := t.boxes[near[k]].from, t.boxes[near[k]].to
		self := near[k] == id
		use := near[k] >= id
		for k++; use && !self && k < len(near); k++ {
			e := &t.boxes[near[k]]
			if e.from != to || e.to-from > gatherCols {
				break
			}
			to = e.to
		}
		if use {
			g.nearRun(s, i, b, from, to, self)
		}
	}
}

// packRows sets xi and ui for the live rows at x, whose columns of u are value(a, k).
func (g *h2Gradient[T]) packRows(s *h2GradScratch[T], b *h2Box, x []float64, live int, value func(a, k int) T) {
	d, r, rows := g.f.plan.tree.dim, g.f.src.Cols, padTo(live, asm.RowUnit)
	s.xi, s.ui, s.have = grow(s.xi, rows*d), grow(s.ui, rows*r), 0
	for a := range rows {
		m := min(a, live-1)
		at := a/asm.Panel*asm.Panel*d + a%asm.Panel
		for k := range d {
			s.xi[at+k*asm.Panel] = T(x[m*d+k] - b.centre(k))
		}
		at = a/asm.Panel*asm.Panel*r + a%asm.Panel
		for k := range r {
			var v T
			if a < live {
				v = T(float64(value(a, k)) * g.weight[k])
			}
			s.ui[at+k*asm.Panel] = v
		}
	}
}

// column sets the coordinates of column q of the tile, less the centre of b.
func (g *h2Gradient[T]) column(s *h2GradScratch[T], b *h2Box, q int, x []float64) {
	d, wide := g.f.plan.tree.dim, asm.Block[T]()
	out := s.xj[q/wide*wide*d+q%wide:]
	for k, v := range x {
		out[k*wide] = T(v - b.centre(k))
	}
}

// gatherNodes adds the nodes of box e to the columns, and flushes full tiles.
func (g *h2Gradient[T]) gatherNodes(s *h2GradScratch[T], i int, b *h2Box, e int32, live int) {
	f, from, d, r, wide := g.f, &g.f.plan.sides[e], g.f.plan.tree.dim, g.f.src.Cols, asm.Block[T]()
	m := f.m[from.slot*f.p:]
	for a := range from.nodes {
		q := s.have
		g.column(s, b, q, f.plan.xn[(from.slot+a)*d:][:d])
		out := s.uj[q/wide*wide*r+q%wide:]
		for k := range r {
			out[k*wide] = m[k*from.rows+a]
		}
		if s.have++; s.have == gatherCols {
			g.flush(s, i, s.xj, s.uj, live, noPoints, 2)
		}
	}
}

// nearRun adds the pairs of leaf b with positions from..to-1.
func (g *h2Gradient[T]) nearRun(s *h2GradScratch[T], i int, b *h2Box, from, to int, self bool) {
	t, d, r := g.f.plan.tree, g.f.plan.tree.dim, g.f.src.Cols
	for q := from; q < to; q++ {
		g.column(s, b, q-from, t.x[q*d:(q+1)*d])
	}
	s.have = to - from
	uj := g.uj[from*r : (from+padTo(to-from, asm.Pad))*r]
	if self {
		g.flush(s, i, s.xj, uj, b.size(), ownPoints, 1)
		return
	}
	g.flush(s, i, s.xj, uj, b.size(), otherPoints, 2)
}

// What the columns of a tile are.
const (
	noPoints    = iota // nodes
	otherPoints        // those of other leaves
	ownPoints          // the rows themselves
)

// flush adds count times the tile of the live rows and the gathered columns.
func (g *h2Gradient[T]) flush(s *h2GradScratch[T], i int, xj, uj []T, live, kind int, count float64) {
	if s.have == 0 {
		return
	}
	f, d, r, wide := g.f, g.f.plan.tree.dim, g.f.src.Cols, asm.Block[T]()
	cols, family := padTo(s.have, asm.Pad), f.op.kernel.Family
	clear(s.vj[:gradCols*cols])
	for q := range cols {
		at := q/wide*wide*d + q%wide
		if q >= s.have { // padding: some point, without weight
			for k := range d {
				xj[at+k*wide] = xj[k*wide]
			}
			for k := 0; k < r && kind == noPoints; k++ {
				uj[q/wide*wide*r+k*wide+q%wide] = 0
			}
			continue
		}
		s.vj[q] = 1
		for k := range d {
			x := xj[at+k*wide]
			s.vj[(1+k)*cols+q], s.vj[(1+d+k)*cols+q] = x, x*x
		}
	}
	s.have = 0
	for r0 := 0; r0 < live; r0 += asm.RowUnit {
		tile := s.tile[:asm.RowUnit*cols]
		f.kit.Radii(family, tile, s.xi[r0*d:(r0+asm.RowUnit)*d], xj[:cols*d], d, asm.RowUnit, cols)
		f.kit.WeightRadii(family, d, tile, asm.RowUnit, cols)
		f.kit.Outer(tile, s.ui[r0*r:(r0+asm.RowUnit)*r], uj[:cols*r], r, asm.RowUnit, cols)
		for a := r0; kind == ownPoints && a < min(r0+asm.RowUnit, cols); a++ {
			tile[(a-r0)*cols+a] = 0
		}
		clear(s.yi)
		f.kit.AccI(s.yi, tile, s.vj[:gradCols*cols], asm.RowUnit, cols, gradCols)
		for a := r0; a < min(r0+asm.RowUnit, live); a++ {
			y := s.yi[(a-r0)*gradCols:]
			for k := range d {
				x := float64(s.xi[a/asm.Panel*asm.Panel*d+k*asm.Panel+a%asm.Panel])
				g.parts[i*d+k] += count * (x*(x*y[0]-2*y[1+k]) + y[1+d+k])
			}
		}
	}
}

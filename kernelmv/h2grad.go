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
	parts  []float64     // [box][dim], and [task][dim]
	sums   []float64
	runs   []int // the first box of each rank, and their number
	work   []h2GradScratch[T]

	tasks    []h2Task    // pairs of cubes
	taskRuns []int       // the first task of each rank, and their number
	task     int         // the first of those that are added up now
	products [][]float64 // and their S

	boxBody, taskBody func(worker, i int)
}

type h2GradScratch[T asm.Float] struct {
	tile, xi, ui []T
	xj, uj       []T // [cols/Block][dim or R][Block]
	za, zb       []T // of h2gradcubes.go
	sums         [classes][]T
	own, nothing []T
	vj           []T // [gradCols][cols]
	yi           []float64
	have, first  int // columns; the first of the rows that are these
}

func newH2Gradient[T asm.Float](o *Op, kit *asm.Kit[T]) *h2Gradient[T] {
	g := &h2Gradient[T]{f: newH2Product(o, kit)}
	g.f.users, g.f.sums = g.markUsers, true
	g.work = make([]h2GradScratch[T], o.engine.Par.Threads())
	g.boxBody, g.taskBody = g.box, g.addUp
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
		if err := f.use(ctx, plan); err != nil {
			return nil, err
		}
	}
	f.ctx, f.src = ctx, u
	f.layOut(u.Cols)
	f.setScale()
	par.For((t.padded+crossCols-1)/crossCols, f.rowsBody)
	g.weight = grow(g.weight, u.Cols)
	for r, inv := range f.invert {
		g.weight[r] = weight[r] / inv / inv
	}
	f.upward()
	par.For(len(f.sources), f.sourceBody)
	boxes := len(t.boxes)
	g.parts = grow(g.parts, (boxes+len(g.tasks))*t.dim)
	clear(g.parts)
	rank := f.op.engine.Rank()
	par.For(g.runs[rank+1]-g.runs[rank], g.boxBody)
	g.runTasks()
	f.ctx, f.src = nil, linalg.Matrix{}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.complete(g.parts[:boxes*t.dim], g.runs)
	g.complete(g.parts[boxes*t.dim:], g.taskRuns)
	for i, v := range g.parts {
		g.sums[i%t.dim] += v
	}
	return g.sums, ctx.Err()
}

// complete gathers the sums of all ranks.
func (g *h2Gradient[T]) complete(parts []float64, runs []int) {
	if len(parts) > 0 {
		d := g.f.plan.tree.dim
		g.f.op.engine.CompleteRuns(linalg.Matrix{Rows: len(parts) / d, Cols: d, Stride: d, Data: parts}, nil, runs)
	}
}

// An h2Columns holds columns of u, or of M: number (a, k) at a·row + k·col.
type h2Columns[T asm.Float] struct {
	v        []T
	row, col int
}

// nodes returns M of box id.
func (g *h2Gradient[T]) nodes(id int32) h2Columns[T] {
	side := &g.f.plan.sides[id]
	return h2Columns[T]{g.f.m[side.slot*g.f.p:], 1, side.rows}
}

// points returns u from a position on.
func (g *h2Gradient[T]) points(from int) h2Columns[T] {
	return h2Columns[T]{g.f.vi[from*g.f.p:], g.f.p, 1}
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
		g.packRows(s, b, plan.xn[side.slot*d:], side.nodes, g.nodes(id))
		for _, e := range far {
			if e > id {
				from := &plan.sides[e]
				g.gather(s, i, b, plan.xn[from.slot*d:], from.nodes, side.nodes, g.nodes(e))
			}
		}
		g.flush(s, i, side.nodes, false, 2)
	}
	if !b.leaf() || f.ctx.Err() != nil {
		return
	}
	g.packRows(s, b, t.x[b.from*d:], b.size(), g.points(b.from))
	for s.first = 0; s.first < b.size(); s.first += gatherCols {
		at := b.from + s.first
		g.gather(s, i, b, t.x[at*d:], min(gatherCols, b.to-at), b.size(), g.points(at))
		g.flush(s, i, b.size(), true, 1)
	}
	for _, j := range plan.near.of(id) {
		if j > id {
			e := &t.boxes[j]
			g.gather(s, i, b, t.x[e.from*d:], e.size(), b.size(), g.points(e.from))
		}
	}
	g.flush(s, i, b.size(), false, 2)
}

// packRows sets xi and ui for the live rows at x.
func (g *h2Gradient[T]) packRows(s *h2GradScratch[T], b *h2Box, x []float64, live int, u h2Columns[T]) {
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
				v = T(float64(u.v[a*u.row+k*u.col]) * g.weight[k])
			}
			s.ui[at+k*asm.Panel] = v
		}
	}
}

// gather adds so many points or nodes at x to the columns, and flushes tiles that are full.
func (g *h2Gradient[T]) gather(s *h2GradScratch[T], i int, b *h2Box, x []float64, count, live int, u h2Columns[T]) {
	d, r, wide := g.f.plan.tree.dim, g.f.src.Cols, asm.Block[T]()
	for a := 0; a < count; {
		if s.have == gatherCols {
			g.flush(s, i, live, false, 2)
		}
		n := min(count-a, gatherCols-s.have)
		for k := range d {
			centre := b.centre(k)
			for q := range n {
				at := s.have + q
				s.xj[at/wide*wide*d+k*wide+at%wide] = T(x[(a+q)*d+k] - centre)
			}
		}
		for k := range r {
			for q := range n {
				at := s.have + q
				s.uj[at/wide*wide*r+k*wide+at%wide] = u.v[(a+q)*u.row+k*u.col]
			}
		}
		s.have += n
		a += n
	}
}

// flush adds count times the tile of the live rows and the gathered columns, which are the rows
// themselves or others.
func (g *h2Gradient[T]) flush(s *h2GradScratch[T], i int, live int, own bool, count float64) {
	if s.have == 0 {
		return
	}
	f, d, r, wide := g.f, g.f.plan.tree.dim, g.f.src.Cols, asm.Block[T]()
	cols, family := padTo(s.have, asm.Pad), f.op.kernel.Family
	xj, uj := s.xj, s.uj
	clear(s.vj[:gradCols*cols])
	for q := range cols {
		at := q/wide*wide*d + q%wide
		if q >= s.have { // padding: some point, without weight
			for k := range d {
				xj[at+k*wide] = xj[k*wide]
			}
			for k := 0; k < r; k++ {
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
		for a := max(r0, s.first); own && a < min(r0+asm.RowUnit, s.first+cols); a++ {
			tile[(a-r0)*cols+a-s.first] = 0
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

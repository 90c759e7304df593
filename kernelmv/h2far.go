package kernelmv

import (
	"bbgp.dev/asm"
)

// The far field but for pairs of cubes: L_A = Σ_B k(ξ_A, ξ_B) M_B over the boxes B that are far
// from A. The nodes of several B are gathered, at most gatherCols of them, into the columns of one
// tile whose rows are the nodes of A. Where A and B are in the same chunk, the tile of
// A < B also gives k(ξ_B, ξ_A) M_A to B. Coordinates are taken from the centre of A,
// so that float32 resolves them. Points of leaves that are near are gathered in the same way.

const gatherCols = 192

// A gatherer holds the rows and columns of a tile.
type gatherer[T asm.Float] struct {
	centre [h2MaxDim]float64
	rows   int // padded
	xi     []T // [rows/Panel][dim][Panel]
	xj     []T // [cols/Block][dim][Block]
	vj     []T // [p][gatherCols]
	have   int
	pieces []h2Piece
}

// An h2Piece is a run of n gathered columns, from the at-th, and where what they get is added: [p][stride].
type h2Piece struct {
	out           []float64
	stride, n, at int
}

// farTop takes a box above the chunks.
func (f *h2Product[T]) farTop(worker, i int) {
	if id := f.plan.tree.tops[i]; f.owns(id) {
		f.far(&f.scratch[worker], id, 0, 0)
	}
}

// farChunk takes the boxes of a chunk.
func (f *h2Product[T]) farChunk(worker, i int) {
	id := f.chunks[i]
	end := f.plan.tree.boxes[id].end
	first, last := id, end
	if f.from != f {
		first, last = 0, 0
	}
	for a := id; a < end; a++ {
		f.far(&f.scratch[worker], a, first, last)
	}
}

// far adds the pairs of box id to its L, and those with the boxes id+1..end-1 to these.
// Those with first..id-1 have been added already.
func (f *h2Product[T]) far(s *h2Scratch[T], id, first, end int32) {
	far := f.plan.far.of(id)
	if len(far) == 0 || f.ctx.Err() != nil {
		return
	}
	side := &f.plan.sides[id]
	f.begin(s, &f.plan.tree.boxes[id], f.plan.xn[side.slot*f.plan.tree.dim:], side.nodes)
	packed := false
	for _, e := range far {
		if e > id && e < end {
			if !packed {
				packed = true
				f.packNodes(s, side)
			}
			f.gatherNodes(s, e, true)
		}
	}
	f.flush(s, true)
	for _, e := range far {
		if e < first || e >= end {
			f.gatherNodes(s, e, false)
		}
	}
	f.flush(s, false)
	addRows(f.l[side.slot*f.p:], s.yi, side, f.p)
}

// begin makes the live points or nodes at x of box b the rows of tiles, which add to s.yi.
func (f *h2Product[T]) begin(s *h2Scratch[T], b *h2Box, x []float64, live int) {
	g, d := &s.g, f.plan.tree.dim
	g.rows = padTo(live, asm.RowUnit)
	s.yi = grow(s.yi, g.rows*f.p)
	clear(s.yi)
	s.tile = grow(s.tile, asm.RowUnit*gatherCols)
	g.xi = grow(g.xi, g.rows*d)
	g.xj, g.vj = grow(g.xj, gatherCols*d), grow(g.vj, gatherCols*f.p)
	for k := range d {
		g.centre[k] = b.centre(k)
	}
	for a := range g.rows {
		for k, v := range x[min(a, live-1)*d:][:d] {
			g.xi[a/asm.Panel*asm.Panel*d+k*asm.Panel+a%asm.Panel] = T(v - g.centre[k])
		}
	}
}

// packNodes sets s.vi to M of a box, row by row.
func (f *h2Product[T]) packNodes(s *h2Scratch[T], side *h2Side) {
	p, m := f.p, f.m[side.slot*f.p:]
	s.vi = grow(s.vi, side.rows*p)
	for a := range side.rows {
		for c := range p {
			s.vi[a*p+c] = m[c*side.rows+a]
		}
	}
}

// gatherNodes adds the nodes of box e to the columns.
func (f *h2Product[T]) gatherNodes(s *h2Scratch[T], e int32, both bool) {
	from, x, p := &f.from.plan.sides[e], f.from.plan.xn, f.p
	var back []float64
	if both {
		back = f.l[from.slot*p:]
	}
	f.gather(s, x[from.slot*f.plan.tree.dim:], f.from.m[from.slot*p:], back, from.rows, from.rows, from.nodes)
}

// gather adds so many columns, at x and with values v ([p][stride]), and flushes full tiles. What
// they get is added to back ([p][backStride]), where there is such.
func (f *h2Product[T]) gather(s *h2Scratch[T], x []float64, v []T, back []float64, stride, backStride, count int) {
	g, d, wide := &s.g, f.plan.tree.dim, asm.Block[T]()
	for a := 0; a < count; {
		n := min(count-a, gatherCols-g.have)
		for k := range d {
			at, centre := g.have, g.centre[k]
			for i := a*d + k; i < (a+n)*d; i += d {
				g.xj[at/wide*wide*d+k*wide+at%wide] = T(x[i] - centre)
				at++
			}
		}
		for c := range f.p {
			copy(g.vj[c*gatherCols+g.have:][:n], v[c*stride+a:])
		}
		if back != nil {
			g.pieces = append(g.pieces, h2Piece{back[a:], backStride, n, g.have})
		}
		g.have += n
		a += n
		if g.have == gatherCols {
			f.flush(s, back != nil)
		}
	}
}

// flush evaluates the tile of the gathered columns.
func (f *h2Product[T]) flush(s *h2Scratch[T], both bool) {
	g, p, d, wide := &s.g, f.p, f.plan.tree.dim, asm.Block[T]()
	if g.have == 0 {
		return
	}
	cols := padTo(g.have, asm.Pad)
	for q := g.have; q < cols; q++ { // padding: some node, without weight
		for k := range d {
			g.xj[q/wide*wide*d+k*wide+q%wide] = g.xj[k*wide]
		}
	}
	vj := g.vj
	if cols < gatherCols {
		s.vj = grow(s.vj, p*cols)
		vj = s.vj
	}
	for c := range p {
		clear(g.vj[c*gatherCols+g.have : c*gatherCols+cols])
		if cols < gatherCols {
			copy(vj[c*cols:(c+1)*cols], g.vj[c*gatherCols:])
		}
	}
	if both {
		s.acc, s.sum = grow(s.acc, p*cols), grow(s.sum, p*cols)
		clear(s.acc)
	}
	f.block(s, g.xi, g.xj, s.vi, s.yi, vj[:p*cols], g.rows, cols, both)
	for _, piece := range g.pieces {
		for c := range p {
			out := piece.out[c*piece.stride:][:piece.n]
			for i, v := range s.acc[c*cols+piece.at:][:piece.n] {
				out[i] += v
			}
		}
	}
	g.have, g.pieces = 0, g.pieces[:0]
}

// block evaluates rows×cols entries and adds K V_J to y (rows×p) and, for both, K'V_I
// to s.acc (p×cols), V_I
// being vi.
func (f *h2Product[T]) block(s *h2Scratch[T], xi, xj, vi []T, y []float64, vj []T, rows, cols int, both bool) {
	p, d, family := f.p, f.plan.tree.dim, f.op.kernel.Family
	inSum := 0
	if both {
		clear(s.sum[:p*cols])
	}
	for r := 0; r < rows; r += asm.RowUnit {
		tile := s.tile[:asm.RowUnit*cols]
		f.kit.Radii(family, tile, xi[r*d:(r+asm.RowUnit)*d], xj[:cols*d], d, asm.RowUnit, cols)
		if f.weight {
			f.kit.WeightRadii(family, d, tile, asm.RowUnit, cols)
		} else {
			f.kit.CovRadii(family, d, tile, asm.RowUnit, cols)
		}
		f.kit.AccI(y[r*p:(r+asm.RowUnit)*p], tile, vj, asm.RowUnit, cols, p)
		if !both {
			continue
		}
		f.kit.AccJ(s.sum[:p*cols], tile, vi[r*p:(r+asm.RowUnit)*p], asm.RowUnit, cols, p)
		if inSum += asm.RowUnit; inSum == maxSum || r+asm.RowUnit == rows {
			f.add(s.acc[:p*cols], s.sum[:p*cols])
			clear(s.sum[:p*cols])
			inSum = 0
		}
	}
}

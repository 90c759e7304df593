package kernelmv

import (
	"bbgp.dev/asm"
)

// The far field: L_A = Σ_B k(ξ_A, ξ_B) M_B over the boxes B that are far from A. The
// nodes of several B are gathered, at most gatherCols of them, into the columns of one
// tile whose rows are the nodes of A. Where A and B are in the same chunk, the tile of
// A < B also gives k(ξ_B, ξ_A) M_A to B. Coordinates are taken from the centre of A,
// so that float32 resolves them.

const gatherCols = 384

// A gatherer holds the columns of a tile.
type gatherer[T asm.Float] struct {
	xj     []T // [cols/Block][dim][Block]
	vj     []T // [p][gatherCols]
	xi     []T // of the target
	have   int
	pieces []h2Piece
}

// An h2Piece is a run of nodes of box id, from the a-th, among gathered columns.
type h2Piece struct {
	id       int32
	a, n, at int
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
	side, p, d := &f.plan.sides[id], f.p, f.plan.tree.dim
	s.yi = grow(s.yi, side.rows*p)
	clear(s.yi)
	s.tile = grow(s.tile, asm.RowUnit*gatherCols)
	g := &s.g
	g.xi = grow(g.xi, side.rows*d)
	g.xj, g.vj = grow(g.xj, gatherCols*d), grow(g.vj, gatherCols*p)
	var centre [h2MaxDim]float64
	for k := range d {
		centre[k] = f.plan.tree.boxes[id].centre(k)
	}
	for a := range side.rows {
		for k, x := range f.plan.xn[(side.slot+a)*d:][:d] {
			g.xi[a/asm.Panel*asm.Panel*d+k*asm.Panel+a%asm.Panel] = T(x - centre[k])
		}
	}
	packed := false
	for _, e := range far {
		if e > id && e < end {
			if !packed {
				packed = true
				f.packNodes(s, side)
			}
			f.gather(s, id, e, &centre, true)
		}
	}
	f.flush(s, id, true)
	for _, e := range far {
		if e < first || e >= end {
			f.gather(s, id, e, &centre, false)
		}
	}
	f.flush(s, id, false)
	f.addRows(side, s.yi)
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

// gather adds the nodes of box e to the columns, and flushes full tiles.
func (f *h2Product[T]) gather(s *h2Scratch[T], id, e int32, centre *[h2MaxDim]float64, both bool) {
	g, from, d, wide := &s.g, &f.from.plan.sides[e], f.plan.tree.dim, asm.Block[T]()
	m := f.from.m[from.slot*f.p:]
	for a := 0; a < from.nodes; {
		n := min(from.nodes-a, gatherCols-g.have)
		x := f.from.plan.xn[(from.slot+a)*d:]
		for i := range n {
			q := g.have + i
			out := g.xj[q/wide*wide*d+q%wide:]
			for k := range d {
				out[k*wide] = T(x[i*d+k] - centre[k])
			}
		}
		for c := range f.p {
			copy(g.vj[c*gatherCols+g.have:][:n], m[c*from.rows+a:])
		}
		g.pieces = append(g.pieces, h2Piece{e, a, n, g.have})
		g.have += n
		a += n
		if g.have == gatherCols {
			f.flush(s, id, both)
		}
	}
}

// flush evaluates the tile of the gathered columns.
func (f *h2Product[T]) flush(s *h2Scratch[T], id int32, both bool) {
	g, side, p, d, wide := &s.g, &f.plan.sides[id], f.p, f.plan.tree.dim, asm.Block[T]()
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
	f.block(s, g.xi, g.xj, s.vi, s.yi, vj[:p*cols], side.rows, cols, both)
	if both {
		for _, piece := range g.pieces {
			e := &f.plan.sides[piece.id]
			l := f.l[e.slot*p:]
			for c := range p {
				out := l[c*e.rows+piece.a:][:piece.n]
				for i, v := range s.acc[c*cols+piece.at:][:piece.n] {
					out[i] += v
				}
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

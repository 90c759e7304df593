package kernelmv

import (
	"bbgp.dev/asm"
)

// The near field, exactly: runs of leaves that lie side by side are the columns of
// tiles. Within a chunk a pair is evaluated once and used twice.

// nearChunk finishes the rows of a chunk: near pairs, what comes down the tree, and the
// noise.
func (f *h2Product[T]) nearChunk(worker, i int) {
	t, s, p := f.plan.tree, &f.scratch[worker], f.p
	id := f.chunks[i]
	c := &t.boxes[id]
	rows := padTo(c.size(), asm.Pad)
	s.chunkI, s.chunkJ = grow(s.chunkI, rows*p), grow(s.chunkJ, rows*p)
	clear(s.chunkI)
	clear(s.chunkJ)
	for a := id; a < c.end; a++ {
		if f.ctx.Err() != nil {
			return
		}
		if t.boxes[a].leaf() {
			f.nearLeaf(s, a, c, id)
		}
	}
	for q := c.from; q < c.to; q++ {
		row := int(t.order[q])
		dst := f.dst.Row(row)
		if f.from != f {
			for k, y := range s.chunkI[(q-c.from)*p:][:len(dst)] {
				dst[k] = f.factor[k] * y
			}
			continue
		}
		src, noise := f.src.Row(row), f.op.noise[row]
		if f.weight {
			noise = 0
		}
		yi, yj := s.chunkI[(q-c.from)*p:], s.chunkJ[q-c.from:]
		for k := range dst {
			dst[k] = f.factor[k]*(yi[k]+yj[k*rows]) + noise*src[k]
		}
	}
}

// nearLeaf adds the pairs of leaf a, of chunk c with number id.
func (f *h2Product[T]) nearLeaf(s *h2Scratch[T], a int32, c *h2Box, id int32) {
	t, p := f.plan.tree, f.p
	b, side := &t.boxes[a], &f.plan.sides[a]
	y := s.chunkI[(b.from-c.from)*p:]
	switch {
	case side.active && side.points:
		l := f.l[side.slot*p:]
		for i := range b.size() {
			for k := range p {
				y[i*p+k] += l[k*side.rows+i]
			}
		}
	case side.active:
		f.drop(s, y, a, t.x[b.from*t.dim:], b.size())
	}
	near, boxes, end := f.plan.near.of(a), f.from.plan.tree.boxes, c.end
	if f.from != f {
		id, end = 0, 0
	}
	for i := 0; i < len(near); {
		use := usesOf(a, near[i], id, end)
		from, to := boxes[near[i]].from, boxes[near[i]].to
		for i++; i < len(near) && usesOf(a, near[i], id, end) == use; i++ {
			e := &boxes[near[i]]
			if e.from != to || e.to-from > gatherCols {
				break
			}
			to = e.to
		}
		if use > 0 {
			f.nearRun(s, b, c, from, to, use == 2)
		}
	}
}

// usesOf says how often the tile of leaf a and its partner e is used, a being in the
// chunk of the boxes first..end-1: twice for both sides, once, or not at all, since e has
// added it already.
func usesOf(a, e, first, end int32) int {
	switch {
	case e < first || e >= end || e == a:
		return 1
	case e > a:
		return 2
	}
	return 0
}

// nearRun adds the pairs of leaf b with positions from..to-1.
func (f *h2Product[T]) nearRun(s *h2Scratch[T], b, c *h2Box, from, to int, both bool) {
	p, d, n := f.p, f.plan.tree.dim, f.from.plan.tree.padded
	cols := padTo(to-from, asm.Pad)
	s.tile, s.vj = grow(s.tile, asm.RowUnit*gatherCols), grow(s.vj, p*cols)
	var vi []T
	for k := range p {
		copy(s.vj[k*cols:(k+1)*cols], f.from.vj[k*n+from:])
	}
	if both {
		s.acc, s.sum = grow(s.acc, p*cols), grow(s.sum, p*cols)
		clear(s.acc)
		vi = f.vi[b.from*p:]
	}
	rows := padTo(b.size(), asm.RowUnit)
	f.block(s, f.xi[b.from*d:], f.from.xj[from*d:], vi, s.chunkI[(b.from-c.from)*p:], s.vj, rows, cols, both)
	if !both {
		return
	}
	high := padTo(c.size(), asm.Pad)
	for k := range p {
		out := s.chunkJ[k*high+from-c.from:][:cols]
		for i, v := range s.acc[k*cols : (k+1)*cols] {
			out[i] += v
		}
	}
}

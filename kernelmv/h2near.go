package kernelmv

import (
	"bbgp.dev/asm"
)

// The near field, exactly. Within a chunk a pair is evaluated once and used twice.

// nearChunk finishes the rows of a chunk: near pairs, what comes down the tree, and the
// noise.
func (f *h2Product[T]) nearChunk(worker, i int) {
	t, s, p := f.plan.tree, &f.scratch[worker], f.p
	id := f.chunks[i]
	c := &t.boxes[id]
	rows := c.size()
	s.chunkI, s.chunkJ = grow(s.chunkI, (rows+asm.RowUnit)*p), grow(s.chunkJ, rows*p)
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
		f.setDrop(s, a)
		f.drop(s, y, a, -1, b.size())
	}
	f.begin(s, b, t.x[b.from*t.dim:], b.size())
	end := c.end
	if f.from != f {
		id, end = 0, 0
	} else {
		s.vi = grow(s.vi, s.g.rows*p)
		clear(s.vi[copy(s.vi, f.vi[b.from*p:b.to*p]):])
	}
	for use := 2; use > 0; use-- {
		for _, e := range f.plan.near.of(a) {
			if usesOf(a, e, id, end) == use {
				f.gatherLeaf(s, e, c, use == 2)
			}
		}
		f.flush(s, use == 2)
	}
	for i, v := range s.yi[:b.size()*p] {
		y[i] += v
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

// gatherLeaf adds the points of leaf e, for both sides one of chunk c, to the columns.
func (f *h2Product[T]) gatherLeaf(s *h2Scratch[T], e int32, c *h2Box, both bool) {
	t := f.from.plan.tree
	b := &t.boxes[e]
	var back []float64
	if both {
		back = s.chunkJ[b.from-c.from:]
	}
	f.gather(s, t.x[b.from*t.dim:], f.from.vj[b.from:], back, t.padded, c.size(), b.size())
}

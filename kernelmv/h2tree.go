package kernelmv

import (
	"context"

	"bbgp.dev/asm"
)

// An h2Box holds the points at positions from..to-1 of an h2Tree. Boxes are numbered
// parents first and left before right, so that those of a subtree are id..end-1 and
// leaves have the order of their points.
type h2Box struct {
	from, to            int
	lo, hi              [h2MaxDim]float64 // of the points, no wider
	left, right, parent int32             // -1: none
	end                 int32
}

func (b *h2Box) leaf() bool { return b.left < 0 }
func (b *h2Box) size() int  { return b.to - b.from }

// centre returns the middle of side k.
func (b *h2Box) centre(k int) float64 { return (b.lo[k] + b.hi[k]) / 2 }

// An h2Tree is a k-d tree over the scaled points. It depends on points and lengthscales
// only. The longest side of a box is cut near the median, at a multiple of leafRows
// positions, so that every leaf but the last holds whole tiles.
//
// Subtrees of at most chunkRows points are chunks: what one worker does at a time, and
// within which a pair of boxes is evaluated once and used twice.
type h2Tree struct {
	dim, n, padded int
	leafRows       int
	order          []int32 // position -> row
	x              []float64
	boxes          []h2Box
	levels         [][]int32 // boxes by depth
	chunks         []int32
	tops           []int32 // boxes above the chunks
}

// chunkRows depends on n alone: dozens of tasks for the threads, and few pairs of
// boxes that two chunks share.
func chunkRows(n, leaf int) int {
	return leaf * min(max(n/(leaf*32), 8), 128)
}

// leafRowsOf are the points of a leaf for d inputs.
func leafRowsOf(d int) int {
	if d == h2MaxDim {
		return leafRows3
	}
	return leafRows2
}

// newH2Tree returns the tree of the scaled points x (·×dim) of o or of rows to predict, in
// leaves of so many of them, a multiple of asm.RowUnit, or ctx.Err().
func newH2Tree(ctx context.Context, o *Op, x []float64, leaf int) (*h2Tree, error) {
	d := o.pts.dim
	n := len(x) / d
	t := &h2Tree{dim: d, n: n, padded: padTo(n, asm.Pad), leafRows: leaf, order: make([]int32, n)}
	for i := range t.order {
		t.order[i] = int32(i)
	}
	t.boxes = make([]h2Box, 0, 3*n/t.leafRows+1)
	c := &h2Cutter{tree: t, x: x, ctx: ctx, box: make([]float64, 2*d), chunk: chunkRows(n, t.leafRows)}
	c.cut(0, n, -1, 0)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.x = make([]float64, n*d)
	for q, p := range t.order {
		copy(t.x[q*d:(q+1)*d], x[int(p)*d:])
	}
	return t, nil
}

// An h2Cutter builds the boxes of a tree.
type h2Cutter struct {
	tree  *h2Tree
	x     []float64 // scaled points in the order of the rows
	ctx   context.Context
	box   []float64
	chunk int
}

// cut makes the box of positions from..to-1 and those below, and returns its number.
func (c *h2Cutter) cut(from, to int, parent int32, depth int) int32 {
	t, d := c.tree, c.tree.dim
	id := int32(len(t.boxes))
	if c.ctx.Err() != nil {
		return id
	}
	at := func(p int32) []float64 { return c.x[int(p)*d : int(p+1)*d] }
	widest := boundingBox(c.box, t.order[from:to], at)
	b := h2Box{from: from, to: to, parent: parent, left: -1, right: -1}
	copy(b.lo[:], c.box[:d])
	copy(b.hi[:], c.box[d:])
	t.boxes = append(t.boxes, b)
	if len(t.levels) == depth {
		t.levels = append(t.levels, nil)
	}
	t.levels[depth] = append(t.levels[depth], id)
	size, leaf := to-from, t.leafRows
	above := parent < 0 || t.boxes[parent].size() > c.chunk
	switch {
	case size > c.chunk:
		t.tops = append(t.tops, id)
	case above:
		t.chunks = append(t.chunks, id)
	}
	if size > leaf {
		mid := from + max(leaf, (size/2+leaf/2)/leaf*leaf)
		selectBy(t.order[from:to], mid-from, func(p int32) float64 { return c.x[int(p)*d+widest] })
		left := c.cut(from, mid, id, depth+1)
		right := c.cut(mid, to, id, depth+1)
		t.boxes[id].left, t.boxes[id].right = left, right
	}
	t.boxes[id].end = int32(len(t.boxes))
	return id
}

// bytes returns what the tree takes.
func (t *h2Tree) bytes() int64 { return int64(4*t.n + 8*t.n*t.dim + 112*len(t.boxes)) }

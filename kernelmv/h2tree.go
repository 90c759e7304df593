package kernelmv

import (
	"context"
	"math"
	"slices"

	"bbgp.dev/asm"
)

// An h2Box holds the points at positions from..to-1 of an h2Tree. Boxes are numbered
// parents first, so that those of a subtree are id..end-1 and leaves have the order of their
// points.
type h2Box struct {
	from, to   int
	lo, hi     [h2MaxDim]float64 // of the points, no wider
	parent     int32             // -1: none
	first, end int32             // the boxes below
	cube       int16             // of a cube: the logarithm of its side, in units of the tree
}

// noCube is the cube of a box that is none.
const noCube = math.MinInt16

func (b *h2Box) leaf() bool { return b.first == b.end }
func (b *h2Box) size() int  { return b.to - b.from }

// centre returns the middle of side k.
func (b *h2Box) centre(k int) float64 { return (b.lo[k] + b.hi[k]) / 2 }

// each calls f for the boxes right below box id.
func (t *h2Tree) each(id int32, f func(child int32)) {
	for c := t.boxes[id].first; c < t.boxes[id].end; c = t.boxes[c].end {
		f(c)
	}
}

// An h2Tree is a tree of boxes of the scaled points. It depends on points, lengthscales and unit
// only. Either it is a k-d tree: the longest side of a box is cut near the median. Or it has cubes
// of a grid (h2cubes.go), and a k-d tree below those that are too small to be cut so.
//
// Subtrees of at most chunkRows points are chunks: what one worker does at a time, and
// within which a pair of boxes is evaluated once and used twice.
type h2Tree struct {
	dim, n, padded int
	leafRows       int     // of a leaf, at most
	order          []int32 // position -> row
	x              []float64
	boxes          []h2Box
	levels         [][]int32 // boxes by depth
	chunks         []int32
	tops           []int32 // boxes above the chunks
	grid           h2Grid
}

// chunkRows depends on n alone: dozens of tasks for the threads, and few pairs of
// boxes that two chunks share. Cubes below a chunk may have an eighth of its points.
func chunkRows(n, leaf int, cubes bool) int {
	if cubes {
		return min(max(n/8, 8*leaf), 1<<18)
	}
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
// leaves of at most so many of them, or ctx.Err(). Where unit is not 0 it is of cubes for these orders.
func newH2Tree(ctx context.Context, o *Op, x []float64, leaf int, unit float64, orders *orderTable) (*h2Tree, error) {
	d := o.pts.dim
	n := len(x) / d
	t := &h2Tree{dim: d, n: n, padded: padTo(n, asm.Pad), leafRows: leaf, order: make([]int32, n)}
	for i := range t.order {
		t.order[i] = int32(i)
	}
	t.boxes = make([]h2Box, 0, 3*n/t.leafRows+1)
	t.x = slices.Clone(x)
	c := &h2Cutter{tree: t, ctx: ctx, box: make([]float64, 2*d), chunk: chunkRows(n, leaf, unit > 0)}
	if unit > 0 {
		c.orders, c.leaves = orders, map[int16]int{}
		c.cutCubes(unit)
	} else {
		c.cut(0, n, -1, 0)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// An h2Cutter builds the boxes of a tree. Points move with their rows.
type h2Cutter struct {
	tree  *h2Tree
	ctx   context.Context
	box   []float64
	chunk int

	floor  int       // the smallest cubes that are cut
	parts  []int32   // of all rows, and their
	points []float64 // points
	orders *orderTable
	leaves map[int16]int // points of a leaf by the level of cubes, at most
}

// tight sets the sides of b to those of its points and returns the longest one.
func (c *h2Cutter) tight(b *h2Box) (widest int) {
	t := c.tree
	widest = boxAround(c.box, t.x[b.from*t.dim:b.to*t.dim])
	copy(b.lo[:], c.box[:t.dim])
	copy(b.hi[:], c.box[t.dim:])
	return widest
}

// add makes b a box of the tree and returns its number.
func (c *h2Cutter) add(b h2Box, depth int) int32 {
	t, id := c.tree, int32(len(c.tree.boxes))
	b.first, b.end = id+1, id+1
	t.boxes = append(t.boxes, b)
	if len(t.levels) == depth {
		t.levels = append(t.levels, nil)
	}
	t.levels[depth] = append(t.levels[depth], id)
	switch {
	case b.size() > c.chunk:
		t.tops = append(t.tops, id)
	case b.parent < 0 || t.boxes[b.parent].size() > c.chunk:
		t.chunks = append(t.chunks, id)
	}
	return id
}

// cut makes the box of positions from..to-1 and those below in a k-d tree.
func (c *h2Cutter) cut(from, to int, parent int32, depth int) {
	if c.ctx.Err() != nil {
		return
	}
	t, leaf, size := c.tree, c.tree.leafRows, to-from
	b := h2Box{from: from, to: to, parent: parent, cube: noCube}
	widest := c.tight(&b)
	id := c.add(b, depth)
	if size <= leaf {
		return
	}
	mid := from + max(leaf, (size/2+leaf/2)/leaf*leaf)
	selectPoints(t.order[from:to], t.x[from*t.dim:to*t.dim], mid-from, widest)
	c.cut(from, mid, id, depth+1)
	c.cut(mid, to, id, depth+1)
	t.boxes[id].end = int32(len(t.boxes))
}

// bytes returns what the tree takes.
func (t *h2Tree) bytes() int64 { return int64(4*t.n + 8*t.n*t.dim + 112*len(t.boxes)) }

package kernelmv

import (
	"context"
	"math"
	"slices"
	"sort"
)

const leafSize = 16 // points in a leaf

// treePays tells whether a tree is faster than tiles where a row has n points to
// look at: a query of the tree costs some hundred points for 3 inputs, some
// thousand for 5, one by one, of which tiles take 16 at a time.
func treePays(dim, n int) bool {
	switch {
	case dim <= 3:
		return n > 8000
	case dim <= 5:
		return n > 30000
	}
	return false
}

// A tree is a k-d tree over scaled points: a node cuts the longest side of the
// box of its points at the median. Node v has the children 2v+1 and 2v+2.
type tree struct {
	dim   int
	x     []float64 // the points in the order of the tree
	pos   []int32   // their positions
	nodes []treeNode
	box   []float64 // per node: dim lower, dim upper ends
}

type treeNode struct {
	from, to int32 // points
	first    int32 // smallest position
}

// newTree builds the tree of the members of s.
func newTree(s rowSet, dim int) *tree {
	t := &tree{dim: dim, pos: make([]int32, s.n), x: make([]float64, s.n*dim)}
	at := func(p int32) []float64 {
		if s.index != nil {
			p = s.index[p]
		}
		return s.x[int(p)*dim : int(p+1)*dim]
	}
	for i := range t.pos {
		t.pos[i] = int32(i)
	}
	depth := 0
	for s.n>>depth > leafSize {
		depth++
	}
	t.nodes = make([]treeNode, 1<<(depth+1)-1)
	t.box = make([]float64, len(t.nodes)*2*dim)
	t.build(0, 0, s.n, at)
	for i, p := range t.pos {
		copy(t.x[i*dim:], at(p))
	}
	return t
}

func (t *tree) build(v, from, to int, at func(int32) []float64) {
	box := t.box[v*2*t.dim : (v+1)*2*t.dim]
	pts := t.pos[from:to]
	widest := boundingBox(box, pts, at)
	t.nodes[v] = treeNode{int32(from), int32(to), slices.Min(pts)}
	if 2*v+2 >= len(t.nodes) {
		return
	}
	mid := from + (to-from)/2
	selectBy(pts, mid-from, func(p int32) float64 { return at(p)[widest] })
	t.build(2*v+1, from, mid, at)
	t.build(2*v+2, mid, to, at)
}

// boundingBox sets box to the lower and upper ends of the points, and returns
// the number of the longest side.
func boundingBox(box []float64, pts []int32, at func(int32) []float64) (widest int) {
	d := len(box) / 2
	copy(box[:d], at(pts[0]))
	copy(box[d:], at(pts[0]))
	for _, p := range pts {
		for k, v := range at(p) {
			box[k], box[d+k] = min(box[k], v), max(box[d+k], v)
		}
	}
	for k := range d {
		if box[d+k]-box[k] > box[d+widest]-box[widest] {
			widest = k
		}
	}
	return widest
}

// selectBy brings the k members with the smallest keys to the front, ties by
// member, so that the result does not depend on the order at the start.
func selectBy(pts []int32, k int, key func(int32) float64) {
	less := func(a, b int32) bool {
		x, y := key(a), key(b)
		return x < y || x == y && a < b
	}
	for lo, hi := 0, len(pts)-1; lo < hi; {
		pivot := pts[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for less(pts[i], pivot) {
				i++
			}
			for less(pivot, pts[j]) {
				j--
			}
			if i <= j {
				pts[i], pts[j] = pts[j], pts[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return
		}
	}
}

// gap is a lower bound of the squared distance from x to the box of node v.
// The factor covers the rounding of this sum and of the distance itself.
func (t *tree) gap(v int, x []float64) float64 {
	box := t.box[v*2*t.dim : (v+1)*2*t.dim]
	var s float64
	for k, a := range x {
		d := max(box[k]-a, a-box[t.dim+k], 0)
		s += d * d
	}
	return s * (1 - 1e-13)
}

// find adds to n the points of node v that may be among the nearest to x, of
// those at positions before end.
func (t *tree) find(n *nearest, v int, x []float64, end int32) {
	node := &t.nodes[v]
	if node.first >= end {
		return
	}
	left := 2*v + 1
	if left+1 >= len(t.nodes) {
		t.scan(n, node, x, end)
		return
	}
	near, far := left, left+1
	dn, df := t.gap(near, x), t.gap(far, x)
	if df < dn {
		near, far, dn, df = far, near, df, dn
	}
	if dn <= n.limit {
		t.find(n, near, x, end)
	}
	if df <= n.limit {
		t.find(n, far, x, end)
	}
}

func (t *tree) scan(n *nearest, node *treeNode, x []float64, end int32) {
	for i := int(node.from); i < int(node.to); i++ {
		if p := t.pos[i]; p < end {
			var s float64
			for k, a := range t.x[i*t.dim : (i+1)*t.dim] {
				d := x[k] - a
				s = math.FMA(d, d, s) // the bits of asm.Kit.Dist
			}
			// Positions come in any order here: ties must all be added.
			if s <= n.limit {
				n.add(s, p)
			}
		}
	}
	if n.size >= n.k && math.IsInf(n.limit, 1) {
		n.shrink()
		n.limit = slices.Max(n.d[:n.size]) // shrink does nothing for exactly k
	}
}

// leastTree is how many points are worth a tree of their own.
const leastTree = 1024

// searchTree is search with k-d trees over right. Where ends are given, a member has one over
// at most twice the points that it may take: a tree of all would have the search pass by
// n/ends as many leaves of points that do not count, ln n times the work in the mean.
func (o *Op) searchTree(ctx context.Context, dst []int32, left, right rowSet, k int, ends []int32) error {
	if ends == nil {
		return o.searchIn(ctx, newTree(right, o.pts.dim), dst, left, 0, left.n, k, nil)
	}
	for to, points := left.n, right.n; to > 0; points /= 2 {
		from := 0
		if points/2 >= leastTree {
			from = sort.Search(to, func(i int) bool { return int(ends[i]) > points/2 })
		}
		if from < to {
			part := right
			part.n = points
			if err := o.searchIn(ctx, newTree(part, o.pts.dim), dst, left, from, to, k, ends); err != nil {
				return err
			}
		}
		to = from
	}
	return ctx.Err()
}

// searchIn searches t for members from..to-1 of left.
func (o *Op) searchIn(ctx context.Context, t *tree, dst []int32, left rowSet, from, to, k int, ends []int32) error {
	d := o.pts.dim
	work := make([]nearest, o.engine.Par.Threads())
	o.engine.Par.For((to-from+crossRows-1)/crossRows, func(worker, task int) {
		if ctx.Err() != nil {
			return
		}
		n := &work[worker]
		for i := from + task*crossRows; i < min(to, from+(task+1)*crossRows); i++ {
			r, end := i, len(t.pos)
			if left.index != nil {
				r = int(left.index[i])
			}
			if ends != nil {
				end = int(ends[i])
			}
			n.reset(k)
			t.find(n, 0, left.x[r*d:(r+1)*d], int32(end))
			n.write(dst[i*k : (i+1)*k])
		}
	})
	return ctx.Err()
}

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

// newTree builds the tree of the members of s. Points are moved with their positions, so that each node reads what
// lies side by side.
func newTree(s rowSet, dim int) *tree {
	t := &tree{dim: dim, pos: make([]int32, s.n), x: make([]float64, s.n*dim)}
	for i := range t.pos {
		t.pos[i] = int32(i)
		p := i
		if s.index != nil {
			p = int(s.index[i])
		}
		copy(t.x[i*dim:(i+1)*dim], s.x[p*dim:])
	}
	depth := 0
	for s.n>>depth > leafSize {
		depth++
	}
	t.nodes = make([]treeNode, 1<<(depth+1)-1)
	t.box = make([]float64, len(t.nodes)*2*dim)
	t.build(0, 0, s.n)
	return t
}

func (t *tree) build(v, from, to int) {
	d := t.dim
	widest := boxAround(t.box[v*2*d:(v+1)*2*d], t.x[from*d:to*d])
	t.nodes[v] = treeNode{int32(from), int32(to), slices.Min(t.pos[from:to])}
	if 2*v+2 >= len(t.nodes) {
		return
	}
	mid := from + (to-from)/2
	selectPoints(t.pos[from:to], t.x[from*d:to*d], mid-from, widest)
	t.build(2*v+1, from, mid)
	t.build(2*v+2, mid, to)
}

// boxAround sets box to the lower and upper ends of points (·×d), and returns the number of the longest side.
func boxAround(box, x []float64) (widest int) {
	d := len(box) / 2
	copy(box[:d], x)
	copy(box[d:], x)
	for i := 0; i < len(x); i += d {
		widen(box, x[i:i+d])
	}
	return widestOf(box)
}

// selectPoints is selectBy for points x (·×d), which move with their members, by their coordinates of side k.
func selectPoints(pts []int32, x []float64, count, k int) {
	d := len(x) / len(pts)
	for lo, hi := 0, len(pts)-1; lo < hi; {
		at := lo + (hi-lo)/2
		key, p := x[at*d+k], pts[at]
		i, j := lo, hi
		for i <= j {
			for v := x[i*d+k]; v < key || v == key && pts[i] < p; v = x[i*d+k] {
				i++
			}
			for v := x[j*d+k]; key < v || v == key && p < pts[j]; v = x[j*d+k] {
				j--
			}
			if i <= j {
				pts[i], pts[j] = pts[j], pts[i]
				a, b := x[i*d:(i+1)*d], x[j*d:(j+1)*d]
				for c, v := range a {
					a[c], b[c] = b[c], v
				}
				i, j = i+1, j-1
			}
		}
		switch {
		case count <= j:
			hi = j
		case count >= i:
			lo = i
		default:
			return
		}
	}
}

// boundingBox sets box to the lower and upper ends of the points, and returns
// the number of the longest side.
func boundingBox(box []float64, pts []int32, at func(int32) []float64) (widest int) {
	d := len(box) / 2
	copy(box[:d], at(pts[0]))
	copy(box[d:], at(pts[0]))
	for _, p := range pts {
		widen(box, at(p))
	}
	return widestOf(box)
}

// widen takes x into a box.
func widen(box, x []float64) {
	d := len(x)
	for k, v := range x {
		box[k], box[d+k] = min(box[k], v), max(box[d+k], v)
	}
}

// widestOf returns the number of the longest side of a box.
func widestOf(box []float64) (widest int) {
	d := len(box) / 2
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

// scan adds the points of a leaf. Whether one counts cannot be foreseen: it is written in any
// case, and kept without a branch. Positions come in any order here: ties must all be kept.
func (t *tree) scan(n *nearest, node *treeNode, x []float64, end int32) {
	pos := t.pos[node.from:node.to]
	if n.size+len(pos) > len(n.d) {
		n.shrink()
	}
	size, limit := n.size, n.limit
	if t.dim == 2 && len(x) == 2 {
		y := t.x[2*node.from : 2*node.to]
		for i, p := range pos {
			a, b := x[0]-y[2*i], x[1]-y[2*i+1]
			s := math.FMA(b, b, a*a)
			n.d[size], n.pos[size] = s, p
			size += flag(s <= limit) & flag(p < end)
		}
	} else {
		y := t.x[int(node.from)*t.dim:]
		for i, p := range pos {
			var s float64
			for k, a := range y[i*t.dim : (i+1)*t.dim] {
				d := x[k] - a
				s = math.FMA(d, d, s) // the bits of asm.Kit.Dist
			}
			n.d[size], n.pos[size] = s, p
			size += flag(s <= limit) & flag(p < end)
		}
	}
	n.size = size
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

// queue returns the members from..to-1 in the order in which they are searched for: that of
// the tree, as far as they are in it, since searches for rows close to each other pass by the
// same leaves, and those of 1e6 rows stay in no cache. Member i is the row at position ends[i].
func (t *tree) queue(from, to int, ends []int32) []int32 {
	queue := make([]int32, 0, to-from)
	if ends == nil {
		for i := range to - from {
			queue = append(queue, int32(from+i))
		}
		return queue
	}
	member := make([]int32, len(t.pos)) // member + 1 at a position
	for i := from; i < to; i++ {
		if p := int(ends[i]); p < len(member) {
			member[p] = int32(i + 1)
		} else {
			queue = append(queue, int32(i))
		}
	}
	for _, p := range t.pos {
		if member[p] > 0 {
			queue = append(queue, member[p]-1)
		}
	}
	return queue
}

// searchIn searches t for members from..to-1 of left.
func (o *Op) searchIn(ctx context.Context, t *tree, dst []int32, left rowSet, from, to, k int, ends []int32) error {
	d := o.pts.dim
	work := make([]nearest, o.engine.Par.Threads())
	queue := t.queue(from, to, ends)
	tasks := (to - from + crossRows - 1) / crossRows
	o.engine.ForDealt(tasks, func(worker, task int) {
		if ctx.Err() != nil {
			return
		}
		n, guess, last := &work[worker], math.Inf(1), 0
		for _, member := range queue[task*crossRows : min(to-from, (task+1)*crossRows)] {
			i := int(member)
			r, end := i, len(t.pos)
			if left.index != nil {
				r = int(left.index[i])
			}
			if ends != nil {
				end = int(ends[i])
			}
			x := left.x[r*d : (r+1)*d]
			n.reset(k)
			if end >= k && end >= last/2 {
				n.limit = guess
			}
			t.find(n, 0, x, int32(end))
			if n.size < min(k, end) {
				n.reset(k)
				t.find(n, 0, x, int32(end))
			}
			n.write(dst[i*k : (i+1)*k])
			guess, last = math.Inf(1), end
			if n.size == k {
				guess = nearBy * n.d[k-1]
			}
		}
	})
	o.completeQueue(dst, queue, tasks, k)
	return ctx.Err()
}

// nearBy times the squared distance of the farthest neighbour of one row is tried for the next
// one, which is close to it: where that holds as many rows as are asked for, they are the nearest.
const nearBy = 1.4

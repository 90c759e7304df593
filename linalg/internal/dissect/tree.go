package dissect

import (
	"context"
	"slices"
)

// A Tree is an order in which m points are eliminated. The cliques say which points are joined: all of one clique are,
// two by two. A set of points is cut in the middle, and the points of one side that a clique joins to the other side
// separate what is left of both. These come last, so that neither half fills the other. Halves are cut again, down to
// leaves.
//
// A node eliminates its own points, J, when the nodes below have theirs; of the points behind, it then has joined those
// of its front, A.
type Tree struct {
	m       int
	order   []int32 // position in the order of elimination -> point
	at      []int32 // point -> position
	nodes   []node  // those below before those above
	tasks   [][2]int
	tops    []int
	cliques []int32 // count×width, positions
	width   int
	most    int // largest number of points of a node with its front
}

// A node has the positions from..to-1 and is joined to those of its front.
type node struct {
	from, to int
	front    []int32 // ascending
	kids     []int32
	into     []int32 // of each point of the front, its place among the points of the node above: own ones, then front
	first    int     // the first node of the subtree
	cliques  []int32 // whose first position is here
}

func (n *node) own() int  { return n.to - n.from }
func (n *node) size() int { return n.to - n.from + len(n.front) }

// leafPoints are few enough not to be cut: a group of columns of a tile.
const leafPoints = 96

// NewTree returns the tree of the points x (m×dim) and their cliques, each of width different points, or ctx.Err().
func NewTree(ctx context.Context, x []float64, dim int, cliques []int32, width int) (*Tree, error) {
	m := len(x) / dim
	t := &Tree{m: m, at: make([]int32, m), width: width, cliques: make([]int32, len(cliques))}
	d := &dissector{t: t, cut: newCutter(x, dim), cliques: cliques, label: make([]int32, m), ctx: ctx}
	points, all := make([]int32, m), make([]int32, len(cliques)/width)
	for i := range points {
		points[i] = int32(i)
	}
	for i := range all {
		all[i] = int32(i)
	}
	d.region(points, all)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for q, p := range t.order {
		t.at[p] = int32(q)
	}
	for i, p := range cliques {
		t.cliques[i] = t.at[p]
	}
	t.makeFronts()
	t.makeTasks()
	return t, nil
}

// Order returns the points in the order in which they are eliminated.
func (t *Tree) Order() []int32 { return t.order }

// Clique returns the positions of the points of a clique, in its order.
func (t *Tree) Clique(c int) []int32 { return t.cliques[c*t.width : (c+1)*t.width] }

// A dissector makes the nodes of a tree.
type dissector struct {
	t       *Tree
	cut     *cutter
	cliques []int32
	label   []int32 // of a point, the set that it is in; separators -1
	labels  int32
	ctx     context.Context
}

// region makes the nodes of a set of points, of which the cliques have some, and returns the last of them, -1 for none.
func (d *dissector) region(points, cliques []int32) int32 {
	first := len(d.t.nodes)
	if len(points) == 0 || d.ctx.Err() != nil {
		return -1
	}
	if len(points) <= leafPoints {
		return d.add(first, points, nil)
	}
	d.cut.split(points, len(points)/2)
	halves := [2][]int32{points[:len(points)/2], points[len(points)/2:]}
	left, right := d.mark(halves[0]), d.mark(halves[1])
	edge := d.between(cliques, left, right)
	smaller := 0
	if len(edge[1]) < len(edge[0]) {
		smaller = 1
	}
	separator := edge[smaller]
	if 2*len(separator) > len(points) { // they are nearly all joined to each other
		return d.add(first, points, nil)
	}
	for _, p := range separator {
		d.label[p] = -1
	}
	halves[smaller] = slices.DeleteFunc(halves[smaller], func(p int32) bool { return d.label[p] < 0 })
	lists := [2][]int32{d.with(cliques, left), d.with(cliques, right)}
	var kids []int32
	for k := range halves {
		if id := d.region(halves[k], lists[k]); id >= 0 {
			kids = append(kids, id)
		}
	}
	if len(separator) == 0 && len(kids) == 1 {
		return kids[0]
	}
	return d.add(first, separator, kids)
}

// mark gives points a new label.
func (d *dissector) mark(points []int32) int32 {
	d.labels++
	for _, p := range points {
		d.label[p] = d.labels
	}
	return d.labels
}

// between returns the points of either label that cliques join to the other.
func (d *dissector) between(cliques []int32, left, right int32) (edge [2][]int32) {
	w := d.t.width
	for _, c := range cliques {
		some := [2]bool{}
		for _, p := range d.cliques[int(c)*w : int(c+1)*w] {
			some[0] = some[0] || d.label[p] == left
			some[1] = some[1] || d.label[p] == right
		}
		if !some[0] || !some[1] {
			continue
		}
		for _, p := range d.cliques[int(c)*w : int(c+1)*w] {
			switch d.label[p] {
			case left:
				edge[0] = append(edge[0], p)
			case right:
				edge[1] = append(edge[1], p)
			}
		}
	}
	for k := range edge {
		slices.Sort(edge[k])
		edge[k] = slices.Compact(edge[k])
	}
	return edge
}

// with returns the cliques that have a point of the label.
func (d *dissector) with(cliques []int32, label int32) []int32 {
	w := d.t.width
	var list []int32
	for _, c := range cliques {
		for _, p := range d.cliques[int(c)*w : int(c+1)*w] {
			if d.label[p] == label {
				list = append(list, c)
				break
			}
		}
	}
	return list
}

// add makes the node of the points, behind those of the subtrees of the kids, the first of which is first.
func (d *dissector) add(first int, points, kids []int32) int32 {
	t := d.t
	from := len(t.order)
	t.order = append(t.order, points...)
	t.nodes = append(t.nodes, node{from: from, to: len(t.order), kids: kids, first: first})
	return int32(len(t.nodes) - 1)
}

package dissect

import (
	"math"
	"slices"
)

// A Near finds the nearest of some points by a k-d tree.
type Near struct {
	x     []float64
	dim   int
	order []int32
	boxes []nearBox
}

// A nearBox holds the points order[from:to]; its halves are the box behind it and right, 0 for none.
type nearBox struct {
	from, to, right int
	lo, hi          []float64
}

const nearLeaf = 16

// NewNear returns a Near of the points x (n×dim), n >= 1.
func NewNear(x []float64, dim int) *Near {
	t := &Near{x: x, dim: dim, order: make([]int32, len(x)/dim)}
	for i := range t.order {
		t.order[i] = int32(i)
	}
	t.build(newCutter(x, dim), 0, len(t.order))
	return t
}

func (t *Near) build(c *cutter, from, to int) {
	b := nearBox{from: from, to: to, lo: make([]float64, t.dim), hi: make([]float64, t.dim)}
	for k := range t.dim {
		b.lo[k], b.hi[k] = math.Inf(1), math.Inf(-1)
		for _, p := range t.order[from:to] {
			v := t.x[int(p)*t.dim+k]
			b.lo[k], b.hi[k] = min(b.lo[k], v), max(b.hi[k], v)
		}
	}
	id := len(t.boxes)
	t.boxes = append(t.boxes, b)
	if to-from <= nearLeaf {
		return
	}
	mid := (from + to) / 2
	c.split(t.order[from:to], mid-from)
	t.build(c, from, mid)
	t.boxes[id].right = len(t.boxes)
	t.build(c, mid, to)
}

// To sets dst to the len(dst) points nearest to a place, at most n, nearest first, ties by number. Calls may run at the
// same time.
func (t *Near) To(dst []int32, place []float64) {
	if len(dst) > len(t.order) {
		panic("dissect: Near: fewer points than asked for")
	}
	s := nearSearch{t: t, place: place, best: make([]keyed, 0, len(dst)+1), k: len(dst)}
	if s.k > 0 {
		s.visit(0)
	}
	for i, b := range s.best {
		dst[i] = b.at
	}
}

type nearSearch struct {
	t     *Near
	place []float64
	best  []keyed // by squared distance, ascending
	k     int
}

// away is the squared distance to a box.
func (s *nearSearch) away(id int) float64 {
	b, d2 := &s.t.boxes[id], 0.0
	for k, v := range s.place {
		d := max(b.lo[k]-v, v-b.hi[k], 0)
		d2 += d * d
	}
	return d2
}

func (s *nearSearch) visit(id int) {
	if len(s.best) == s.k && s.away(id) > s.best[s.k-1].key {
		return
	}
	b := &s.t.boxes[id]
	if b.right > 0 {
		first, second := id+1, b.right
		if s.away(second) < s.away(first) {
			first, second = second, first
		}
		s.visit(first)
		s.visit(second)
		return
	}
	for _, p := range s.t.order[b.from:b.to] {
		d2 := 0.0
		for k, v := range s.place {
			d := s.t.x[int(p)*s.t.dim+k] - v
			d2 += d * d
		}
		s.add(keyed{d2, p})
	}
}

// add puts a point where it belongs among the best.
func (s *nearSearch) add(p keyed) {
	if len(s.best) == s.k && !p.before(s.best[s.k-1]) {
		return
	}
	i, _ := slices.BinarySearchFunc(s.best, p, func(a, b keyed) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	s.best = slices.Insert(s.best, i, p)[:min(len(s.best)+1, s.k)]
}

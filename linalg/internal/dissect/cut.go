package dissect

import (
	"cmp"
	"context"
	"slices"
)

// Cut orders the n points x (n×dim) so that the points of each of some parts lie together: part i has the points
// order[starts[i]:starts[i+1]]. The longest side of the box of a set is cut, again and again, into so many parts of
// equally many points, but for one, and those for which again is true once more in halves, as long as it is. It needs
// parts <= n, and depends on nothing else. Where ctx ends first, the result is of no use.
func Cut(ctx context.Context, x []float64, dim, parts int, again func(points []int32) bool) (order []int32,
	starts []int) {
	n := len(x) / dim
	if parts < 1 || parts > n || dim < 1 || len(x)%dim != 0 {
		panic("dissect: Cut: bad sizes")
	}
	c := newCutter(x, dim)
	order = make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	var halve func(from, to, parts int)
	halve = func(from, to, parts int) {
		if ctx.Err() != nil {
			return
		}
		if parts == 1 && to-from > 1 && again(order[from:to]) {
			parts = 2
		}
		if parts == 1 {
			starts = append(starts, from)
			return
		}
		left := parts / 2
		mid := from + (to-from)*left/parts
		c.split(order[from:to], mid-from)
		halve(from, mid, left)
		halve(mid, to, parts-left)
	}
	halve(0, n, parts)
	return order, append(starts, n)
}

// A keyed point stands in the order of its coordinate, and of its number where that is equal.
type keyed struct {
	key float64
	at  int32
}

func (a keyed) before(b keyed) bool { return a.key < b.key || a.key == b.key && a.at < b.at }

// A cutter cuts sets of points in two.
type cutter struct {
	x   []float64
	dim int
	buf []keyed
}

func newCutter(x []float64, dim int) *cutter {
	return &cutter{x: x, dim: dim, buf: make([]keyed, len(x)/dim)}
}

// longest returns the coordinate in which the box of the points is longest.
func (c *cutter) longest(points []int32) int {
	side, length := 0, -1.0
	for k := range c.dim {
		lo, hi := c.x[int(points[0])*c.dim+k], c.x[int(points[0])*c.dim+k]
		for _, p := range points {
			v := c.x[int(p)*c.dim+k]
			lo, hi = min(lo, v), max(hi, v)
		}
		if hi-lo > length {
			side, length = k, hi-lo
		}
	}
	return side
}

// split moves the first k of the points along the longest side of their box to the front.
func (c *cutter) split(points []int32, k int) {
	side, set := c.longest(points), c.buf[:len(points)]
	for i, p := range points {
		set[i] = keyed{c.x[int(p)*c.dim+side], p}
	}
	toFront(set, k)
	for i, s := range set {
		points[i] = s.at
	}
}

// toFront moves the first k of a set to the front.
func toFront(set []keyed, k int) {
	for lo, hi := 0, len(set); hi-lo > 1; {
		p := middle(set[lo], set[(lo+hi)/2], set[hi-1])
		i, j := lo, hi-1
		for i <= j {
			for set[i].before(p) {
				i++
			}
			for p.before(set[j]) {
				j--
			}
			if i <= j {
				set[i], set[j] = set[j], set[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			hi = j + 1
		case k >= i:
			lo = i
		default:
			lo, hi = 0, 0
		}
	}
}

func middle(a, b, c keyed) keyed {
	if b.before(a) {
		a, b = b, a
	}
	if c.before(a) {
		return a
	}
	if c.before(b) {
		return c
	}
	return b
}

// Around returns the size points nearest to one of the points x (n×dim), nearest first.
func Around(x []float64, dim, point, size int) []int32 {
	set := make([]keyed, len(x)/dim)
	for i := range set {
		set[i].at = int32(i)
		for k := range dim {
			t := x[i*dim+k] - x[point*dim+k]
			set[i].key += t * t
		}
	}
	toFront(set, size)
	slices.SortFunc(set[:size], func(a, b keyed) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at))
	})
	near := make([]int32, size)
	for i := range near {
		near[i] = set[i].at
	}
	return near
}

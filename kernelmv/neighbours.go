package kernelmv

import (
	"cmp"
	"context"
	"math"

	"bbgp.dev/linalg"
)

// Nearest rows are exact: they go by the float64 squared distance of scaled
// points, summed over the inputs in order as in asm.Kit.Dist, and by position
// where that is equal. blocksearch.go looks at all distances; for few inputs a
// k-d tree (kdtree.go) looks at less.

// NeighboursTo sets dst[i*k : (i+1)*k], for each position i of the ordering,
// to the min(k, i) positions j < i whose rows order[j] are nearest to row
// order[i] in the distance of the kernel, nearest first, ties by smaller
// position; -1 where there are fewer than k. With at most three inputs and 50000 rows
// or more the last k/4 of them are others (spread.go). It returns ctx.Err() if ctx ends
// first; dst is undefined then.
func (o *Op) NeighboursTo(ctx context.Context, dst []int32, order []int, k int) error {
	checkCall(ctx)
	if k < 0 || len(dst) != len(order)*k {
		panic("kernelmv: NeighboursTo: bad shapes")
	}
	if o.spreads(len(order), k) {
		return o.spreadTo(ctx, dst, order, k)
	}
	at := make([]int32, len(order))
	for i := range at {
		at[i] = int32(i)
	}
	return o.neighboursOf(ctx, dst, order, at, k)
}

// neighboursOf is NeighboursTo for the positions at, which ascend, alone.
func (o *Op) neighboursOf(ctx context.Context, dst []int32, order []int, at []int32, k int) error {
	index, of := make([]int32, len(order)), make([]int32, len(at))
	for i, r := range order {
		if r < 0 || r >= o.Dim() {
			panic("kernelmv: neighbours: no such row")
		}
		index[i] = int32(r)
	}
	for i, q := range at {
		of[i] = index[q]
	}
	return o.search(ctx, dst, o.someRows(of), o.someRows(index), k, at)
}

// Nearest returns the k training rows nearest to each row of xs (m×D), m×k,
// in the distance of the kernel, nearest first, ties by smaller row; -1 where
// there are fewer than k rows. It fails for test inputs that are not finite,
// and with ctx.Err().
func (o *Op) Nearest(ctx context.Context, xs linalg.Matrix, k int) ([]int32, error) {
	checkCall(ctx, xs)
	if k < 0 || k > math.MaxInt32 {
		panic("kernelmv: Nearest: k is negative or beyond any row")
	}
	left, err := o.testRows(xs)
	if err != nil {
		return nil, err
	}
	dst := make([]int32, xs.Rows*k)
	return dst, o.search(ctx, dst, left, o.allRows(), k, nil)
}

// search finds the k members of right nearest to each member of left; if ends is
// not nil, for member i among the first ends[i] only, which ascend, and right is
// in random order.
func (o *Op) search(ctx context.Context, dst []int32, left, right rowSet, k int, ends []int32) error {
	if k == 0 || left.n == 0 {
		return ctx.Err()
	}
	points := right.n
	if ends != nil {
		points /= 2
	}
	if treePays(o.pts.dim, points) {
		return o.searchTree(ctx, dst, left, right, k, ends)
	}
	return o.searchBlocks(ctx, dst, left, right, k, ends)
}

// nearest holds the candidates for one row.
type nearest struct {
	k      int
	limit  float64 // at least k candidates are at or below it
	size   int
	d      []float64 // squared distances
	pos    []int32   // positions
	keys   []float64 // work area of shrink
	pairs  []candidate
	other  []candidate // work areas of sort
	counts []int32
}

// A candidate is a position with its squared distance.
type candidate struct {
	d   float64
	pos int32
}

func compare(a, b candidate) int {
	if c := cmp.Compare(a.d, b.d); c != 0 {
		return c
	}
	return cmp.Compare(a.pos, b.pos)
}

func (n *nearest) reset(k int) {
	n.k, n.limit, n.size = k, math.Inf(1), 0
	room := 3*k + 32
	n.d, n.pos, n.keys = grow(n.d, room), grow(n.pos, room), grow(n.keys, room)
}

// add adds a candidate.
func (n *nearest) add(d float64, pos int32) {
	n.d[n.size], n.pos[n.size] = d, pos
	n.size++
	if n.size == len(n.d) {
		n.shrink()
	}
}

// shrink lowers the limit and drops what lies above it. It leaves between k
// and 5/4 k candidates, in the order in which they came.
func (n *nearest) shrink() {
	if n.size <= n.k {
		return
	}
	keys := n.keys[:n.size]
	copy(keys, n.d)
	limit, kept := upperBound(keys, n.k)
	n.limit = limit
	if kept > n.k+n.k/4 {
		n.cut() // many equal distances
		return
	}
	to := 0
	for i, d := range n.d[:n.size] {
		n.d[to], n.pos[to] = d, n.pos[i]
		to += flag(d <= limit)
	}
	n.size = to
}

// cut sorts the candidates and leaves k.
func (n *nearest) cut() {
	n.pairs = n.pairs[:0]
	for i, d := range n.d[:n.size] {
		n.pairs = append(n.pairs, candidate{d, n.pos[i]})
	}
	n.sort()
	n.size = min(n.size, n.k)
	for i, c := range n.pairs[:n.size] {
		n.d[i], n.pos[i] = c.d, c.pos
	}
}

// sort sorts the pairs by compare. Squared distances are spread evenly as a rule, so that as
// many equal parts of their range have one or two each, which are then sorted by insertion.
func (n *nearest) sort() {
	const most = 12 // of a part, or it is not so
	largest := 0.0
	for _, c := range n.pairs {
		largest = max(largest, c.d)
	}
	parts := len(n.pairs)
	scale := float64(parts-1) / largest
	if parts < 12 || !(scale < math.MaxFloat64) {
		sortCandidates(n.pairs)
		return
	}
	n.counts, n.other = grow(n.counts, parts+1), grow(n.other, parts)
	clear(n.counts)
	for _, c := range n.pairs {
		n.counts[int(c.d*scale)+1]++
	}
	fullest := int32(0)
	for i, c := range n.counts[1:] {
		fullest = max(fullest, c)
		n.counts[i+1] += n.counts[i]
	}
	if fullest > most {
		sortCandidates(n.pairs)
		return
	}
	for _, c := range n.pairs {
		at := &n.counts[int(c.d*scale)]
		n.other[*at] = c
		*at++
	}
	n.pairs, n.other = n.other, n.pairs
	insert(n.pairs)
}

// insert sorts what is nearly sorted.
func insert(c []candidate) {
	for i := 1; i < len(c); i++ {
		x, j := c[i], i
		for ; j > 0 && x.before(c[j-1]); j-- {
			c[j] = c[j-1]
		}
		c[j] = x
	}
}

// sortCandidates sorts by compare, a hundred at a time in half of what slices.SortFunc takes.
func sortCandidates(c []candidate) {
	for len(c) > 12 {
		pivot := c[len(c)/2]
		i, j := 0, len(c)-1
		for i <= j {
			for c[i].before(pivot) {
				i++
			}
			for pivot.before(c[j]) {
				j--
			}
			if i <= j {
				c[i], c[j] = c[j], c[i]
				i, j = i+1, j-1
			}
		}
		sortCandidates(c[:j+1])
		c = c[i:]
	}
	insert(c)
}

// before is compare(a, b) < 0 for distances that are numbers.
func (a candidate) before(b candidate) bool {
	return a.d < b.d || a.d == b.d && a.pos < b.pos
}

// write puts the k best positions into dst, in order.
func (n *nearest) write(dst []int32) {
	n.shrink()
	n.cut()
	for i := range dst {
		dst[i] = -1
		if i < n.size {
			dst[i] = n.pos[i]
		}
	}
}

// flag is 1 for true, without a branch.
func flag(b bool) int {
	var i int
	if b {
		i = 1
	}
	return i
}

// upperBound returns a value that at least k of the keys do not exceed, and
// their number: at most 5/4 k unless many keys are equal. The keys are
// permuted. It is a quickselect that stops early; its branches depend on
// counts, not on keys, because those of a random order cannot be predicted.
func upperBound(keys []float64, k int) (limit float64, kept int) {
	below := 0 // keys that are known to be smaller than those at hand
	for {
		pivot := medianOf3(keys[0], keys[len(keys)/2], keys[len(keys)-1])
		less, upTo := partition(keys, pivot)
		switch {
		case below+less >= k && below+less <= k+k/4:
			limit = keys[0]
			for _, x := range keys[:less] {
				limit = max(limit, x)
			}
			return limit, below + less
		case below+less >= k:
			keys = keys[:less]
		case below+upTo >= k:
			return pivot, below + upTo
		default:
			below += upTo
			keys = keys[upTo:]
		}
	}
}

// partition permutes the keys: first the less ones that are smaller than the pivot, then the
// equal ones up to upTo. Without a branch that depends on a key.
func partition(keys []float64, pivot float64) (less, upTo int) {
	for i, x := range keys {
		keys[i] = keys[less]
		keys[less] = x
		less += flag(x < pivot)
	}
	upTo = less
	for i := less; i < len(keys); i++ {
		x := keys[i]
		keys[i] = keys[upTo]
		keys[upTo] = x
		upTo += flag(x == pivot)
	}
	return less, upTo
}

func medianOf3(a, b, c float64) float64 {
	return max(min(a, b), min(max(a, b), c))
}

package kernelmv

import (
	"context"
	"math"
	"slices"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// Nearest rows are exact: they go by the float64 squared distance of scaled
// points, summed over the inputs in order as in asm.Kit.Dist, and by position
// where that is equal. The blocked search evaluates the distances tile by tile
// and keeps, for each row, a buffer of candidates below a threshold; whenever
// the buffer is full, a selection leaves the k best and lowers the threshold.
// So a candidate costs a few steps, not a logarithm of k. For few inputs a k-d
// tree (kdtree.go) looks at less.

// NeighboursTo sets dst[i*k : (i+1)*k], for each position i of the ordering,
// to the min(k, i) positions j < i whose rows order[j] are nearest to row
// order[i] in the distance of the kernel, nearest first, ties by smaller
// position; -1 where there are fewer than k. It returns ctx.Err() if ctx ends
// first; dst is undefined then.
func (o *Op) NeighboursTo(ctx context.Context, dst []int32, order []int, k int) error {
	if k < 0 || len(dst) != len(order)*k {
		panic("kernelmv: NeighboursTo: bad shapes")
	}
	index := make([]int32, len(order))
	for i, r := range order {
		index[i] = int32(r)
	}
	set := o.someRows(index)
	return o.search(ctx, dst, set, set, k, true)
}

// Nearest returns the k training rows nearest to each row of xs (m×D), m×k,
// in the distance of the kernel, nearest first, ties by smaller row; -1 where
// there are fewer than k rows. It fails for test inputs that are not finite,
// and with ctx.Err().
func (o *Op) Nearest(ctx context.Context, xs linalg.Matrix, k int) ([]int32, error) {
	if k < 0 {
		panic("kernelmv: Nearest: negative k")
	}
	left, err := o.testRows(xs)
	if err != nil {
		return nil, err
	}
	dst := make([]int32, xs.Rows*k)
	return dst, o.search(ctx, dst, left, o.allRows(), k, false)
}

// search finds the k members of right nearest to each member of left; with
// earlier, those at smaller positions only.
func (o *Op) search(ctx context.Context, dst []int32, left, right rowSet, k int, earlier bool) error {
	if k == 0 || left.n == 0 {
		return ctx.Err()
	}
	if o.pts.dim <= maxTreeDim && right.n > 4*leafSize {
		return o.searchTree(ctx, dst, left, right, k, earlier)
	}
	s := &blockSearch{walk: o.newWalk(left, right), dst: dst, k: k, earlier: earlier}
	s.walk.cutCols = padTo(right.n, asm.Pad)
	s.walk.clamp = math.Inf(1)
	s.walk.backwards = true // the longest rows first, for an even load
	s.workers = make([][]nearest, o.engine.Par.Threads())
	s.walk.visit, s.walk.begin, s.walk.end = s.visit, s.begin, s.finish
	if earlier {
		s.walk.lastCol = func(i int) int { return i }
	}
	return s.walk.run(ctx)
}

// A candidate is a position with its squared distance.
type candidate struct {
	d   float64
	pos int32
}

func (a candidate) less(b candidate) bool { return a.d < b.d || a.d == b.d && a.pos < b.pos }

// nearest holds the candidates for one row. Positions must be added in
// increasing order, or all at once with their ties.
type nearest struct {
	k     int
	limit float64 // the k-th smallest distance of the last selection
	buf   []candidate
}

func (n *nearest) reset(k int) {
	n.k, n.limit = k, math.Inf(1)
	n.buf = slices.Grow(n.buf[:0], 2*k+32)
}

// add adds a candidate with d < limit.
func (n *nearest) add(d float64, pos int32) {
	n.buf = append(n.buf, candidate{d, pos})
	if len(n.buf) == 2*n.k+32 {
		n.shrink()
	}
}

// shrink keeps the k best candidates.
func (n *nearest) shrink() {
	if len(n.buf) <= n.k {
		return
	}
	selectBest(n.buf, n.k)
	n.buf = n.buf[:n.k]
	n.limit = 0
	for _, c := range n.buf {
		n.limit = max(n.limit, c.d)
	}
}

// write puts the k best positions into dst, in order.
func (n *nearest) write(dst []int32) {
	n.shrink()
	slices.SortFunc(n.buf, func(a, b candidate) int {
		if a.less(b) {
			return -1
		}
		return 1
	})
	for i := range dst {
		dst[i] = -1
		if i < len(n.buf) {
			dst[i] = n.buf[i].pos
		}
	}
}

// selectBest brings the k smallest candidates to the front (Hoare's
// quickselect with the median of three; candidates are all different).
func selectBest(c []candidate, k int) {
	lo, hi := 0, len(c)-1
	for lo < hi {
		mid := lo + (hi-lo)/2
		if c[mid].less(c[lo]) {
			c[mid], c[lo] = c[lo], c[mid]
		}
		if c[hi].less(c[lo]) {
			c[hi], c[lo] = c[lo], c[hi]
		}
		if c[hi].less(c[mid]) {
			c[hi], c[mid] = c[mid], c[hi]
		}
		pivot := c[mid]
		i, j := lo, hi
		for i <= j {
			for c[i].less(pivot) {
				i++
			}
			for pivot.less(c[j]) {
				j--
			}
			if i <= j {
				c[i], c[j] = c[j], c[i]
				i++
				j--
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

// A blockSearch finds nearest rows by a walk over all tiles of distances.
type blockSearch struct {
	walk    *walk[float64]
	dst     []int32
	k       int
	earlier bool
	workers [][]nearest // crossRows per worker
}

func (s *blockSearch) begin(worker, _, _ int) {
	if s.workers[worker] == nil {
		s.workers[worker] = make([]nearest, crossRows)
	}
	for i := range s.workers[worker] {
		s.workers[worker][i].reset(s.k)
	}
}

func (s *blockSearch) visit(worker, _ int, t crossTile[float64]) {
	for a := range t.rows {
		i := t.i + a
		n := &s.workers[worker][i%crossRows]
		cols := t.cols
		if s.earlier {
			cols = min(cols, i-t.j)
		}
		if cols <= 0 {
			continue
		}
		limit := n.limit
		for b, d := range t.data[a*t.stride : a*t.stride+cols] {
			if d < limit {
				n.add(d, int32(t.j+b))
				limit = n.limit
			}
		}
	}
}

func (s *blockSearch) finish(worker, i0, rows int) {
	for i := i0; i < i0+rows; i++ {
		s.workers[worker][i%crossRows].write(s.dst[i*s.k : (i+1)*s.k])
	}
}

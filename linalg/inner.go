package linalg

import (
	"bbgp.dev/asm"
	"bbgp.dev/linalg/internal/room"
)

// Inner products over the n rows. This is the one place that finishes a sum
// over rows: row groups, fixed by n alone, give partial sums, which are added in
// group order. Where rows live on several machines, the reduction belongs here.

const (
	groupUnit = 256 // rows that one call of the micro-kernel sums over
	groupMax  = 256 // most groups, so that partial sums stay small
	// gramSmall is the largest p·q whose partial sums are kept for every group;
	// larger products go through GemmTo, which owns parts of dst instead of rows.
	gramSmall = 64 * 64
)

// groupRows is the number of rows in a group: at most groupMax groups cover n.
func groupRows(n int) int {
	return groupUnit * max(1, (n+groupUnit*groupMax-1)/(groupUnit*groupMax))
}

// A gramJob is the state of GramTo. Its work areas are groups·p·q·8 bytes for
// the sums (padded to micro-tiles) and threads·256·(p+q)·8 bytes.
type gramJob struct {
	kit      *asm.Kit[float64]
	x, y     Matrix
	ps, qs   int // p and q rounded up to whole micro-tiles
	size     int // rows of a group
	sums     []float64
	packed   [][]float64
	groupSum func(worker, g int)
}

// GramTo sets dst = x'y, p×q, for x n×p and y n×q. dst overlaps neither.
func (e *Engine) GramTo(dst, x, y Matrix) {
	check(dst, x, y)
	if x.Rows != y.Rows || dst.Rows != x.Cols || dst.Cols != y.Cols {
		panic("linalg: GramTo: shapes do not fit")
	}
	if dst.Rows*dst.Cols > gramSmall {
		e.GemmTo(dst, 1, x, true, y, false, 0)
		return
	}
	dst.Zero()
	if x.Rows == 0 || dst.Rows == 0 || dst.Cols == 0 {
		return
	}
	g := e.gramFor(x, y)
	g.size = groupRows(x.Rows)
	groups := (x.Rows + g.size - 1) / g.size
	g.sums = g.roomFor(groups)
	e.Par.For(groups, g.groupSum)
	for k := range groups {
		part := g.sums[k*g.ps*g.qs:]
		for i := range dst.Rows {
			row := dst.Row(i)
			for j, v := range part[i*g.qs:][:len(row)] {
				row[j] += v
			}
		}
	}
	g.x, g.y = Matrix{}, Matrix{}
}

// gramFor returns the work areas for x'y.
func (e *Engine) gramFor(x, y Matrix) *gramJob {
	if e.gram == nil {
		e.gram = &gramJob{kit: &e.Impl.F64, packed: make([][]float64, e.Par.Threads())}
		e.gram.groupSum = e.gram.sumGroup
	}
	g := e.gram
	g.x, g.y = x, y
	g.ps, g.qs = room.RoundUp(x.Cols, gemmMR), room.RoundUp(y.Cols, gemmNR)
	for w := range g.packed {
		g.packed[w] = room.Reserve(g.packed[w], groupUnit*(g.ps+g.qs))
	}
	return g
}

// roomFor returns room for so many sums.
func (g *gramJob) roomFor(count int) []float64 { return room.Reserve(g.sums, count*g.ps*g.qs) }

// unpad copies sum k to dst, p×q.
func (g *gramJob) unpad(dst []float64, k int) {
	sum, q := g.sums[k*g.ps*g.qs:], g.y.Cols
	for i := range g.x.Cols {
		copy(dst[i*q:(i+1)*q], sum[i*g.qs:])
	}
}

// sumGroup computes the partial sum of one group of rows.
func (g *gramJob) sumGroup(worker, k int) {
	sum := g.sums[k*g.ps*g.qs:][:g.ps*g.qs]
	clear(sum)
	end := min((k+1)*g.size, g.x.Rows)
	for r := k * g.size; r < end; r += groupUnit {
		g.addUnit(worker, sum, g.x, g.y, r, min(groupUnit, end-r))
	}
}

// addUnit adds the products of depth rows of x and y, from r on, to sum.
func (g *gramJob) addUnit(worker int, sum []float64, x, y Matrix, r, depth int) {
	a := g.packed[worker][:depth*g.ps]
	b := g.packed[worker][groupUnit*g.ps:][:depth*g.qs]
	packAlong(a, gemmMR, x, 0, x.Cols, r, depth)
	packAlong(b, gemmNR, y, 0, y.Cols, r, depth)
	for i := 0; i < g.ps; i += gemmMR {
		for j := 0; j < g.qs; j += gemmNR {
			g.kit.Gemm(sum[i*g.qs+j:], g.qs, 1, a[i*depth:][:gemmMR*depth], b[j*depth:][:gemmNR*depth], depth, true)
		}
	}
}

// Dot returns x'y, summed in the row groups of GramTo.
func (e *Engine) Dot(x, y []float64) float64 {
	if len(x) != len(y) {
		panic("linalg: Dot: lengths differ")
	}
	size, sum := groupRows(len(x)), 0.0
	for r := 0; r < len(x); r += size {
		end := min(r+size, len(x))
		sum += e.Impl.F64.Dot(x[r:end], y[r:end])
	}
	return sum
}

// Axpy adds y += a x.
func (e *Engine) Axpy(a float64, x, y []float64) { e.Impl.F64.Axpy(a, x, y) }

// MulSubTo subtracts w -= x c, for w n×q, x n×p, c p×q. w overlaps neither.
func (e *Engine) MulSubTo(w, x, c Matrix) {
	e.GemmTo(w, -1, x, false, c, false, 1)
}

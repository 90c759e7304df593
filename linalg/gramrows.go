package linalg

// Inner products of blocks of which each rank has its own rows (OwnRows). They are those of GramTo, to the last bit:
// calls of the micro-kernel sum over the same groupUnit rows, and the sums of these calls are added in the same order.
// A call belongs to the rank that has its first row. Where tables are short, groups of rows of a rank do not end where
// calls do: the rows at the head of a rank's part, before its first call, go to all ranks.

// A gramPiece is rows of one row group of GramTo whose sum one rank makes.
type gramPiece struct{ from, to int }

// gramPieces appends the pieces of a rank to p, for n rows: row groups that it has whole, calls of the others.
func (e *Engine) gramPieces(p []gramPiece, rank, n int) []gramPiece {
	size := groupRows(n)
	lo, hi := unitUp(e.FirstRow(rank, n)), e.FirstRow(rank+1, n)
	for r := lo; r < hi; {
		to := min(r+size, n)
		if r%size != 0 || to > hi {
			to = min(r+groupUnit, n)
		}
		p = append(p, gramPiece{r, to})
		r = to
	}
	return p
}

// unitUp is the first multiple of groupUnit from row on.
func unitUp(row int) int { return (row + groupUnit - 1) / groupUnit * groupUnit }

// GramRowsTo sets dst = x'y, p×q, for x n×p and y n×q, of which each rank has its own rows.
func (e *Engine) GramRowsTo(dst, x, y Matrix, n int) {
	if e.alone() {
		e.GramTo(dst, x, y)
		return
	}
	if dst.Rows*dst.Cols > gramSmall {
		e.GramTo(dst, e.AllRows(x, n), e.AllRows(y, n))
		return
	}
	check(dst, x, y)
	if lo, hi := e.OwnRows(n); x.Rows != hi-lo || y.Rows != hi-lo || dst.Rows != x.Cols || dst.Cols != y.Cols {
		panic("linalg: GramRowsTo: shapes do not fit")
	}
	dst.Zero()
	if n == 0 || dst.Rows == 0 || dst.Cols == 0 {
		return
	}
	pieces, off, each := []gramPiece(nil), make([]int, 0, e.Ranks()+1), dst.Rows*dst.Cols
	for r := range e.Ranks() {
		off = append(off, len(pieces)*each)
		pieces = e.gramPieces(pieces, r, n)
	}
	off = append(off, len(pieces)*each)
	own := pieces[off[e.Rank()]/each : off[e.Rank()+1]/each]
	heads := e.heads(x, y, n)
	g := e.gramFor(x, y)
	g.sums = g.roomFor(len(own))
	e.Par.For(len(own), func(worker, k int) { g.sumPiece(e, worker, k, own[k], n, heads) })
	buf := e.Room(off[e.Ranks()])
	for k := range own {
		g.unpad(buf[off[e.Rank()]+k*each:][:each], k)
	}
	g.x, g.y = Matrix{}, Matrix{}
	e.gather(buf, off)
	addPieces(dst, buf, pieces, groupRows(n))
}

// addPieces adds the sums of pieces to those of their groups, and these to dst, in order.
func addPieces(dst Matrix, sums []float64, pieces []gramPiece, size int) {
	each := dst.Rows * dst.Cols
	for k := 0; k < len(pieces); {
		group := sums[k*each : (k+1)*each]
		end := pieces[k].from/size*size + size
		for k++; k < len(pieces) && pieces[k].from < end; k++ {
			for i, v := range sums[k*each : (k+1)*each] {
				group[i] += v
			}
		}
		for i := range dst.Rows {
			row := dst.Row(i)
			for j, v := range group[i*dst.Cols : (i+1)*dst.Cols] {
				row[j] += v
			}
		}
	}
}

// gramHeads are the heads of all ranks' rows of x and y: those before a multiple of groupUnit. That of rank r begins at
// row at[r].
type gramHeads struct {
	x, y Matrix
	at   []int
}

// heads brings the heads together.
func (e *Engine) heads(x, y Matrix, n int) gramHeads {
	h := gramHeads{at: make([]int, e.Ranks()+1)}
	for r := range e.Ranks() {
		first := e.FirstRow(r, n)
		h.at[r+1] = h.at[r] + min(unitUp(first), e.FirstRow(r+1, n)) - first
	}
	if h.at[e.Ranks()] == 0 {
		return h
	}
	all := NewMatrix(h.at[e.Ranks()], x.Cols+y.Cols)
	for i := h.at[e.Rank()]; i < h.at[e.Rank()+1]; i++ {
		row, from := all.Row(i), i-h.at[e.Rank()]
		copy(row[copy(row, x.Row(from)):], y.Row(from))
	}
	e.CompleteRuns(all, nil, h.at)
	h.x, h.y = all.Sub(0, all.Rows, 0, x.Cols), all.Sub(0, all.Rows, x.Cols, all.Cols)
	return h
}

// sumPiece computes sum k, of a piece.
func (g *gramJob) sumPiece(e *Engine, worker, k int, piece gramPiece, n int, heads gramHeads) {
	lo, hi := e.OwnRows(n)
	sum := g.sums[k*g.ps*g.qs:][:g.ps*g.qs]
	clear(sum)
	for r := piece.from; r < piece.to; r += groupUnit {
		end := min(r+groupUnit, piece.to)
		if end <= hi {
			g.addUnit(worker, sum, g.x, g.y, r-lo, end-r)
			continue
		}
		// The last call: its end is at the head of ranks behind.
		x, y := NewMatrix(end-r, g.x.Cols), NewMatrix(end-r, g.y.Cols)
		x.Sub(0, hi-r, 0, x.Cols).CopyFrom(g.x.Sub(r-lo, hi-lo, 0, x.Cols))
		y.Sub(0, hi-r, 0, y.Cols).CopyFrom(g.y.Sub(r-lo, hi-lo, 0, y.Cols))
		for rank, row := e.Rank()+1, hi; row < end; rank++ {
			first := e.FirstRow(rank, n)
			for ; row < min(end, e.FirstRow(rank+1, n)); row++ {
				copy(x.Row(row-r), heads.x.Row(heads.at[rank]+row-first))
				copy(y.Row(row-r), heads.y.Row(heads.at[rank]+row-first))
			}
		}
		g.addUnit(worker, sum, x, y, 0, end-r)
	}
}

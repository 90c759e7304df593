package linalg

import (
	"bbgp.dev/internal/comm"
)

// A computation over several ranks is the same program on each of them, with an Engine that has a Comm.
// Every rank makes the same calls with the same arguments and gets the same results, to the last bit those of one rank
// alone: loops that cost share their iterations out, and what the iterations have made is gathered (Complete). So
// whatever is computed from it elsewhere needs to know nothing of ranks.
//
// An error of the communication is final for the whole run, and nothing could be done about it where it is noticed: it
// is raised as a panic with a *RankError, which the program turns into the end of all ranks.

// A RankError is an error of the communication between ranks.
type RankError struct{ Err error }

func (e *RankError) Error() string { return "the ranks cannot go on: " + e.Err.Error() }
func (e *RankError) Unwrap() error { return e.Err }

// gatherNumbers are brought together at a time, 8 MB, where more need not be. Tests make it less.
var gatherNumbers = 1 << 20

// gathering is the memory of gathers.
type gathering struct {
	buf []float64 // of the Comm
	off []int
}

// alone tells whether e computes on one rank only.
func (e *Engine) alone() bool { return e.Comm == nil || e.Comm.Size() == 1 }

// Ranks returns the number of ranks, 1 for an Engine without others.
func (e *Engine) Ranks() int {
	if e.Comm == nil {
		return 1
	}
	return e.Comm.Size()
}

// Rank returns the number of this rank. Rank 0 alone writes and prints.
func (e *Engine) Rank() int {
	if e.Comm == nil {
		return 0
	}
	return e.Comm.Rank()
}

// shareStart is where the part of a rank begins among count things.
func shareStart(count, rank, size int) int { return count * rank / size }

// Share returns the part from..to-1 of count things that this rank computes.
func (e *Engine) Share(count int) (from, to int) {
	return shareStart(count, e.Rank(), e.Ranks()), shareStart(count, e.Rank()+1, e.Ranks())
}

// OwnRows returns the rows from..to-1 of n that this rank holds, whole groups.
func (e *Engine) OwnRows(n int) (from, to int) {
	return e.FirstRow(e.Rank(), n), e.FirstRow(e.Rank()+1, n)
}

// FirstRow is the first of the rows of n that a rank holds; n for the number of ranks.
func (e *Engine) FirstRow(rank, n int) int {
	return min(shareStart(Groups(n), rank, e.Ranks())*GroupRows(n), n)
}

// ForShare runs the iterations of this rank's Share of count pieces of unit iterations each.
func (e *Engine) ForShare(count, unit int, body func(worker, i int)) {
	e.ForShareTo(count, unit, count*unit, body)
}

// ForShareTo is ForShare where the last pieces end at iteration n.
func (e *Engine) ForShareTo(count, unit, n int, body func(worker, i int)) {
	if e.alone() {
		e.Par.For(n, body)
		return
	}
	from, to := e.Share(count)
	from, to = min(from*unit, n), min(to*unit, n)
	e.Par.For(to-from, func(worker, i int) { body(worker, from+i) })
}

// Complete gathers x, count pieces of unit numbers (the last one may be shorter), of which each rank has made its
// Share.
func (e *Engine) Complete(x []float64, count, unit int) {
	e.CompleteRows(Column(x), count, unit)
}

// CompleteRows gathers the rows of m, count pieces of unit rows (the last one may have fewer), of which each rank has
// made its Share.
func (e *Engine) CompleteRows(m Matrix, count, unit int) {
	if e.alone() {
		return
	}
	e.completeRuns(m, nil, func(rank int) int { return min(shareStart(count, rank, e.Ranks())*unit, m.Rows) })
}

// CompleteRuns gathers the rows of m, of which rank r has made the rows order[q] with first[r] <= q < first[r+1]; a nil
// order is that of the rows.
func (e *Engine) CompleteRuns(m Matrix, order []int32, first []int) {
	if e.alone() {
		return
	}
	e.completeRuns(m, order, func(rank int) int { return first[rank] })
}

func (e *Engine) completeRuns(m Matrix, order []int32, first func(rank int) int) {
	// Some columns at a time, for gathers have memory of their own; blocks of a process come in one piece.
	const leastCols = 8
	cols := max(leastCols, gatherNumbers/max(1, m.Rows))
	for j := 0; j < m.Cols; j += cols {
		e.completeSome(m.Sub(0, m.Rows, j, min(j+cols, m.Cols)), order, first)
	}
}

// completeSome is completeRuns of few columns.
func (e *Engine) completeSome(m Matrix, order []int32, first func(rank int) int) {
	off := e.gathers.off[:0]
	for k := range e.Ranks() + 1 {
		off = append(off, first(k)*m.Cols)
	}
	row := func(q int) []float64 {
		if order != nil {
			q = int(order[q])
		}
		return m.Row(q)
	}
	buf, from, to := e.Room(m.Rows*m.Cols), first(e.Rank()), first(e.Rank()+1)
	e.forNumbers(to-from, m.Cols, func(q int) {
		q += from
		copy(buf[q*m.Cols:(q+1)*m.Cols], row(q))
	})
	e.gather(buf, off)
	e.forNumbers(m.Rows, m.Cols, func(q int) {
		if q < from || q >= to {
			copy(row(q), buf[q*m.Cols:])
		}
	})
}

// forNumbers calls body for every row of n, each of cols numbers to be copied: on all threads where they are many. None
// is left out where loops are (Par.Until), for ranks that go on would not have the same.
func (e *Engine) forNumbers(n, cols int, body func(i int)) {
	const many = 1 << 14
	if n*cols < many {
		for i := range n {
			body(i)
		}
		return
	}
	ended := e.Par.ended
	e.Par.ended = nil
	e.Par.ForRows(n, body)
	e.Par.ended = ended
}

// AllRows returns all rows of n, of which each rank has its own (OwnRows): m itself where one has all.
func (e *Engine) AllRows(m Matrix, n int) Matrix {
	if e.alone() {
		return m
	}
	all := NewMatrix(n, m.Cols)
	e.AllRowsTo(all, m)
	return all
}

// AllRowsTo sets dst to all of its rows, of which each rank has its own in m.
func (e *Engine) AllRowsTo(dst, m Matrix) {
	lo, hi := e.OwnRows(dst.Rows)
	dst.Sub(lo, hi, 0, m.Cols).CopyFrom(m)
	e.CompleteRows(dst, Groups(dst.Rows), GroupRows(dst.Rows))
}

// GatheredRows returns all rows of n, of which each of several ranks has its own in m, in the memory of gathers: it is
// the one whole block of a pass, until something else is brought together. Rows are stride numbers apart, with zeros
// behind those of m.
func (e *Engine) GatheredRows(m Matrix, n, stride int) Matrix {
	cols := m.Cols
	off := e.gathers.off[:0]
	for r := range e.Ranks() + 1 {
		off = append(off, e.FirstRow(r, n)*cols)
	}
	x := e.Room(n * stride)
	own := x[off[e.Rank()]:off[e.Rank()+1]]
	e.forNumbers(m.Rows, cols, func(i int) { copy(own[i*cols:(i+1)*cols], m.Row(i)) })
	e.gather(x[:n*cols], off)
	if cols < stride {
		e.spreadRows(x, n, cols, stride)
	}
	return Matrix{Rows: n, Cols: cols, Stride: stride, Data: x}
}

// spreadRows moves n rows of cols numbers to places stride numbers apart, zeros behind them: from the last one on, as
// many at a time as go where no rows are left.
func (e *Engine) spreadRows(x []float64, n, cols, stride int) {
	for n > 0 {
		from := min((n*cols+stride-1)/stride, n-1)
		e.forNumbers(n-from, stride, func(i int) {
			i += from
			row := x[i*stride : (i+1)*stride]
			copy(row, x[i*cols:(i+1)*cols])
			clear(row[cols:])
		})
		n = from
	}
}

// Deals tells whether iteration i is dealt to this rank.
func (e *Engine) Deals(i int) bool { return i%e.Ranks() == e.Rank() }

// ForDealt runs the iterations of 0..n-1 that are dealt to this rank, in turn: where the first cost more than the last.
func (e *Engine) ForDealt(n int, body func(worker, i int)) {
	if e.alone() {
		e.Par.For(n, body)
		return
	}
	size, own := e.Ranks(), e.Rank()
	e.Par.For((n-own+size-1)/size, func(worker, i int) { body(worker, own+i*size) })
}

// CompleteDealt gathers x, count pieces of unit numbers (the last one may be shorter): iteration i of ForDealt has made
// piece i, or with backwards piece count-1-i.
func CompleteDealt[T int32 | float64](e *Engine, x []T, count, unit int, backwards bool) {
	if e.alone() {
		return
	}
	// In parts, each of which begins with a piece of rank 0, for gathers have memory of their own.
	size := e.Ranks()
	part := max(1, gatherNumbers/max(1, unit*size)) * size
	for from := 0; from < count; from += part {
		some := min(part, count-from)
		if backwards {
			completePart(e, x[(count-from-some)*unit:min((count-from)*unit, len(x))], some, unit, true)
		} else {
			completePart(e, x[from*unit:min((from+some)*unit, len(x))], some, unit, false)
		}
	}
}

// completePart is CompleteDealt of few numbers.
func completePart[T int32 | float64](e *Engine, x []T, count, unit int, backwards bool) {
	size, own := e.Ranks(), e.Rank()
	buf, off := e.Room(len(x)), e.gathers.off[:0]
	pieces := func(rank int, do func(piece []T)) {
		for i := rank; i < count; i += size {
			k := i
			if backwards {
				k = count - 1 - i
			}
			do(x[k*unit : min((k+1)*unit, len(x))])
		}
	}
	at := 0
	for r := range size {
		off = append(off, at)
		pieces(r, func(piece []T) {
			for i, v := range piece {
				if r == own {
					buf[at+i] = float64(v)
				}
			}
			at += len(piece)
		})
	}
	off = append(off, at)
	e.gather(buf, off)
	at = 0
	for r := range size {
		pieces(r, func(piece []T) {
			for i := range piece {
				piece[i] = T(buf[at+i])
			}
			at += len(piece)
		})
	}
}

// CompleteOwned gathers the rows of m: row i has been made by the rank that holds row at[i] of n (OwnRows).
func (e *Engine) CompleteOwned(m Matrix, at []int32, n int) {
	if e.alone() || m.Cols == 0 {
		return
	}
	size, groups := e.Ranks(), Groups(n)
	owner := make([]int, len(at))
	for i, row := range at {
		owner[i] = ((int(row)/GroupRows(n)+1)*size - 1) / groups
	}
	buf, off := e.Room(m.Rows*m.Cols), append(e.gathers.off[:0], 0)
	each := func(do func(rank int, row, room []float64)) {
		k := 0
		for r := range size {
			for i := range m.Rows {
				if owner[i] == r {
					do(r, m.Row(i), buf[k*m.Cols:(k+1)*m.Cols])
					k++
				}
			}
			off = append(off, k*m.Cols)
		}
	}
	each(func(rank int, row, room []float64) {
		if rank == e.Rank() {
			copy(room, row)
		}
	})
	e.gather(buf, off)
	each(func(_ int, row, room []float64) { copy(row, room) })
}

// From gives x of one rank to all.
func (e *Engine) From(rank int, x []float64) {
	if e.alone() {
		return
	}
	buf, off := e.Room(len(x)), e.gathers.off[:0]
	for r := range e.Ranks() + 1 {
		if r <= rank {
			off = append(off, 0)
		} else {
			off = append(off, len(x))
		}
	}
	copy(buf, x)
	e.gather(buf, off)
	copy(x, buf)
}

// InTurn lets each rank in turn, by number, add to x, in which it finds what those before have left, and leaves the end
// of that on all of them: for sums in the order of the rows. What work does makes no gathers.
func (e *Engine) InTurn(x []float64, work func()) {
	for r := range e.Ranks() {
		if r == e.Rank() {
			work()
		}
		e.From(r, x)
	}
}

// gather completes buf, of which rank r has made off[r]..off[r+1]-1, and keeps the memory of off.
func (e *Engine) gather(buf []float64, off []int) {
	e.gathers.off = off
	if err := e.Comm.AllGather(buf, off); err != nil {
		panic(&RankError{err})
	}
}

// Room returns n numbers of the memory of gathers, until the next of them. It grows to what the largest takes, and
// doubles while that is little.
func (e *Engine) Room(n int) []float64 {
	if len(e.gathers.buf) < n {
		twice := min(2*len(e.gathers.buf), gatherNumbers)
		e.Comm.Free(e.gathers.buf)
		e.gathers.buf = e.Comm.Alloc(max(n, twice))
	}
	return e.gathers.buf[:n]
}

// FirstBytes returns the b of rank 0 on all ranks; it may have another length on each.
func (e *Engine) FirstBytes(b []byte) []byte {
	if e.alone() {
		return b
	}
	b, err := comm.Share(e.Comm, b)
	if err != nil {
		panic(&RankError{err})
	}
	return b
}

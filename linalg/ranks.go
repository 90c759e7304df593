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
	from, to = e.Share(Groups(n))
	return min(from*GroupRows(n), n), min(to*GroupRows(n), n)
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
	e.CompleteRows(Matrix{Rows: len(x), Cols: 1, Stride: 1, Data: x}, count, unit)
}

// CompleteRows gathers the rows of m, count pieces of unit rows (the last one may have fewer), of which each rank has
// made its Share.
func (e *Engine) CompleteRows(m Matrix, count, unit int) {
	if e.alone() {
		return
	}
	size, own := e.Ranks(), e.Rank()
	row := func(rank int) int { return min(shareStart(count, rank, size)*unit, m.Rows) }
	off := e.gathers.off[:0]
	for k := range size + 1 {
		off = append(off, row(k)*m.Cols)
	}
	buf := e.room(m.Rows * m.Cols)
	for i := row(own); i < row(own+1); i++ {
		copy(buf[i*m.Cols:(i+1)*m.Cols], m.Row(i))
	}
	e.gather(buf, off)
	for i := range m.Rows {
		if i < row(own) || i >= row(own+1) {
			copy(m.Row(i), buf[i*m.Cols:])
		}
	}
}

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
	size, own := e.Ranks(), e.Rank()
	buf, off := e.room(len(x)), e.gathers.off[:0]
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

// gather completes buf, of which rank r has made off[r]..off[r+1]-1, and keeps the memory of off.
func (e *Engine) gather(buf []float64, off []int) {
	e.gathers.off = off
	if err := e.Comm.AllGather(buf, off); err != nil {
		panic(&RankError{err})
	}
}

// room returns n numbers of the Comm's memory. What it has once given it keeps: it doubles.
func (e *Engine) room(n int) []float64 {
	if len(e.gathers.buf) < n {
		e.gathers.buf = e.Comm.Alloc(max(n, 2*len(e.gathers.buf)))
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

package krylov

import (
	"context"
	"time"

	"bbgp.dev/linalg"
)

// A pass over ranks. Blocks are by rows, and a product with K̂ needs all rows of what it multiplies. Operators by rows
// bring them together in the memory of gathers, as do preconditioners, so one block is whole on each rank. Where the
// operator has another order than that of the rows, a pass has two more: what it multiplies and what it makes.

// pass sets w = F⁻¹ K̂ F⁻ᵀ cur, this rank's rows; z is overwritten.
func (l *Lanczos) pass(ctx context.Context, w, z linalg.Matrix) error {
	f, ok := l.f.(linalg.RowsPreconditioner)
	if !ok || l.e.Ranks() == 1 || !f.ByRows() {
		return l.wholePass(ctx, w, z)
	}
	start := time.Now()
	f.FInvTransRowsTo(z, l.cur)
	start = lap(start, &l.Times.Precond)
	err := l.mulRowsTo(ctx, w, z)
	start = lap(start, &l.Times.Product)
	if err != nil {
		return err
	}
	f.FInvRowsTo(w, w)
	lap(start, &l.Times.Precond)
	return nil
}

// mulRowsTo sets w = K̂ z, this rank's rows.
func (l *Lanczos) mulRowsTo(ctx context.Context, w, z linalg.Matrix) error {
	if op, ok := l.op.(linalg.RowsOp); ok && op.ByRows() {
		return op.MulRowsTo(ctx, w, z)
	}
	src, dst := l.wholeBlock(0, z.Cols), l.wholeBlock(1, z.Cols)
	l.e.AllRowsTo(src, z)
	err := l.op.MulTo(ctx, dst, src)
	w.CopyFrom(l.own(dst))
	return err
}

// own is this rank's rows of m, which has all.
func (l *Lanczos) own(m linalg.Matrix) linalg.Matrix { return m.Sub(l.lo, l.lo+l.rows, 0, m.Cols) }

// wholePass is pass with whole blocks, which one rank alone has, and others where the preconditioner is not by rows.
func (l *Lanczos) wholePass(ctx context.Context, w, z linalg.Matrix) error {
	start := time.Now()
	cur, src, dst := l.cur, z, w
	if l.e.Ranks() > 1 {
		src, dst = l.wholeBlock(0, z.Cols), l.wholeBlock(1, z.Cols)
		l.e.AllRowsTo(src, cur)
		cur = src
	}
	l.f.FInvTransTo(src, cur)
	start = lap(start, &l.Times.Precond)
	err := l.op.MulTo(ctx, dst, src)
	start = lap(start, &l.Times.Product)
	if err != nil {
		return err
	}
	l.f.FInvTo(dst, dst)
	if l.e.Ranks() > 1 {
		w.CopyFrom(l.own(dst))
	}
	lap(start, &l.Times.Precond)
	return nil
}

// wholeBlock is the memory of a whole block.
func (l *Lanczos) wholeBlock(i, cols int) linalg.Matrix {
	if len(l.whole[i]) < l.n*cols {
		l.whole[i] = make([]float64, l.n*cols)
	}
	return view(l.whole[i], l.n, cols)
}

// WholeBytes returns the part of Bytes that each rank has for all rows, 0 where all is by rows.
func (l *Lanczos) WholeBytes() int64 { return 8 * int64(len(l.whole[0])+len(l.whole[1])) }

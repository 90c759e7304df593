package krylov

import (
	"context"
	"time"

	"bbgp.dev/linalg"
)

// A pass over ranks. Blocks are by rows, and a product with K̂ needs all rows of what it multiplies: they are gathered
// into one block that is whole on each rank. Where the operator or the preconditioner has another order than that of
// the rows, a pass is made with two whole blocks.

// pass sets w = F⁻¹ K̂ F⁻ᵀ cur, this rank's rows; z is overwritten.
func (l *Lanczos) pass(ctx context.Context, w, z linalg.Matrix) error {
	op, f, ok := l.byRows()
	if !ok {
		return l.wholePass(ctx, w, z)
	}
	start := time.Now()
	f.FInvTransRowsTo(z, l.cur)
	start = lap(start, &l.Times.Precond)
	all := l.wholeBlock(0, z.Cols)
	l.e.AllRowsTo(all, z)
	err := op.MulRowsTo(ctx, w, all)
	start = lap(start, &l.Times.Product)
	if err != nil {
		return err
	}
	f.FInvRowsTo(w, w)
	lap(start, &l.Times.Precond)
	return nil
}

// wholePass is pass with whole blocks, which one rank alone has.
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
		w.CopyFrom(dst.Sub(l.lo, l.lo+l.rows, 0, w.Cols))
	}
	lap(start, &l.Times.Precond)
	return nil
}

// byRows returns the operator and the preconditioner, if both are by rows and there are other ranks.
func (l *Lanczos) byRows() (linalg.RowsOp, linalg.RowsPreconditioner, bool) {
	op, ok := l.op.(linalg.RowsOp)
	f, both := l.f.(linalg.RowsPreconditioner)
	return op, f, ok && both && l.e.Ranks() > 1 && op.ByRows() && f.ByRows()
}

// wholeBlock is the memory of a whole block.
func (l *Lanczos) wholeBlock(i, cols int) linalg.Matrix {
	if len(l.whole[i]) < l.n*cols {
		l.whole[i] = make([]float64, l.n*cols)
	}
	return view(l.whole[i], l.n, cols)
}

// WholeBytes returns the part of Bytes that each rank has for all rows, 0 on one alone.
func (l *Lanczos) WholeBytes() int64 { return 8 * int64(len(l.whole[0])+len(l.whole[1])) }

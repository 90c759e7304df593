package krylov

import (
	"context"

	"bbgp.dev/linalg"
)

// What is made of the basis of a process. Over ranks, blocks that go in and come out are whole on each.

// MulBasisTo sets dst = T y, n×q, for y k×q, in float64. Blocks that are not
// stored are made again, pass by pass, with the same bits; the process cannot
// go on after that. It returns ctx.Err() if ctx ends first.
func (l *Lanczos) MulBasisTo(ctx context.Context, dst, y linalg.Matrix) error {
	if dst.Rows != l.n || y.Rows > l.H.Dim() || dst.Cols != y.Cols {
		panic("krylov: MulBasisTo: wrong shape")
	}
	stored := min(y.Rows, l.t.Cols())
	own := dst.Sub(l.lo, l.lo+l.rows, 0, dst.Cols)
	l.t.MulTo(own, y.Sub(0, stored, 0, y.Cols))
	if stored < y.Rows {
		if err := l.mulAgain(ctx, own, y); err != nil {
			return err
		}
	}
	l.complete(dst)
	return nil
}

// complete gathers the rows of dst, n×q.
func (l *Lanczos) complete(dst linalg.Matrix) {
	l.e.CompleteRows(dst, linalg.Groups(l.n), linalg.GroupRows(l.n))
}

// mulAgain adds what blocks that are not stored have to this rank's rows of T y.
func (l *Lanczos) mulAgain(ctx context.Context, dst, y linalg.Matrix) error {
	full, last, norm := l.H, l.cur.Clone(), l.norm
	l.restore(0, l.spill.cur, &l.cur)
	l.restore(1, l.spill.prev, &l.prev)
	l.H, l.norm = full.Truncated(l.spill.blocks), l.spill.norm
	for j := l.spill.blocks; ; j++ {
		end := full.off[j+1]
		l.e.GemmTo(dst, 1, l.cur, false, y.Sub(full.off[j], end, 0, y.Cols), false, 1)
		if end == y.Rows {
			break
		}
		l.replayed++
		if err := l.Step(ctx); err != nil {
			l.H = full
			return err
		}
	}
	l.H, l.norm = full, norm
	l.restore(0, last, &l.cur)
	return nil
}

// InverseTo sets dst = T H⁻¹T'src + (I - TT')src, n×q, with f the factor of H: A⁻¹ where
// A is the identity outside the basis, as it nearly is once the process has
// converged. It reports false, and does nothing, where the basis is not stored.
func (l *Lanczos) InverseTo(dst, src linalg.Matrix, f *BlockLDL) bool {
	k := l.H.Dim()
	if l.spill.on || l.t.Cols() < k {
		return false
	}
	c := linalg.NewMatrix(l.t.Cols(), src.Cols)
	l.t.InnerTo(c, src.Sub(l.lo, l.lo+l.rows, 0, src.Cols))
	c = c.Sub(0, k, 0, src.Cols)
	x := c.Clone()
	f.SolveTo(x)
	l.e.Axpy(-1, c.Data[:k*src.Cols], x.Data)
	l.t.MulTo(dst.Sub(l.lo, l.lo+l.rows, 0, dst.Cols), x)
	l.complete(dst)
	for i := range dst.Rows {
		for j, v := range src.Row(i) {
			dst.Data[i*dst.Stride+j] += v
		}
	}
	return true
}

// restore sets *m to a copy of block in buffer number at.
func (l *Lanczos) restore(at int, block linalg.Matrix, m *linalg.Matrix) {
	*m = view(l.bufs[at], l.rows, block.Cols)
	if block.Cols > 0 {
		m.CopyFrom(block)
	}
}

// NextTo sets dst = T_t+1 y, n×1, for the block that has not entered H yet; y has
// Width entries.
func (l *Lanczos) NextTo(dst linalg.Matrix, y []float64) {
	if dst.Rows != l.n || dst.Cols != 1 || len(y) != l.cur.Cols {
		panic("krylov: NextTo: wrong shape")
	}
	for i := range l.rows {
		s := 0.0
		for j, v := range l.cur.Row(i) {
			s += float64(v * y[j])
		}
		dst.Set(l.lo+i, 0, s)
	}
	l.complete(dst)
}

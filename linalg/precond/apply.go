package precond

import (
	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/internal/room"
)

// Products with the inverse factors of P. Each rank makes its own rows (Engine.OwnRows), of F's ordering or of the
// original one, from its own rows or from all of them; what W needs of other ranks is gathered where it is packed.

// ByRows says whether FInvRowsTo and FInvTransRowsTo may be called: ranks divide P of latents by cells.
func (p *Precond) ByRows() bool { return p.latent == nil }

// FInvTo sets dst = F^-1 src, n×p. dst may be src.
func (p *Precond) FInvTo(dst, src linalg.Matrix) {
	p.check(dst, src, p.n)
	if p.latent != nil {
		p.latent.fInvTo(dst, src)
		return
	}
	p.fInv(p.own(dst), src, false)
	p.complete(dst)
}

// FInvRowsTo sets dst to this rank's rows of F^-1 src. dst may be src.
func (p *Precond) FInvRowsTo(dst, src linalg.Matrix) {
	p.checkRows(dst, src)
	p.fInv(dst, src, true)
}

// FInvTransTo sets dst = F^-T src, n×p. dst may be src.
func (p *Precond) FInvTransTo(dst, src linalg.Matrix) {
	p.check(dst, src, p.n)
	if p.latent != nil {
		p.latent.fInvTransTo(dst, src)
		return
	}
	p.fInvTrans(p.own(dst), p.own(src))
	p.complete(dst)
}

// FInvTransRowsTo sets dst to this rank's rows of F^-T src. dst may be src.
func (p *Precond) FInvTransRowsTo(dst, src linalg.Matrix) {
	p.checkRows(dst, src)
	p.fInvTrans(dst, src)
}

// SolveTo sets dst = P^-1 src, n×p. dst may be src.
func (p *Precond) SolveTo(dst, src linalg.Matrix) {
	p.check(dst, src, p.n)
	if p.latent != nil {
		p.latent.solveTo(dst, src)
		return
	}
	p.solve(p.own(dst), src, false)
	p.complete(dst)
}

func (p *Precond) check(dst, src linalg.Matrix, rows int) {
	if dst.Rows != rows || src.Rows != rows || dst.Cols != src.Cols {
		panic("precond: Precond: shapes do not fit")
	}
}

func (p *Precond) checkRows(dst, src linalg.Matrix) {
	p.check(dst, src, p.hi-p.lo)
	if p.latent != nil {
		panic("precond: Precond: not by rows")
	}
}

// own is this rank's rows of m, which has all.
func (p *Precond) own(m linalg.Matrix) linalg.Matrix { return m.Sub(p.lo, p.hi, 0, m.Cols) }

// complete gathers the rows of m, of which each rank has made its own.
func (p *Precond) complete(m linalg.Matrix) {
	p.e.CompleteRows(m, linalg.Groups(p.n), linalg.GroupRows(p.n))
}

// begin makes room for blocks of so many columns; it returns the padded tall block as a Matrix.
func (p *Precond) begin(cols int) (t linalg.Matrix, q int) {
	q = room.RoundUp(cols, asm.ColUnit)
	own := p.hi - p.lo
	if q != p.cols || cols != p.colsUsed {
		p.tall = room.Reserve(p.tall, room.RoundUp(own, asm.RowUnit)*q)
		clear(p.tall) // rows and columns of padding stay 0
		p.cols, p.colsUsed = q, cols
		if p.q != nil {
			size := p.q.cp * q
			p.small, p.flat = room.Reserve(p.small, size), room.Reserve(p.flat, size)
			p.one, p.two = room.Reserve(p.one, size), room.Reserve(p.two, size)
		}
	}
	return linalg.Matrix{Rows: own, Cols: cols, Stride: q, Data: p.tall}, q
}

// mulW sets dst to this rank's rows of W src; src has all rows or, by rows, this rank's. They do not overlap.
func (p *Precond) mulW(dst, src linalg.Matrix, byRows bool) {
	if p.vecchia != nil {
		p.vecchia.rowsTo(dst, src, byRows)
		return
	}
	if !byRows {
		src = p.own(src)
	}
	for i := range dst.Rows {
		s, out := p.scale[p.lo+i], dst.Row(i)
		for j, v := range src.Row(i) {
			out[j] = s * v
		}
	}
}

// mulWTrans sets dst to this rank's rows of W' src; src has these, too. They do not overlap.
func (p *Precond) mulWTrans(dst, src linalg.Matrix) {
	if p.vecchia != nil {
		p.vecchia.transRowsTo(dst, src, true)
		return
	}
	p.mulW(dst, src, true)
}

// project leaves s = Q' t of the block t in flat, and E s in one, with E = C^-1 - I.
func (p *Precond) project(q int) {
	p.q.transMul(p.flat, p.tall, q)
	flatToTall(p.small, p.flat, p.q.cp, q)
	p.middle.transMul(p.one, p.small, q)
}

// mulMiddle sets dst to E' src, which may be dst.
func (p *Precond) mulMiddle(dst, src []float64, q int) {
	clear(p.small)
	p.middle.mulAdd(p.small, src, q)
	tallToFlat(dst, p.small, p.q.cp, q)
}

// fInv sets dst to this rank's rows of F^-1 src; src has all rows or, by rows, this rank's.
func (p *Precond) fInv(dst, src linalg.Matrix, byRows bool) {
	t, q := p.begin(src.Cols)
	if q == 0 {
		return
	}
	p.mulW(t, src, byRows)
	if p.q != nil {
		p.project(q)
		p.q.mulAdd(p.tall, p.one, q)
	}
	dst.CopyFrom(t)
}

// fInvTrans sets dst to this rank's rows of F^-T src; src has these, too.
func (p *Precond) fInvTrans(dst, src linalg.Matrix) {
	t, q := p.begin(src.Cols)
	if q == 0 {
		return
	}
	t.CopyFrom(src)
	if p.q != nil {
		p.q.transMul(p.flat, p.tall, q)
		p.mulMiddle(p.one, p.flat, q)
		p.q.mulAdd(p.tall, p.one, q)
	}
	p.mulWTrans(dst, t)
}

// solve sets dst to this rank's rows of P^-1 src; src has all rows or, by rows, this rank's.
func (p *Precond) solve(dst, src linalg.Matrix, byRows bool) {
	t, q := p.begin(src.Cols)
	if q == 0 {
		return
	}
	p.mulW(t, src, byRows)
	if p.q != nil {
		// With E = C^-1 - I and s = Q' t: C^-T C^-1 s - s = E s + E'(s + E s).
		p.project(q)
		for i, v := range p.flat {
			p.two[i] = v + p.one[i]
		}
		p.mulMiddle(p.two, p.two, q)
		p.e.Axpy(1, p.two, p.one)
		p.q.mulAdd(p.tall, p.one, q)
	}
	p.mulWTrans(dst, t)
}

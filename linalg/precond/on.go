package precond

import "bbgp.dev/linalg"

// A factor computes on the engine that made it. On returns the same factor for another
// engine: the numbers are shared, the work areas are not, so that the two may be used at
// the same time. Results do not depend on the number of threads; with other routines they
// differ as far as the routines do. Over ranks, both engines have the same Comm.

// On returns P on e.
func (p *Precond) On(e *linalg.Engine) *Precond {
	o := emptyPrecond(e, p.n)
	o.rank, o.scale, o.logDet, o.trace = p.rank, p.scale, p.logDet, p.trace
	if p.latent != nil {
		o.latent = p.latent.on(e)
	}
	if p.vecchia != nil {
		o.vecchia = p.vecchia.on(e)
	}
	if p.q != nil {
		o.q, o.middle = p.q.on(e), p.middle.on(e)
	}
	return o
}

func (v *Vecchia) on(e *linalg.Engine) *Vecchia {
	o := &Vecchia{e: e, near: v.near, w: v.w, cols: v.cols, logDet: v.logDet}
	o.apply.init(o)
	return o
}

func (t *tiled) on(e *linalg.Engine) *tiled {
	o := &tiled{e: e, rows: t.rows, cols: t.cols, rp: t.rp, cp: t.cp, spread: t.spread, lo: t.lo, hi: t.hi,
		data: t.data, partRows: t.partRows}
	o.bind()
	return o
}

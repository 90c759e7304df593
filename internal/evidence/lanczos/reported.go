package lanczos

import (
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// Derivatives that are reported are to be within 1e-4 of their terms of what exact arithmetic has on the same probes:
// of |v'dK̂v/2| + |tr(K̂⁻¹dK̂)/2| by the logarithm of a parameter, 10 nats at least. Those of a training are not: on
// elevators .14 nats off by columns of the gradient that it leaves out and by float32 products, where .06 are allowed.

const (
	reportedTol   = 1e-6  // of tr(G H), what their columns may leave out
	reportedSlack = 1e-3  // nats that rounding of the gradient's squares may do
	reportedRest  = 1e-10 // of Q, what r'K̂⁻¹r may be
)

// gradTol is what the columns of the gradient may leave out of tr(G H).
func (r *process) gradTol() float64 {
	if r.opt.Reports() {
		return min(reportedTol, r.o.detail.gradTol)
	}
	return r.o.detail.gradTol
}

// gradSlack is what rounding of the gradient's squares may do to a derivative by a logarithm.
func (r *process) gradSlack() float64 {
	if r.opt.Reports() && !r.h2 {
		return reportedSlack * r.opt.Eps
	}
	return gradSlack * r.opt.Eps
}

// settle takes v to r'P⁻¹r/a <= reportedRest eps Q, where derivatives are reported: v'K̂v/2 is about Q/2, and what v is
// off by, e, does v'K̂e to it, (Q e'K̂e)^1/2 at most. Passes that end at their cap leave more, and so does rounding of
// the basis, which the process does not see. Products of one column, as many from one residual to the next as there
// were passes, solve for the rest.
func (r *process) settle(t *solution) error {
	if !r.opt.Reports() || r.own != kernelmv.F64 || r.h2 {
		return nil
	}
	most := reportedRest * min(r.opt.Eps, 1) * t.q
	if t.rest+2*r.unseen(t) <= most {
		return nil
	}
	best, _, err := r.solveTo(t.v, most, r.passes)
	if best == nil || err != nil {
		return err
	}
	t.v, t.r = best.alpha, best.r
	t.kv = r.o.e.Dot(t.v.Data, r.resid.Data) - r.o.e.Dot(t.v.Data, t.r.Data)
	white := linalg.NewMatrix(r.o.n, 1)
	r.o.pre.FInvTo(white, t.r)
	r.ahead(t, white)
	return nil
}

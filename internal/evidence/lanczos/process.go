package lanczos

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// A process is one evaluation of L~ in one precision.
type process struct {
	o    *Estimator
	ctx  context.Context
	p    gp.Params
	far  gp.Params // p with FarLength for inputs whose derivative is wanted at 1/ℓ² = 0
	opt  evidence.Options
	prec kernelmv.Precision
	own  kernelmv.Precision // prec, or Coarse for F64 where that is less work
	op   linalg.SymOp       // K̂ in own

	h2    bool    // products are of form H2
	pairs float64 // that a product takes, in entries of a dense one

	passes, products int
	before           int // of passes, of the evaluation that this one goes on from
	next             int // pass after which the logarithms are asked
	watch            stagnation
	resid            linalg.Matrix // y - c
	logConst         float64       // n log 2π + log det P
	v0, kv0          linalg.Matrix // of a warm start: v so far and K̂v; no rows without one
	turn             int           // of the evaluation, 0 unless others were not accurate enough
	kept             bool          // there are passes of this turn in opt.Keep
}

func (r *process) evaluate() (*evidence.Value, error) {
	o := r.o
	r.logConst = float64(o.n)*math.Log(2*math.Pi) + o.pre.LogDet()
	var err error
	if err = r.chooseForm(); err != nil {
		return nil, err
	}
	if !r.takeOver() {
		if err := r.begin(); err != nil {
			return nil, err
		}
	}
	defer func() {
		o.phases.product += o.lanczos.Times.Product
		o.phases.precond += o.lanczos.Times.Precond
		o.phases.orth += o.lanczos.Times.Orth
	}()
	rejected, err := r.toEps()
	if err != nil {
		return nil, err
	}
	ev := &evidence.Value{
		Passes: r.passes, Rank: o.pre.Rank(), Neighbours: o.pre.Neighbours(), Latents: o.pre.Latents(),
		Reason: o.reason, Probes: o.probes.Cols, ProbesReason: o.probesReason, MeanInfo: o.meanInfo,
		Precision: r.prec.String(), BoundKind: "probable", Node: min(o.b.node, 1),
	}
	ev.StdErr, ev.Law = o.b.scatter()
	if o.b.nodeOne && r.prec == kernelmv.F64 || o.lanczos.Exhausted() {
		ev.BoundKind = "rigorous"
	}
	if rejected {
		r.describe(ev)
		ev.Rejected = true
		ev.Upper = r.upper()
		ev.LML, ev.Lower = ev.Upper, math.Inf(-1)
		ev.Products = r.products
		return ev, nil
	}
	if err := r.finish(ev); err != nil {
		return nil, err
	}
	if err := r.solveWeights(ev); err != nil {
		return nil, err
	}
	if !r.h2 && !o.lanczos.Spilt() {
		o.last = r
	}
	r.describe(ev) // with the tolerance that was enough
	ev.Products, ev.Replayed = r.products, o.lanczos.Replayed()
	return ev, nil
}

// begin starts the process on [probes, F⁻¹(y - c - K̂v)], with v from warm.
func (r *process) begin() error {
	o := r.o
	r.resid = linalg.NewMatrix(o.n, 1)
	for i, y := range o.d.Y {
		r.resid.Data[i] = y - r.p.Mean
	}
	known, err := r.warm()
	if err != nil {
		return err
	}
	start := time.Now()
	s := o.probes.Cols
	for i := range o.probes.Rows {
		copy(o.start.Row(i), o.probes.Row(i))
	}
	left, white := r.resid.Clone(), linalg.NewMatrix(o.n, 1)
	if known > 0 {
		o.e.Axpy(-1, r.kv0.Data, left.Data)
	}
	o.pre.FInvTo(white, left)
	lo, hi := o.e.OwnRows(o.n)
	for i, v := range white.Data[lo:hi] {
		o.start.Data[i*o.start.Stride+s] = v
	}
	o.phases.precond += time.Since(start).Seconds()
	o.lanczos.Start(r.op, o.pre, o.start)
	r.resume()
	o.b.reset(o.lanczos.H, s, known, o.nodeOne(r.p))
	return nil
}

// warm sets v0 to the multiple of the last evaluation's v that leaves the least of
// Q = (y-c)'K̂⁻¹(y-c), and returns the part of Q that is known by it: with
// r0 = y - c - K̂v0, Q = 2(y-c)'v0 - v0'K̂v0 + r0'K̂⁻¹r0.
func (r *process) warm() (known float64, err error) {
	o := r.o
	o.first = nil
	if !r.h2 {
		o.first = slices.Clone(o.v)
	}
	if len(o.v) == 0 {
		return 0, nil
	}
	start := time.Now()
	v := linalg.Column(slices.Clone(o.v))
	kv := linalg.NewMatrix(o.n, 1)
	err = r.op.MulTo(r.ctx, kv, v)
	o.phases.product += time.Since(start).Seconds()
	r.products++
	along, size := o.e.Dot(r.resid.Data, v.Data), o.e.Dot(v.Data, kv.Data)
	if err != nil || !(along > 0 && size > 0) {
		return 0, err
	}
	for i := range v.Data {
		v.Data[i] *= along / size
		kv.Data[i] *= along / size
	}
	r.v0, r.kv0 = v, kv
	return along * (along / size), nil
}

// Gradients have bounds a part of eps apart: in a training of up to gradientRows rows gradientPart, as far as half of
// the passes again bring them; a training of more rows pays by its passes. Derivatives are off by the root of what the
// value is: of 361 random tables of 20 to 300 rows one in a hundred by 14 nats at eps 1, by .9 at .01, for 1.13 times
// the passes. Where they are reported it is reportedPart a row, as terms grow with the rows, by twice as many passes
// again; below n² mapPart a row and mapMost at most, by as many.
const (
	gradientRows = cost.DenseRows
	gradientPart = 0.01
	reportedPart = 1e-10
	mapPart      = 1e-7
	mapMost      = 0.01
)

// forGradient is how near each other bounds are to be for the gradient, and for how many passes beyond those that
// brought them to eps.
func (r *process) forGradient(reached int) (eps float64, more int) {
	switch {
	case r.opt.Reports() && r.h2:
		return min(mapMost, mapPart*float64(r.o.n)) * r.opt.Eps, max(2, reached)
	case r.opt.Reports():
		return reportedPart * float64(r.o.n) * r.opt.Eps, 2*reached + 4
	case r.opt.Gradient && r.o.n <= gradientRows:
		return gradientPart * r.opt.Eps, max(2, reached/2)
	}
	return r.opt.Eps, 0
}

// near reports that the bounds are as near each other as is asked for; reached is the pass at which they
// were eps apart, 0 before it.
func (r *process) near(reached *int) bool {
	gap := r.o.b.gap()
	if gap > r.opt.Eps {
		return false
	}
	if *reached == 0 {
		*reached = r.passes
	}
	eps, more := r.forGradient(*reached)
	return gap <= eps || r.passes >= *reached+more
}

// takeOver goes on from the last evaluation, if that is asked for and its process is there.
func (r *process) takeOver() bool {
	o, last := r.o, r.o.last
	o.last = nil
	if r.opt.After == 0 {
		return false
	}
	if last == nil || last.prec != r.prec || r.h2 || last.p.Mean != r.p.Mean || !last.p.SameCovariance(r.p) {
		o.v = slices.Clone(o.first)
		return false
	}
	r.resid, r.v0, r.kv0, r.passes, r.next, r.watch = last.resid, last.v0, last.kv0, last.passes, last.next, last.watch
	o.lanczos.GoOn()
	return true
}

// toEps runs the passes. One that goes on from the last evaluation makes the passes of that first, if they are not
// there, and ends them where it did: the same bits.
func (r *process) toEps() (rejected bool, err error) {
	if r.next == 0 {
		r.next, r.watch = 1, stagnation{best: math.Inf(1)}
	}
	if r.opt.After > 0 {
		if r.passes == 0 {
			eps, gradient := r.opt.Eps, r.opt.Gradient
			r.opt.Eps, r.opt.Gradient = r.opt.After, true // as those of a training have
			if rejected, err = r.iterate(); rejected || err != nil {
				return rejected, err
			}
			r.opt.Eps, r.opt.Gradient = eps, gradient
		}
		r.before = r.passes
	}
	return r.iterate()
}

// iterate runs passes until the bounds are eps apart, and reports whether the
// caller has rejected the point before. There is no cap: only bounds that have
// stopped to move end it.
func (r *process) iterate() (rejected bool, err error) {
	o := r.o
	reached := 0
	if r.passes > 0 && r.near(&reached) {
		return false, nil
	}
	for {
		if o.lanczos.Exhausted() && o.lanczos.H.Blocks() == 0 {
			return false, fmt.Errorf("%w: the right-hand sides are zero", gp.ErrNotFinite)
		}
		width := o.lanczos.Width()
		if err := o.lanczos.Step(r.ctx); err != nil {
			r.keep(true)
			return false, err
		}
		r.passes++
		r.products += width
		start := time.Now()
		err := o.b.quadratic(o.lanczos.H)
		if err == nil && (r.passes >= r.next || o.lanczos.Exhausted() || o.b.gap() <= r.opt.Eps) {
			err = o.b.logarithms(o.lanczos.H)
			// Checks cost k²: they may be a tenth of the passes apart.
			r.next = r.passes + max(1, r.passes/10)
		}
		o.phases.small += time.Since(start).Seconds()
		if err != nil {
			return false, fmt.Errorf("%w: %w after %d passes", evidence.ErrPrecision, err, r.passes)
		}
		if r.near(&reached) || o.lanczos.Exhausted() {
			return false, nil
		}
		if o.b.settled && r.opt.Reject != nil && r.opt.Reject(r.upper()) {
			return true, nil
		}
		if stalled := r.watch.stalled(r.passes, o.b.gap()); stalled && reached > 0 {
			return false, nil // rounding leaves the gradient no more
		} else if stalled {
			return false, &evidence.StagnationError{Passes: r.passes, Gap: r.watch.best, Precision: r.prec.String(),
				Rank: o.pre.Rank(), Neighbours: o.pre.Neighbours(), Latents: o.pre.Latents()}
		}
		r.keep(false)
	}
}

// upper is the upper bound of L so far.
func (r *process) upper() float64 {
	return -0.5 * (r.logConst + r.o.b.radauMean + r.o.b.quadLow)
}

// stagnation notices bounds that no longer improve.
type stagnation struct {
	best float64
	at   int
}

// stalled reports that 60 passes and a third of all have brought less than 1 %.
// Converging processes have shorter plateaus: blocks find several eigenvalues
// at once.
func (s *stagnation) stalled(pass int, gap float64) bool {
	if gap < 0.99*s.best {
		s.best, s.at = gap, pass
	}
	return pass-s.at > max(60, pass/3)
}

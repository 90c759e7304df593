package train

import (
	"context"
	"math"

	"bbgp.dev/internal/evidence"
)

// An evaluation goes on from the last one, of the same place, P and probes, where it only has to be finer: its process
// is there, and a part of the passes is what it costs. So a stage begins where a relocated step has ended, and the
// likelihood that is reported is that of a last stage which found nothing. Where a finer one is foreseen to need
// float64 products that the last one had not, all its passes are its own.

const (
	// goneOnProbes are as good as those of a last evaluation: if a stage has so many, and no step has seen them, they
	// need not be followed by others.
	goneOnProbes = 15
	// relocatedUses are the evaluations that P of a relocated step is for, where the next stage may go on from there:
	// it does where an evaluation takes manyPasses. Where it takes fewer (bike: 3), a new P costs no more than the end
	// of one.
	relocatedUses, manyPasses = 2, 8
)

// continues says whether evaluations may go on from ev.
func (t *Trainer) continues(ev *evidence.Value) bool {
	return t.opt.Method == "bbgp" && ev != nil && ev.Product == "dense"
}

// goesOn says whether an evaluation at t.Cur may go on from that which is there.
func (t *Trainer) goesOn() bool { return t.Cur.Ev == t.latest && t.continues(t.Cur.Ev) }

// tellsLast says whether the last evaluation of the fit may go on from that at t.Cur, whose probes have to be new.
func (t *Trainer) tellsLast() bool {
	return t.goesOn() && t.Cur.Ev == t.begun && t.Cur.Ev.Probes >= goneOnProbes
}

// settles says whether evaluations like that at t.Cur are long ones in float64, which are worth going on from.
func (t *Trainer) settles() bool {
	return t.continues(t.Cur.Ev) && t.Cur.Ev.Precision == "f64" && t.Cur.Ev.Passes >= manyPasses
}

// isDear says whether an evaluation like that at t.Cur costs much: a long one in float64, or one of a large table.
func (t *Trainer) isDear() bool {
	return t.settles() || t.d.X.Rows >= screenMany && t.continues(t.Cur.Ev)
}

// comparable is the width of bounds up to which evaluations are compared in a stage: where they are long, half of what
// the stage is worth will do.
func (t *Trainer) comparable() float64 {
	if t.settles() {
		return max(coarseEps*t.eps, t.worth()/2)
	}
	return coarseEps * t.eps
}

// nearEnd says whether the stage that begins may well be the last one, and its evaluation is worth going on from.
func (t *Trainer) nearEnd() bool { return t.settles() || t.isDear() && t.spent }

// usesOfRelocated is how many evaluations P of a relocated step is for.
func (t *Trainer) usesOfRelocated() int {
	if t.settles() {
		return relocatedUses
	}
	return 1
}

// leastPromises are the shares of the gain worth a stage that the first step of a stage has to promise, and others.
// Where an evaluation is dear, a step that ends what the last evaluation may go on from has to promise all of it.
func (t *Trainer) leastPromises() (first, others float64) {
	switch {
	case t.isDear() && t.tellsLast():
		return 1, firstStep
	case t.isDear():
		return firstStep, firstStep
	}
	return firstStep, smallStep
}

// known says whether an evaluation at t.cur would bring nothing: without probes it
// is what it was, and without inputs that are inactive but may return no derivative
// is wanted that it does not have.
func (t *Trainer) known() bool {
	if t.Cur.Ev == nil || t.Cur.g == nil || t.Cur.Ev.BoundKind != "exact" {
		return false
	}
	for j, o := range t.inactive {
		if o && !t.constant[j] {
			return false
		}
	}
	return true
}

// refine brings the evaluation at t.Cur, that of a relocated step, to what others are compared with, or begins a stage.
func (t *Trainer) refine(ctx context.Context) error {
	if t.moved || !t.goesOn() || !t.settles() {
		return t.begin(ctx)
	}
	t.eval.Eps, t.eval.After = min(max(t.worth()/4, t.eps), coarseEps*t.eps), t.Cur.eps
	finer, err := t.evaluate(ctx, t.far(t.Cur.P, t.inactive), math.Inf(-1))
	t.eval.After = 0
	if evidence.NeedsEscalation(err) {
		return t.begin(ctx)
	}
	if err != nil {
		return err
	}
	finer.P = t.Cur.P
	t.Cur, t.fresh = finer, true
	t.report(finer, true)
	return nil
}

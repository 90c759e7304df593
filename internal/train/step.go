package train

import (
	"context"
	"math"
	"slices"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// The steps of a stage.

// An outcome is what has come of a trial step.
type outcome int

const (
	rejected  outcome = iota // L is no higher there
	exhausted                // no step, nor another one in this stage: too little is predicted or left to gain
	accepted                 // t.Cur is there
	relocated                // the same, with preconditioner and probes made there
	renewed                  // no step: the evaluation at t.Cur was too coarse, or P made elsewhere, and is not now
)

// try takes one trial step, unless the model predicts less than that share of the gain worth a stage.
func (t *Trainer) try(ctx context.Context, center []float64, share float64) (outcome, error) {
	inactive, change := t.inputs(center)
	delta, predicted := t.step(center, inactive)
	for predicted < share*t.worth() && t.radius < largestRadius && t.held(delta) {
		t.radius *= 2 // failed steps have kept the prediction small
		delta, predicted = t.step(center, inactive)
	}
	if predicted < share*t.worth() && !change {
		return exhausted, nil
	}
	z := t.trialAt(delta, change)
	kind := accepted
	if t.relocates(predicted) {
		kind = relocated
	} else if t.stale() {
		return renewed, t.refine(ctx)
	}
	p, target := fromLog(t.Cur.P.Kernel, z, inactive), t.Cur.Ev.LML
	var pt Iterate
	var err error
	if kind == relocated {
		t.eval.Eps = min(max(predicted/50, coarseEps*t.eps), relocatedEps*t.eps)
		pt, err = t.relocate(ctx, p, inactive, target)
	} else {
		t.eval.Eps = t.Cur.eps
		pt, err = t.evaluate(ctx, p, target)
	}
	if err != nil && !evidence.NotFinite(err) {
		return rejected, err
	}
	if err != nil || pt.Ev.Rejected || !(pt.Ev.LML > t.Cur.Ev.LML) {
		return t.failed(pt, delta, change, err), nil
	}
	t.report(pt, true)
	t.actual = pt.Ev.LML - t.Cur.Ev.LML
	if ratio := t.actual / predicted; ratio > 0.7 {
		t.model.damping /= 4
		t.radius = min(2*t.radius, largestRadius)
	} else if ratio < 0.2 {
		t.model.damping = max(2*t.model.damping, 0.01)
	}
	t.model.push(delta, t.Cur.g, pt.g)
	t.Cur, t.inactive, t.fresh = pt, inactive, kind == relocated
	if change && t.reentry != nil {
		// Inputs that came in need their information at the place where they are.
		t.reentry, t.cut, t.measured = nil, min(4*t.cut, 1), nil
		if kind == accepted {
			return kind, t.measure(ctx)
		}
	}
	return kind, nil
}

// failed answers a step δ to pt that failed, or whose evaluation did: the change of inputs or the step may be at
// fault, and both give in.
func (t *Trainer) failed(pt Iterate, delta []float64, change bool, err error) outcome {
	if err == nil {
		t.report(pt, false)
	}
	t.shrink(pt, delta, err)
	t.hold = t.hold || change
	if change && t.reentry != nil {
		t.cut /= 4
	}
	flat := err == nil && !pt.Ev.Rejected && t.Cur.Ev.LML-pt.Ev.LML < smallStep*t.worth()
	if flat && !change || t.model.damping > maxDamping {
		return exhausted
	}
	return rejected
}

// trialAt returns the place of a trial step δ, where change lets inputs come back.
func (t *Trainer) trialAt(delta []float64, change bool) []float64 {
	z := slices.Clone(t.Cur.z)
	for i := range z {
		z[i] += delta[i]
	}
	for i, l := range t.reentry {
		if change && l > 0 {
			z[i] = math.Log(l)
		}
	}
	return z
}

// inputs returns which inputs are inactive in the next trial, and whether that
// changes.
func (t *Trainer) inputs(center []float64) (inactive []bool, change bool) {
	if t.hold {
		return t.inactive, false
	}
	inactive = t.deactivate(center)
	for i, l := range t.reentry {
		if l > 0 {
			inactive[i] = false
		}
	}
	return inactive, !slices.Equal(inactive, t.inactive)
}

// step maximises the model around t.cur within the radius and within that of the stage around
// center.
func (t *Trainer) step(center []float64, inactive []bool) (delta []float64, predicted float64) {
	d := t.d.X.Cols
	low, high := logRange(d)
	high[d] = min(high[d], t.Cur.z[d+1]+math.Log(mostCondition/float64(t.d.X.Rows)))
	low[d+1] = max(low[d+1], t.Cur.z[d]-math.Log(mostCondition/float64(t.d.X.Rows)))
	free := make([]bool, d+3)
	for i := range free {
		free[i] = i >= d || !inactive[i] && !t.inactive[i]
		stageRadius, radius := t.stageRadius, t.radius
		if i == d+2 {
			free[i] = !t.opt.FixMean
			stageRadius, radius = math.Inf(1), math.Inf(1)
		}
		low[i] = min(max(max(low[i], center[i]-stageRadius)-t.Cur.z[i], -radius), 0)
		high[i] = max(min(min(high[i], center[i]+stageRadius)-t.Cur.z[i], radius), 0)
	}
	return t.model.step(t.Cur.g, low, high, free)
}

// held says whether δ ends at the radius.
func (t *Trainer) held(delta []float64) bool {
	for _, v := range delta[:len(delta)-1] {
		if math.Abs(v) > 0.99*t.radius {
			return true
		}
	}
	return false
}

// relocates says whether a step of which the model predicts so much is to be a relocated one.
func (t *Trainer) relocates(predicted float64) bool {
	noise := t.Cur.Ev.StdErr
	return noise > 0 && predicted > relocatePredicted*noise && t.actual > relocateActual*noise
}

// stale says whether the objective's preconditioner was made elsewhere, for a
// relocated step that failed, or t.cur was evaluated too coarsely to compare.
func (t *Trainer) stale() bool { return t.moved || t.Cur.eps > t.comparable() }

// relocate evaluates p with a preconditioner made there.
func (t *Trainer) relocate(ctx context.Context, p gp.Params, inactive []bool, target float64) (Iterate, error) {
	t.moved = true
	if err := t.rebuild(ctx, p, t.usesOfRelocated()); err != nil {
		return Iterate{}, err
	}
	pt, err := t.evaluate(ctx, t.far(p, inactive), target)
	if err != nil {
		return pt, err
	}
	pt.P = p
	t.moved = pt.Ev.Rejected || !(pt.Ev.LML > target)
	return pt, nil
}

// shrink answers a failed step δ. The value and slope at its start and the
// value (or its upper bound) at its end fix a parabola along it, whose top is
// a fair length for the next step.
func (t *Trainer) shrink(pt Iterate, delta []float64, err error) {
	longest, slope := 0.0, 0.0
	for i, v := range delta {
		slope += t.Cur.g[i] * v
		if i < len(delta)-1 {
			longest = max(longest, math.Abs(v))
		}
	}
	cut := 0.25
	if err == nil {
		end := pt.Ev.LML
		if pt.Ev.Rejected {
			end = pt.Ev.Upper
		}
		if drop := t.Cur.Ev.LML + slope - end; drop > 0 {
			cut = min(max(slope/(2*drop), 0.1), 0.5)
		}
	}
	t.radius = cut * longest
	t.model.damping = max(2*t.model.damping, 0.01)
}

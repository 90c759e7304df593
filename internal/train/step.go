package train

import (
	"context"
	"math"
	"slices"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// The steps of a stage.

// try takes one trial step. ok: it was accepted; small: the model promises less
// than that share of the gain worth a stage.
func (t *Trainer) try(ctx context.Context, home []float64, share float64) (ok, small bool, err error) {
	out, change := t.inputs(home)
	delta, gain := t.step(home, out)
	for gain < share*t.worth() && t.radius < largestBox && t.held(delta) {
		t.radius *= 2 // failed steps have kept the promise small
		delta, gain = t.step(home, out)
	}
	if gain < share*t.worth() && !change {
		return false, true, nil
	}
	z := t.trialAt(delta, change)
	bold := t.isBold(gain)
	if !bold && t.stale() {
		return true, false, t.refine(ctx)
	}
	p, target := fromLog(t.Cur.P.Kernel, z, out), t.Cur.Ev.LML
	var pt Iterate
	if bold {
		t.eval.Eps = min(max(gain/50, coarseEps*t.eps), boldEps*t.eps)
		pt, err = t.bold(ctx, p, out, target)
	} else {
		t.eval.Eps = t.Cur.eps
		pt, err = t.evaluate(ctx, p, target)
	}
	if err != nil && !evidence.NotFinite(err) {
		return false, false, err
	}
	if err != nil || pt.Ev.Rejected || !(pt.Ev.LML > t.Cur.Ev.LML) {
		if err == nil {
			t.report(pt, false)
		}
		// The change of inputs or the step may be at fault: both give in.
		t.shrink(pt, delta, err)
		t.hold = t.hold || change
		if change && t.reentry != nil {
			t.cut /= 4
		}
		flat := err == nil && !pt.Ev.Rejected && t.Cur.Ev.LML-pt.Ev.LML < smallStep*t.worth()
		return false, flat && !change || t.met.damping > maxLambda, nil
	}
	t.report(pt, true)
	t.kept = pt.Ev.LML - t.Cur.Ev.LML
	if ratio := t.kept / gain; ratio > 0.7 {
		t.met.damping /= 4
		t.radius = min(2*t.radius, largestBox)
	} else if ratio < 0.2 {
		t.met.damping = max(2*t.met.damping, 0.01)
	}
	t.met.push(delta, t.Cur.g, pt.g)
	t.Cur, t.out, t.fresh = pt, out, bold
	if change && t.reentry != nil {
		// Inputs that came in need their information at the place where they are.
		t.reentry, t.cut, t.measured = nil, min(4*t.cut, 1), nil
		if !bold {
			return true, false, t.measure(ctx)
		}
	}
	return true, false, nil
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

// inputs returns which inputs are out in the next trial, and whether that
// changes.
func (t *Trainer) inputs(home []float64) (out []bool, change bool) {
	if t.hold {
		return t.out, false
	}
	out = t.prune(home)
	for i, l := range t.reentry {
		if l > 0 {
			out[i] = false
		}
	}
	return out, !slices.Equal(out, t.out)
}

// step maximises the model around t.cur within reach and the box around home.
func (t *Trainer) step(home []float64, out []bool) (delta []float64, gain float64) {
	d := t.d.X.Cols
	low, high := logRange(d)
	high[d] = min(high[d], t.Cur.z[d+1]+math.Log(mostCondition/float64(t.d.X.Rows)))
	low[d+1] = max(low[d+1], t.Cur.z[d]-math.Log(mostCondition/float64(t.d.X.Rows)))
	free := make([]bool, d+3)
	for i := range free {
		free[i] = i >= d || !out[i] && !t.out[i]
		box, reach := t.stageRadius, t.radius
		if i == d+2 {
			free[i] = !t.opt.FixMean
			box, reach = math.Inf(1), math.Inf(1)
		}
		low[i] = min(max(max(low[i], home[i]-box)-t.Cur.z[i], -reach), 0)
		high[i] = max(min(min(high[i], home[i]+box)-t.Cur.z[i], reach), 0)
	}
	return t.met.step(t.Cur.g, low, high, free)
}

// held says whether δ ends where the reach does.
func (t *Trainer) held(delta []float64) bool {
	for _, v := range delta[:len(delta)-1] {
		if math.Abs(v) > 0.99*t.radius {
			return true
		}
	}
	return false
}

// isBold says whether a step that promises gain is to be a bold one.
func (t *Trainer) isBold(gain float64) bool {
	noise := t.Cur.Ev.StdErr
	return noise > 0 && gain > boldGain*noise && t.kept > boldKept*noise
}

// stale says whether the objective's preconditioner was made elsewhere, for a
// bold step that failed, or t.cur was evaluated too coarsely to compare.
func (t *Trainer) stale() bool { return t.moved || t.Cur.eps > t.comparable() }

// bold evaluates p with a preconditioner made there.
func (t *Trainer) bold(ctx context.Context, p gp.Params, out []bool, target float64) (Iterate, error) {
	t.moved = true
	if err := t.rebuild(ctx, p, t.usesOfBold()); err != nil {
		return Iterate{}, err
	}
	pt, err := t.evaluate(ctx, t.far(p, out), target)
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
	t.met.damping = max(2*t.met.damping, 0.01)
}

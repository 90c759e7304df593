package bbgp

import (
	"context"
	"math"
	"slices"

	"bbgp.dev/internal/evidence"
)

// The steps of a stage.

// try takes one trial step. ok: it was accepted; small: the model promises less
// than that share of the gain worth a stage.
func (t *trainer) try(ctx context.Context, home []float64, share float64) (ok, small bool, err error) {
	out, change := t.inputs(home)
	delta, gain := t.step(home, out)
	for gain < share*t.worth() && t.reach < largestBox && t.held(delta) {
		t.reach *= 2 // failed steps have kept the promise small
		delta, gain = t.step(home, out)
	}
	if gain < share*t.worth() && !change {
		return false, true, nil
	}
	z := t.trialAt(delta, change)
	bold := t.isBold(gain)
	if !bold && t.stale() {
		return true, false, t.begin(ctx)
	}
	p, target := fromLog(t.cur.p.Kernel, z, out), t.cur.ev.LML
	var pt point
	if bold {
		t.eval.Eps = min(max(gain/50, coarseEps*t.eps), boldEps*t.eps)
		pt, err = t.bold(ctx, p, out, target)
	} else {
		t.eval.Eps = t.cur.eps
		pt, err = t.evaluate(ctx, p, target)
	}
	if err != nil && !evidence.NotFinite(err) {
		return false, false, err
	}
	if err != nil || pt.ev.Rejected || !(pt.ev.LML > t.cur.ev.LML) {
		if err == nil {
			t.report(pt, false)
		}
		// The change of inputs or the step may be at fault: both give in.
		t.shrink(pt, delta, err)
		if t.hold = t.hold || change; change && t.back != nil {
			t.cut /= 4
		}
		flat := err == nil && !pt.ev.Rejected && t.cur.ev.LML-pt.ev.LML < smallStep*t.worth()
		return false, flat && !change || t.met.lambda > maxLambda, nil
	}
	t.report(pt, true)
	t.kept = pt.ev.LML - t.cur.ev.LML
	if ratio := t.kept / gain; ratio > 0.7 {
		t.met.lambda /= 4
		t.reach = min(2*t.reach, largestBox)
	} else if ratio < 0.2 {
		t.met.lambda = max(2*t.met.lambda, 0.01)
	}
	t.met.push(delta, t.cur.g, pt.g)
	t.cur, t.out, t.fresh = pt, out, bold
	if change && t.back != nil {
		// Inputs that came in need their information at the place where they are.
		t.back, t.cut, t.measured = nil, min(4*t.cut, 1), nil
		if !bold {
			return true, false, t.measure(ctx)
		}
	}
	return true, false, nil
}

// trialAt returns the place of a trial step δ, where change lets inputs come back.
func (t *trainer) trialAt(delta []float64, change bool) []float64 {
	z := slices.Clone(t.cur.z)
	for i := range z {
		z[i] += delta[i]
	}
	for i, l := range t.back {
		if change && l > 0 {
			z[i] = math.Log(l)
		}
	}
	return z
}

// inputs returns which inputs are out in the next trial, and whether that
// changes.
func (t *trainer) inputs(home []float64) (out []bool, change bool) {
	if t.hold {
		return t.out, false
	}
	out = t.prune(home)
	for i, l := range t.back {
		if l > 0 {
			out[i] = false
		}
	}
	return out, !slices.Equal(out, t.out)
}

// step maximises the model around t.cur within reach and the box around home.
func (t *trainer) step(home []float64, out []bool) (delta []float64, gain float64) {
	d := t.d.X.Cols
	low, high := logRange(d)
	high[d] = min(high[d], t.cur.z[d+1]+math.Log(mostCondition/float64(t.d.X.Rows)))
	low[d+1] = max(low[d+1], t.cur.z[d]-math.Log(mostCondition/float64(t.d.X.Rows)))
	free := make([]bool, d+3)
	for i := range free {
		free[i] = i >= d || !out[i] && !t.out[i]
		box, reach := t.box, t.reach
		if i == d+2 {
			free[i] = !t.opt.FixMean
			box, reach = math.Inf(1), math.Inf(1)
		}
		low[i] = min(max(max(low[i], home[i]-box)-t.cur.z[i], -reach), 0)
		high[i] = max(min(min(high[i], home[i]+box)-t.cur.z[i], reach), 0)
	}
	return t.met.step(t.cur.g, low, high, free)
}

// held says whether δ ends where the reach does.
func (t *trainer) held(delta []float64) bool {
	for _, v := range delta[:len(delta)-1] {
		if math.Abs(v) > 0.99*t.reach {
			return true
		}
	}
	return false
}

// isBold says whether a step that promises gain is to be a bold one.
func (t *trainer) isBold(gain float64) bool {
	noise := t.cur.ev.StdErr
	return noise > 0 && gain > boldGain*noise && t.kept > boldKept*noise
}

// stale says whether the objective's preconditioner was made elsewhere, for a
// bold step that failed, or t.cur was evaluated too coarsely to compare.
func (t *trainer) stale() bool { return t.moved || t.cur.eps > coarseEps*t.eps }

// bold evaluates p with a preconditioner made there.
func (t *trainer) bold(ctx context.Context, p Params, out []bool, target float64) (point, error) {
	t.moved = true
	if err := t.rebuild(ctx, p, 1); err != nil {
		return point{}, err
	}
	pt, err := t.evaluate(ctx, t.far(p, out), target)
	if err != nil {
		return pt, err
	}
	pt.p = p
	t.moved = pt.ev.Rejected || !(pt.ev.LML > target)
	return pt, nil
}

// shrink answers a failed step δ. The value and slope at its start and the
// value (or its upper bound) at its end fix a parabola along it, whose top is
// a fair length for the next step.
func (t *trainer) shrink(pt point, delta []float64, err error) {
	longest, slope := 0.0, 0.0
	for i, v := range delta {
		slope += t.cur.g[i] * v
		if i < len(delta)-1 {
			longest = max(longest, math.Abs(v))
		}
	}
	cut := 0.25
	if err == nil {
		end := pt.ev.LML
		if pt.ev.Rejected {
			end = pt.ev.Upper
		}
		if drop := t.cur.ev.LML + slope - end; drop > 0 {
			cut = min(max(slope/(2*drop), 0.1), 0.5)
		}
	}
	t.reach = cut * longest
	t.met.lambda = max(2*t.met.lambda, 0.01)
}

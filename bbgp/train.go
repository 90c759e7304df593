package bbgp

import (
	"context"
	"fmt"
	"math"
	"time"

	"bbgp.dev/linalg"
)

// Staged training (method card, section 7). A stage fixes preconditioner and
// probes, and with them a smooth function whose expectation is L everywhere;
// it takes a few steps in a trust box around its start with the Fisher
// information of a random subset, computed there, as metric. Trial points end
// early once their upper bound is below what they have to reach. Boxes grow
// when stages go well. Training ends when a stage gains less than eps.

const (
	firstBox   = 1.5 // of a stage, in logarithms, and of its first step
	largestBox = 6.0
	pruneCost  = 0.05 // nats that taking an input out may cost by the model, per nat of eps
	admitGain  = 0.2  // nats that taking it in again has to promise, per nat of eps
	maxLambda  = 1e8
	// coarseEps times eps is the bias allowed while much is to gain.
	coarseEps = 4
	// measureAgain is the change of a logarithm that makes a metric stale.
	measureAgain = 0.3
	// A stage can always gain something by fitting the noise of its probes: a
	// gain below this share of the standard error counts as none.
	noiseShare = 0.5
	// smallStep is the gain that is worth a trial, and the fall that says that
	// the model no longer sees anything, per nat of eps.
	smallStep = 0.1
)

// A trainer climbs one objective.
type trainer struct {
	e     *linalg.Engine
	obj   objective
	d     *Data // standardised
	opt   *Options
	eval  EvalOptions
	phase string
	// stages end after so many steps, training after so many evaluations
	stageSteps, maxEvals int
	eps                  float64 // the gain that is worth a stage; eval.Eps is at least that
	constant             []bool  // inputs without variation: out for good

	out   []bool // inputs out of the distance: +Inf
	hold  bool   // no input goes out for the rest of the stage
	met   metric
	cur   point
	stage int
	box   float64 // of the stage: |log θ - log θ at its start|
	reach float64 // of the next step: |δ|
	cut   float64 // of the lengths that readmit tries first
	// measured is where the metric was computed.
	measured []float64
	count    *counters
}

// counters are shared by the phases of a fit.
type counters struct {
	start    time.Time
	cpu0     float64
	evals    int
	passes   int
	progress func(Step)
	trace    []Step
	seconds  map[string]float64
}

// A point is a place with its evaluation and the gradient in logarithms.
type point struct {
	p  Params
	z  []float64
	ev *Evaluation
	g  []float64
}

// evaluate evaluates p; target, if finite, is what the value has to reach.
func (t *trainer) evaluate(ctx context.Context, p Params, target float64) (point, error) {
	opt := t.eval
	if !math.IsInf(target, -1) {
		opt.Reject = func(upper float64) bool { return upper < target }
	}
	ev, err := t.obj.Evaluate(ctx, p, opt)
	if err != nil {
		return point{}, err
	}
	t.count.evals++
	t.count.passes += ev.Passes
	for k, s := range ev.SecondsByPhase {
		t.count.seconds[k] += s
	}
	pt := point{p: p, z: logVector(p), ev: ev}
	if !ev.Rejected && ev.Gradient != nil {
		pt.g = logGradient(ev.Gradient, p)
	}
	return pt, nil
}

// report tells Progress and the trace about an evaluation.
func (t *trainer) report(pt point, accepted bool) {
	c := t.count
	s := Step{Phase: t.phase, Stage: t.stage, Step: len(c.trace) + 1, Accepted: accepted, Rejected: pt.ev.Rejected,
		LML: pt.ev.LML, Lower: pt.ev.Lower, Upper: pt.ev.Upper, StdErr: pt.ev.StdErr, Evaluations: c.evals, Passes: c.passes,
		Seconds: time.Since(c.start).Seconds(), Parameters: pt.p.Clone()}
	cpu, _ := usage()
	s.CPUSeconds = cpu - c.cpu0
	if s.Rejected { // nothing is known but the upper bound
		s.LML, s.Lower, s.StdErr = 0, math.Inf(-1), 0
	}
	c.trace = append(c.trace, s)
	if c.progress != nil {
		c.progress(s)
	}
}

// run climbs from p and returns why it ended: converged, stalled or max-steps.
// t.cur holds the best point, also when an error ends it.
func (t *trainer) run(ctx context.Context, p Params) (string, error) {
	d := t.d.X.Cols
	t.out = make([]bool, d)
	for j := range t.out {
		t.out[j] = t.constant[j] || math.IsInf(p.Lengthscales[j], 1)
	}
	t.met = metric{e: t.e, keep: t.opt.Optimizer == "lbfgs", lambda: 1e-3}
	t.box, t.reach = firstBox, firstBox
	t.eval.Eps, t.cut = coarseEps*t.eps, 0.25
	t.cur = point{p: t.withOut(p), z: logVector(p)}
	quiet := 0
	for t.stage = 1; ; t.stage++ {
		gain, hitBox, err := t.runStage(ctx)
		if err != nil {
			return "", err
		}
		if t.count.evals >= t.maxEvals {
			return "max-steps", nil
		}
		noise := t.cur.ev.StdErr
		switch {
		case gain >= max(t.eps, noiseShare*noise):
			quiet = 0
		case hitBox && t.box < largestBox, t.eval.Eps > t.eps:
			// The box or the bounds may have kept the gain small.
		default:
			quiet++
		}
		if quiet > 0 {
			if t.met.lambda >= maxLambda {
				return "stalled", nil
			}
			return "converged", nil
		}
		if hitBox {
			t.box = min(1.5*t.box, largestBox)
		}
		// The bias of an evaluation need not be much finer than what is to gain.
		t.eval.Eps = min(max(gain/20, t.eps), coarseEps*t.eps)
	}
}

// withOut returns p with the inputs that are out at +Inf.
func (t *trainer) withOut(p Params) Params {
	q := p.Clone()
	for j, o := range t.out {
		if o {
			q.Lengthscales[j] = math.Inf(1)
		}
	}
	return q
}

// runStage runs one stage from t.cur. It returns the gain in nats and whether
// the end lies on the wall of the box.
func (t *trainer) runStage(ctx context.Context) (gain float64, hitBox bool, err error) {
	t.eval.Seed = t.opt.Seed + uint64(t.stage)*7919
	if err := t.obj.Rebuild(ctx, t.cur.p, t.eval); err != nil {
		return 0, false, err
	}
	// At farLength the value is that of +Inf, and the gradient tells which
	// inputs would gain by coming in again.
	first, err := t.evaluate(ctx, t.far(t.cur.p), math.Inf(-1))
	if err != nil {
		return 0, false, fmt.Errorf("evaluating the start of a stage: %w", err)
	}
	first.p = t.cur.p
	t.cur = first
	t.report(first, true)
	if err := t.measure(ctx); err != nil {
		return 0, false, err
	}
	if err := t.readmit(ctx); err != nil {
		return 0, false, err
	}
	home := append([]float64{}, t.cur.z...)
	t.hold = false
	steps, fails, fewest := 0, 0, first.ev.Passes
	for steps < t.stageSteps && fails < 6 && t.count.evals < t.maxEvals {
		ok, small, err := t.try(ctx, home)
		if err != nil {
			return 0, false, err
		}
		if small {
			break
		}
		if !ok {
			fails++
			continue
		}
		fails = 0
		steps++
		if fewest = min(fewest, t.cur.ev.Passes); 2*t.cur.ev.Passes > 3*fewest+4 {
			break // the preconditioner of the stage no longer fits
		}
	}
	for i, z := range t.cur.z {
		if i != len(home)-1 && !t.isOut(i) && math.Abs(z-home[i]) > 0.999*t.box {
			hitBox = true
		}
	}
	return t.cur.ev.LML - first.ev.LML, hitBox, nil
}

func (t *trainer) isOut(i int) bool { return i < len(t.out) && t.out[i] }

// far returns p with farLength in place of +Inf for the inputs that may return.
func (t *trainer) far(p Params) Params {
	q := p.Clone()
	for j := range q.Lengthscales {
		if t.out[j] && !t.constant[j] {
			q.Lengthscales[j] = farLength
		}
	}
	return q
}

// measure sets the metric to the Fisher information at t.cur.
//
// It keeps the last one while no coordinate has moved far since.
func (t *trainer) measure(ctx context.Context) error {
	start := time.Now()
	d := t.d.X.Cols
	if t.near(t.measured) {
		return nil
	}
	t.measured = append(t.measured[:0], t.cur.z...)
	fs, err := newFisher(ctx, t.e, t.d, t.far(t.cur.p), t.eval.Seed)
	if err != nil && !notFinite(err) {
		return err
	}
	t.count.seconds["fisher"] += time.Since(start).Seconds()
	if err != nil {
		// The subset's matrix is singular in float64 (σ_n² at its floor): the
		// last metric serves on; without one, a unit of curvature per row.
		if t.met.base.Rows == 0 {
			t.met.base = linalg.NewMatrix(d+3, d+3)
			for i := range d + 3 {
				t.met.base.Set(i, i, float64(t.d.X.Rows))
			}
		}
		return nil
	}
	b := linalg.NewMatrix(d+3, d+3)
	b.Sub(0, d+2, 0, d+2).CopyFrom(fs.f)
	// F_cc of all rows is between that of the subset and n / rows times it; the
	// middle is the start, curvature pairs and damping do the rest.
	b.Set(d+2, d+2, math.Sqrt(fs.meanSub*fs.meanAll))
	t.met.base = b
	return nil
}

// near says whether every coordinate in use is within measureAgain of z.
func (t *trainer) near(z []float64) bool {
	if len(z) == 0 {
		return false
	}
	for i, v := range t.cur.z[:len(z)-1] { // c does not enter the information
		if !t.isOut(i) && math.Abs(v-z[i]) > measureAgain {
			return false
		}
	}
	return true
}

// try takes one trial step. ok: it was accepted; small: the model promises too
// little for a trial.
func (t *trainer) try(ctx context.Context, home []float64) (ok, small bool, err error) {
	d := t.d.X.Cols
	low, high := logRange(d)
	free := make([]bool, d+3)
	out := t.prune(home)
	pruned := false
	for i := range free {
		free[i] = i >= d || !out[i]
		if i < d && out[i] != t.out[i] {
			pruned = true
		}
		box := t.box
		if i == d+2 {
			free[i] = !t.opt.FixMean
			box = math.Inf(1)
		}
		reach := t.reach
		if i == d+2 {
			reach = math.Inf(1)
		}
		low[i] = min(max(max(low[i], home[i]-box)-t.cur.z[i], -reach), 0)
		high[i] = max(min(min(high[i], home[i]+box)-t.cur.z[i], reach), 0)
	}
	delta, gain := t.met.step(t.cur.g, low, high, free)
	if gain < smallStep*t.eps && !pruned {
		return false, true, nil
	}
	z := append([]float64{}, t.cur.z...)
	for i := range z {
		z[i] += delta[i]
	}
	pt, err := t.evaluate(ctx, fromLog(t.cur.p.Kernel, z, out), t.cur.ev.LML)
	if err != nil && !notFinite(err) {
		return false, false, err
	}
	if err != nil || pt.ev.Rejected || !(pt.ev.LML > t.cur.ev.LML) {
		if err == nil {
			t.report(pt, false)
		}
		if t.hold = t.hold || pruned; !pruned {
			t.shrink(pt, delta, err)
		}
		flat := err == nil && !pt.ev.Rejected && t.cur.ev.LML-pt.ev.LML < smallStep*t.eps
		return false, flat && !pruned || t.met.lambda > maxLambda, nil
	}
	t.report(pt, true)
	if ratio := (pt.ev.LML - t.cur.ev.LML) / gain; ratio > 0.7 {
		t.met.lambda /= 4
		t.reach = min(2*t.reach, largestBox)
	} else if ratio < 0.2 {
		t.met.lambda = max(2*t.met.lambda, 0.01)
	}
	t.met.push(delta, t.cur.g, pt.g)
	t.cur, t.out = pt, out
	return true, false, nil
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

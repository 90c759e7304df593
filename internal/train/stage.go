package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/usage"
	"bbgp.dev/linalg"
)

// Staged training. A stage fixes preconditioner and
// probes, and with them a smooth function whose expectation is L everywhere;
// it takes a few steps in a trust region around its start with the Fisher
// information of a random subset, computed there, as metric. Trial points end
// early once their upper bound is below what they have to reach. Radii grow
// when stages go well. Training ends when a stage gains less than eps.
//
// While the model promises far more than the probes' scatter, a stage is one
// relocated step: preconditioner and probes are made at the trial point, which fits
// them best, and no evaluation is spent on beginning the next stage there.

const (
	firstRadius   = 1.5 // of a stage, in logarithms, and of its first step
	largestRadius = 6.0
	// A step is relocated if the model predicts relocatePredicted standard errors
	// and the last one was a gain of relocateActual of them.
	relocatePredicted, relocateActual = 10, 3
	relocatedEps                      = 100  // times eps is the bias allowed a relocated step
	deactivateCost                    = 0.05 // nats that taking an input out may cost by the model, per nat of eps
	activateGain                      = 0.2  // nats that taking it in again has to promise, per nat of eps
	maxDamping                        = 1e8
	firstDamping                      = 1e-3
	// coarseEps times eps is the bias allowed while much is to gain.
	coarseEps = 4
	// measureAgain is the change of a logarithm that makes a metric stale.
	measureAgain = 0.3
	// A stage can always gain something by fitting the noise of its probes: a
	// gain below so many standard errors counts as none.
	noiseShare = 1
	// smallStep is the gain that is worth a trial, and the fall that says that
	// the model no longer sees anything, in parts of the gain worth a stage. A
	// stage whose first step promises less than firstStep is not begun.
	smallStep = 0.25
	firstStep = 0.5
	mostFails = 3 // trials in turn that end a stage
	// flatStages stages in turn that begin no higher, by what one is worth, than
	// one before them end the training; without probes, flatExact.
	flatStages, flatExact = 2, 4
)

// A Trainer climbs one objective.
type Trainer struct {
	e     *linalg.Engine
	obj   evidence.Estimator
	d     *gp.Table // standardised
	opt   *Config
	eval  evidence.Options
	phase string
	// stages end after so many steps, training after so many evaluations
	stageSteps, maxEvals int
	eps                  float64    // the gain that is worth a stage; eval.Eps is at least that
	rough                bool       // the end need not be looked at twice
	constant             []bool     // inputs without variation: out for good
	second               *Candidate // that choose could not tell from the best

	inactive    []bool    // inputs that are not in the distance: +Inf
	reentry     []float64 // lengthscales that the next step takes inputs in with, 0: none
	hold        bool      // no input is activated or deactivated for the rest of the stage
	model       quadraticModel
	Cur         Iterate
	stage       int
	stageRadius float64 // of the stage: |log θ - log θ at its start|
	radius      float64 // of the next step: |δ|
	cut         float64 // of the lengths that inputs come in with
	// fresh: cur was evaluated with the objective's preconditioner and probes,
	// made there. actual is the last step's increase of L.
	fresh         bool
	moved         bool // the objective's preconditioner belongs to a relocated step that failed
	actual        float64
	spent         bool            // the last stage has ended for want of promise
	latest, begun *evidence.Value // the objective's last evaluation, and the one that the last stage began with
	// measured is where the metric was computed; looks counts second ones, which have other rows.
	measured []float64
	looks    uint64
	count    *Counters
	// built is where the objective's preconditioner was made, and builtBy how.
	built   gp.Params
	builtBy evidence.Options
	moving  gp.Params // where the last step began, if there was one
}

// Counters are shared by the phases of a fit.
type Counters struct {
	Start    time.Time
	CPU0     float64
	Evals    int
	Passes   int
	Progress func(Step)
	Trace    []Step
	Seconds  map[string]float64
}

// A Iterate is a place with its evaluation and the gradient in logarithms.
type Iterate struct {
	P   gp.Params
	z   []float64
	Ev  *evidence.Value
	g   []float64
	eps float64 // of the evaluation
}

// evaluate evaluates p; target, if finite, is what the value has to reach.
func (t *Trainer) evaluate(ctx context.Context, p gp.Params, target float64) (Iterate, error) {
	opt := t.eval
	if !math.IsInf(target, -1) {
		opt.Reject = func(upper float64) bool { return upper < target }
	}
	ev, err := t.obj.Evaluate(ctx, p, opt)
	if err != nil {
		return Iterate{}, err
	}
	t.count.Evals++
	t.count.Passes += ev.Passes - ev.Before
	t.latest = ev
	for k, s := range ev.SecondsByPhase {
		t.count.Seconds[k] += s
	}
	pt := Iterate{P: p, z: logVector(p), Ev: ev, eps: opt.Eps}
	if !ev.Rejected && ev.Gradient != nil {
		pt.g = logGradient(ev.Gradient, p)
	}
	return pt, nil
}

// report tells Progress and the trace about an evaluation.
func (t *Trainer) report(pt Iterate, accepted bool) {
	c := t.count
	s := Step{Phase: t.phase, Stage: t.stage, Step: len(c.Trace) + 1, Accepted: accepted, Rejected: pt.Ev.Rejected,
		LML: pt.Ev.LML, Lower: pt.Ev.Lower, Upper: pt.Ev.Upper, StdErr: pt.Ev.StdErr, Evaluations: c.Evals,
		Passes:  c.Passes,
		Seconds: time.Since(c.Start).Seconds(), Parameters: pt.P.Clone()}
	s.CPUSeconds = usage.CPUSeconds() - c.CPU0
	if s.Rejected { // nothing is known but the upper bound
		s.LML, s.Lower, s.StdErr = 0, math.Inf(-1), 0
	}
	c.Trace = append(c.Trace, s)
	if c.Progress != nil {
		c.Progress(s)
	}
}

// run climbs from p and returns why it ended: converged, stalled or max-steps.
// t.cur holds the best point, also when an error ends it.
func (t *Trainer) run(ctx context.Context, p gp.Params) (string, error) {
	t.inactive = t.inactiveAt(p)
	t.model = quadraticModel{e: t.e, keep: t.opt.Optimizer == "lbfgs" &&
		!cost.Wide(t.d.X.Rows, t.d.X.Cols), damping: firstDamping}
	t.stageRadius, t.radius = firstRadius, firstRadius
	t.cut, t.actual = 0.25, math.Inf(1)
	if t.Cur.Ev == nil { // choose has evaluated no start
		t.Cur = Iterate{P: withInactive(p, t.inactive), z: logVector(p)}
	}
	quiet, level, flat := 0, math.Inf(-1), 0
	for t.stage = 1; ; t.stage++ {
		if !t.fresh {
			if err := t.begin(ctx); err != nil {
				return "", err
			}
			// Within a stage the steps also fit its probes; what stages begin with does not.
			if t.Cur.Ev.LML > level+t.worth() {
				level, flat = t.Cur.Ev.LML, 0
			} else if flat++; flat >= flatExact || flat == flatStages && t.Cur.Ev.StdErr > 0 {
				return "converged", nil
			}
		}
		began := t.Cur.Ev
		gain, end, err := t.runStage(ctx)
		if err != nil {
			return "", err
		}
		moved := t.Cur.Ev != began
		if t.count.Evals >= t.maxEvals {
			return "max-steps", nil
		}
		if end == begun { // by a relocated step, or as the comparison needs a new start
			t.stageRadius = min(1.5*t.stageRadius, largestRadius)
			continue
		}
		switch {
		case gain < t.worth() && t.stale():
			// Relocated steps have come to their end; closer ones may go on.
			t.actual = 0
		case gain >= t.worth() || end == atBoundary && t.stageRadius < largestRadius:
			quiet = 0
		case t.model.damping >= maxDamping:
			return "stalled", nil
		case quiet > 0 || t.rough || noiseShare*t.Cur.Ev.StdErr > t.eps:
			// A second look is worth its cost where the probes see eps.
			return "converged", nil
		default:
			// The metric may be what saw no gain: once more with a new one, and with the
			// evaluation and the preconditioner that are there if no step was taken.
			quiet++
			t.looks++
			t.model.pairs, t.measured, t.radius = nil, nil, max(t.radius, firstRadius)
			t.model.damping = firstDamping
			t.fresh = !moved && !t.moved
		}
		if end == atBoundary {
			t.stageRadius = min(1.5*t.stageRadius, largestRadius)
		}
	}
}

// worth is the gain that is worth a stage: a smaller one cannot be told from
// fitting the noise of the probes.
func (t *Trainer) worth() float64 { return max(t.eps, noiseShare*t.Cur.Ev.StdErr) }

// inactiveAt returns which inputs are inactive at p.
func (t *Trainer) inactiveAt(p gp.Params) []bool {
	inactive := slices.Clone(t.constant)
	for j, l := range p.Lengthscales {
		inactive[j] = inactive[j] || math.IsInf(l, 1)
	}
	return inactive
}

// withInactive returns p with the inactive inputs at +Inf.
func withInactive(p gp.Params, inactive []bool) gp.Params {
	q := p.Clone()
	for j, o := range inactive {
		if o {
			q.Lengthscales[j] = math.Inf(1)
		}
	}
	return q
}

// begin starts a stage at t.cur with new preconditioner and probes.
func (t *Trainer) begin(ctx context.Context) error {
	if t.known() {
		t.fresh, t.moved, t.Cur.eps = true, false, 0
		return nil
	}
	t.eval.Seed = t.opt.Seed + uint64(t.stage)*7919
	t.eval.Eps = coarseEps * t.eps
	if t.nearEnd() && t.opt.Probes == cost.FewProbes { // the usual ones
		t.eval.Probes = goneOnProbes
	}
	if t.Cur.Ev != nil {
		t.eval.Eps = min(max(t.worth()/4, t.eps), t.eval.Eps)
	}
	var first Iterate
	_, err := evidence.Retry(t.eval, t.d.X.Rows, func(opt evidence.Options) (err error) {
		t.eval = opt // an answer holds for the rest of the training
		if err = t.rebuild(ctx, t.Cur.P, t.stageSteps); err == nil {
			first, err = t.evaluate(ctx, t.far(t.Cur.P, t.inactive), math.Inf(-1))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("evaluating the start of a stage: %w", err)
	}
	first.P = t.Cur.P
	t.Cur, t.fresh, t.moved, t.begun = first, true, false, first.Ev
	t.report(first, true)
	return nil
}

// rebuild makes a preconditioner for so many evaluations at p.
func (t *Trainer) rebuild(ctx context.Context, p gp.Params, uses int) error {
	t.eval.Uses = uses
	if ev := t.Cur.Ev; ev != nil {
		ev.Note(&t.eval.Seen)
	}
	t.built, t.builtBy = p.Clone(), t.eval
	return t.obj.Rebuild(ctx, p, t.eval)
}

// A stageEnd says where a stage has ended.
type stageEnd int

const (
	inside     stageEnd = iota // its trust region
	atBoundary                 // of that
	begun                      // where the next stage has begun
)

// runStage runs one stage from t.cur, where it has begun. It returns the gain in nats and where that ends.
func (t *Trainer) runStage(ctx context.Context) (gain float64, end stageEnd, err error) {
	if err := t.measure(ctx); err != nil {
		return 0, inside, err
	}
	t.activate()
	t.hold = false
	center, first := slices.Clone(t.Cur.z), t.Cur.Ev.LML
	away := slices.Clone(t.inactive) // inputs without a place in the trust region
	steps, fails, fewest := 0, 0, t.Cur.Ev.Passes
	share, next := t.leastPromises()
	t.spent = false
	for steps < t.stageSteps && fails < mostFails && t.count.Evals < t.maxEvals {
		what, err := t.try(ctx, center, share)
		share = next
		if err != nil {
			return 0, inside, err
		}
		if what == exhausted {
			t.spent = true
			break
		}
		if what == rejected {
			fails++
			continue
		}
		if what != accepted { // the next stage begins here
			return t.Cur.Ev.LML - first, begun, nil
		}
		fails = 0
		steps++
		if fewest = min(fewest, t.Cur.Ev.Passes); 2*t.Cur.Ev.Passes > 3*fewest+4 {
			break // the preconditioner of the stage no longer fits
		}
		if t.Cur.Ev.StdErr > 0 && t.actual < smallStep*t.worth() {
			t.spent = true // what follows a step that gained so little gains less
			break
		}
	}
	t.fresh = false
	for i, z := range t.Cur.z {
		if i != len(center)-1 && !t.isInactive(i) && (i >= len(away) || !away[i]) &&
			math.Abs(z-center[i]) > 0.999*t.stageRadius {
			end = atBoundary
		}
	}
	return t.Cur.Ev.LML - first, end, nil
}

func (t *Trainer) isInactive(i int) bool { return i < len(t.inactive) && t.inactive[i] }

// far returns p with FarLength in place of +Inf for the inactive inputs that
// may return: the value is the same, and the gradient tells which would gain.
func (t *Trainer) far(p gp.Params, inactive []bool) gp.Params {
	q := p.Clone()
	for j := range q.Lengthscales {
		if inactive[j] && !t.constant[j] {
			q.Lengthscales[j] = gp.FarLength
		}
	}
	return q
}

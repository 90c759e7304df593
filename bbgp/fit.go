package bbgp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/lanczos"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/usage"
)

// Fit trains a model on d: it standardises d, drops inputs that do not vary,
// finds a start by an exact fit of a random subset, and climbs the likelihood of
// all rows from there (see Options). It returns a *DataError, *OptionError,
// *ParamError or *MemoryError before it starts to compute.
//
// If ctx ends first, the error is that of ctx, and the model, if not nil, is
// the best one so far, with the bounds that were then known.
func Fit(ctx context.Context, d *Data, opt Options) (*Model, error) {
	began, cpu0 := time.Now(), usage.CPUSeconds()
	if err := checkFit(ctx, d, &opt); err != nil {
		return nil, err
	}
	full := d
	raw := d.table().Merged()
	opt, err := opt.settle(raw.X.Rows, raw.X.Cols)
	if err != nil {
		return nil, err
	}
	if opt.Start != nil {
		start := opt.Start.Clone()
		opt.Start, opt.Kernel = &start, start.Kernel
		if err := start.Check(raw.X.Cols); err != nil {
			return nil, err
		}
	}
	if err := opt.budget().Check(raw.X.Rows, full.X.Rows, raw.X.Cols); err != nil {
		return nil, err
	}
	f := &fit{opt: &opt, raw: raw, full: full, count: &counters{
		start: began, cpu0: cpu0, progress: opt.Progress, seconds: map[string]float64{}}}
	opt.guide = f.guide()
	m := f.newModel()
	if gp.Constant(full.Y) {
		f.constantModel(m)
		return m, nil
	}
	if opt.Journal != nil {
		id, err := opt.identity(raw)
		if err == nil {
			err = opt.Journal.Begin(id)
		}
		if err != nil {
			return nil, err
		}
	}
	m, err = f.train(ctx, m)
	if m != nil && opt.Journal != nil && opt.Journal.Err != nil {
		m.Result.warn("the checkpoint could not be written to its end: %v", opt.Journal.Err)
	}
	return m, err
}

// A fit is one call of Fit.
type fit struct {
	opt   *Options
	full  *Data     // as given
	raw   *gp.Table // repeated rows merged
	std   *gp.Table
	flat  []bool // constant inputs
	count *counters
	seen  cost.History // in the fits of subsets
}

// errTime is the cause of a context that ends with Options.Time.
var errTime = errors.New("bbgp: time budget")

// newModel returns the model without parameters.
func (f *fit) newModel() *Model {
	s := f.opt.scaling(f.full)
	f.std = s.apply(f.raw)
	m := &Model{Scaling: s, Target: f.full.TargetName(), x: f.std.X, y: f.std.Y,
		noiseScale: f.std.NoiseScale, noiseExtra: f.std.NoiseExtra}
	for j := range f.raw.X.Cols {
		m.Names = append(m.Names, f.full.Name(j))
	}
	f.flat = make([]bool, f.raw.X.Cols)
	r := &m.Result
	r.N, r.Distinct, r.D, r.Scaling = f.full.X.Rows, f.raw.X.Rows, f.raw.X.Cols, s
	r.Method, r.MethodReason, r.Optimizer, r.Seed, r.ISA = f.opt.Method, f.opt.methodReason, f.opt.Optimizer, f.opt.Seed, f.opt.Engine.Impl.Name
	r.Costs, r.ProbesReason = f.opt.Costs, f.opt.probesReason
	eval := f.opt.evalOptions()
	r.PredictedBytes = f.opt.budget().PeakBytes(r.Distinct, r.N, r.D, eval.Rank, eval.Neighbours)
	r.Constant, r.Irrelevant, r.Warnings, r.Trace = []string{}, []string{}, []string{}, []Step{}
	for _, j := range gp.ConstantColumns(f.raw.X) {
		f.flat[j] = true
		r.Constant = append(r.Constant, m.Names[j])
		r.warn("input %q does not vary and was dropped", m.Names[j])
	}
	return m
}

// predictPeak predicts the peak of memory of training from p again, now that p tells
// what preconditioner there will be.
func (f *fit) predictPeak(ctx context.Context, r *Result, p Params) error {
	if f.opt.Method != "bbgp" {
		return nil
	}
	eval := f.opt.evalOptions()
	eval.Seen, eval.Uses = f.seen, stageStepsOf(f.opt.Method)
	rank, near, err := lanczos.Foresee(ctx, f.opt.Engine, f.std, p, eval)
	if err == nil {
		r.PredictedBytes = f.opt.budget().PeakBytes(r.Distinct, r.N, r.D, rank, near)
	} else if evidence.NotFinite(err) {
		return nil
	}
	return err
}

func (r *Result) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// constantModel makes m predict the one value that the target has, with sd 0.
func (f *fit) constantModel(m *Model) {
	m.Parameters = DefaultParams(f.opt.Kernel, f.raw.X.Cols)
	m.Parameters.Mean = f.std.Y[0]
	m.weights = make([]float64, f.raw.X.Rows)
	r := &m.Result
	r.ConstantTarget, r.Stopped, r.Parameters, r.Method, r.BoundKind = true, "converged", m.Parameters, "constant", "exact"
	r.SecondsByPhase = map[string]float64{}
	if f.full.X.Rows == 1 {
		r.warn("one row only: the model predicts its target, %v, everywhere", f.full.Y[0])
	} else {
		r.warn("the target is constant: the model predicts %v everywhere", f.full.Y[0])
	}
	f.cost(r)
}

// cost fills in what the fit has cost so far.
func (f *fit) cost(r *Result) {
	c := f.count
	r.Evaluations, r.Passes, r.Trace, r.SecondsByPhase = c.evals, c.passes, c.trace, c.seconds
	if r.Trace == nil {
		r.Trace = []Step{}
	}
	r.Seconds, r.CPUSeconds, r.PeakBytes = time.Since(c.start).Seconds(), usage.CPUSeconds()-c.cpu0, usage.PeakBytes()
}

// train finds parameters and completes m.
func (f *fit) train(ctx context.Context, m *Model) (*Model, error) {
	work, cancel := f.within(ctx, f.opt.Time)
	defer cancel()
	climb, cancel := f.within(work, f.opt.Time*4/5) // a fifth is for the last evaluation
	defer cancel()
	t, why, err := f.climbAll(climb, m)
	r := &m.Result
	if t == nil || t.cur.ev == nil {
		if p, ok := r.foundSoFar(); ok && timeIsUp(ctx, err) {
			f.unevaluated(m, p)
			return m, nil
		}
		return nil, f.ended(ctx, err)
	}
	switch {
	case err == nil:
		r.Stopped = why
	case ctx.Err() != nil:
		r.Stopped = "cancelled"
	case climb.Err() != nil:
		r.Stopped = "time"
	default:
		// The best point stands; say why the search went no further.
		r.Stopped = "stalled"
		r.warn("training stopped early: %v", err)
	}
	f.complete(work, m, t)
	if ctx.Err() == nil && work.Err() != nil {
		r.Stopped = "time" // in the last evaluation
	}
	return m, ctx.Err()
}

// within returns ctx with the end of the time that so much of a budget leaves.
func (f *fit) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, f.count.start.Add(d), errTime)
}

// climbAll searches for starts, and climbs from the best on all rows. It returns why
// that ended; the trainer holds the best point, also with an error.
func (f *fit) climbAll(ctx context.Context, m *Model) (*trainer, string, error) {
	starts, err := f.search(ctx, &m.Result)
	if err != nil {
		return nil, "", err
	}
	if err := f.predictPeak(ctx, &m.Result, starts[0].Parameters); err != nil {
		return nil, "", err
	}
	obj, err := f.opt.newObjective(f.std, starts[0].Parameters)
	if err != nil {
		return nil, "", err
	}
	t := f.trainer(obj, f.std, "train")
	t.constant = f.flat
	t.stageSteps, t.maxEvals = stageStepsOf(f.opt.Method), f.count.evals+f.opt.MaxSteps
	start, err := t.choose(ctx, starts)
	if err != nil {
		return t, "", err
	}
	why, err := f.ascend(ctx, t, &m.Result, start)
	return t, why, err
}

// wantsPolish says whether the noise of the probes hides gains that dense
// evaluations would see, where predictions come from a dense factor in any case.
func (f *fit) wantsPolish(t *trainer) bool {
	ev, n := t.cur.ev, f.raw.X.Rows
	return f.opt.Method == "bbgp" && f.opt.Optimizer != "adam" && n <= cost.DenseRows && f.denseFits(n) &&
		ev.StdErr > polishWorth*f.opt.Eps && f.count.evals < t.maxEvals
}

// polish goes on with dense evaluations, which for few rows cost little more.
func (f *fit) polish(ctx context.Context, t *trainer) error {
	obj, err := evidence.NewExact(f.opt.Engine, f.std, t.cur.p)
	if err != nil {
		return err
	}
	last := f.trainer(f.opt.wrap(obj, f.std), f.std, "train")
	last.constant = f.flat
	last.eps, last.rough = min(last.eps, polishWorth*f.opt.Eps), true
	last.stageSteps, last.maxEvals = stageStepsOf("exact"), min(f.count.evals+polishEvals, t.maxEvals)
	_, err = last.run(ctx, t.cur.p)
	switch {
	case last.cur.ev != nil:
		t.cur = last.cur
	case evidence.NotFinite(err): // rounding: the probes' word stands
		return nil
	}
	return err
}

// ended returns the error of a fit that has no result.
func (f *fit) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("time: %v was not enough for one evaluation: %w", f.opt.Time, err)
	}
	return err
}

// stageStepsOf is the number of accepted steps in a stage. A new stage of the
// sparse methods chooses new inducing rows, which changes the function.
func stageStepsOf(method string) int {
	switch method {
	case "sgpr", "cglb":
		return 20
	}
	return 5
}

// exactWorth is the gain a row that is worth a stage of method exact, in nats:
// four rows at two places gain two nats in all.
const exactWorth = 1e-3

func (f *fit) trainer(obj evidence.Estimator, d *gp.Table, phase string) *trainer {
	eps := f.opt.Eps
	if f.opt.Method == "exact" {
		eps = min(eps, exactWorth*float64(d.X.Rows))
	}
	eval := f.opt.evalOptions()
	eval.Seen = f.seen
	return &trainer{e: f.opt.Engine, obj: obj, d: d, opt: f.opt, eval: eval, eps: eps, phase: phase, count: f.count}
}

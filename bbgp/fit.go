package bbgp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/comm"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/lanczos"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/posterior"
	"bbgp.dev/internal/train"
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
		opt.Start = &start
		if err := start.Check(raw.X.Cols); err != nil {
			return nil, err
		}
	}
	if err := opt.budget().Check(raw.X.Rows, full.X.Rows, raw.X.Cols); err != nil {
		return nil, err
	}
	f := &fit{opt: &opt, full: full, Search: &train.Search{Raw: raw, Count: &train.Counters{
		Start: began, CPU0: cpu0, Progress: opt.Progress, Seconds: map[string]float64{}}}}
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
	err = paramFault(err)
	if m != nil && opt.Journal != nil && opt.Journal.Err != nil {
		m.Result.warn("the checkpoint could not be written to its end: %v", opt.Journal.Err)
	}
	if m != nil && opt.Journal != nil && opt.Journal.PartErr != nil {
		m.Result.warn("what an evaluation had reached could not be kept in the checkpoint: %v", opt.Journal.PartErr)
	}
	return m, err
}

// A fit is one call of Fit.
type fit struct {
	opt  *Options
	full *Data   // as given
	unit float64 // of weights, see show
	*train.Search
}

// errTime is the cause of a context that ends with Options.Time.
var errTime = errors.New("bbgp: time budget")

// newModel returns the model without parameters.
func (f *fit) newModel() *Model {
	s := f.opt.scaling(f.full)
	f.Whole = s.Apply(f.Raw)
	m := &Model{Scaling: s, Target: f.full.TargetName()}
	for j := range f.Raw.X.Cols {
		m.Names = append(m.Names, f.full.Name(j))
	}
	f.Search.Config = f.opt.config()
	f.show()
	f.Flat = make([]bool, f.Raw.X.Cols)
	r := &m.Result
	r.N, r.Distinct, r.D, r.Scaling = f.full.X.Rows, f.Raw.X.Rows, f.Raw.X.Cols, s
	r.Method, r.MethodReason, r.Optimizer, r.Seed, r.ISA = f.opt.Method, f.opt.methodReason, f.opt.Optimizer,
		f.opt.Seed, f.opt.Engine.Impl.Name
	r.Costs, r.ProbesReason = f.opt.Costs, f.opt.probesReason
	r.PredictedBytes = f.opt.budget().PeakBytes(r.Distinct, r.N, r.D, f.opt.size())
	r.Constant, r.Irrelevant, r.Warnings, r.Trace = []string{}, []string{}, []string{}, []Step{}
	for _, j := range gp.ConstantColumns(f.Raw.X) {
		f.Flat[j] = true
		r.Constant = append(r.Constant, m.Names[j])
		r.warn("input %q does not vary and was dropped", m.Names[j])
	}
	return m
}

// posterior returns the process given the rows of the fit.
func (f *fit) posterior(p Params, spec posterior.PrecondSpec, w posterior.Weights) *posterior.Posterior {
	return posterior.New(f.Whole, p, spec, f.opt.Costs, w)
}

// predictPeak predicts the peak of memory of training from p again, now that p tells
// what preconditioner there will be.
func (f *fit) predictPeak(ctx context.Context, r *Result, p Params) error {
	if f.opt.Method != enum.MethodBBGP {
		return nil
	}
	eval := f.opt.evalOptions()
	eval.Seen, eval.Uses = f.Seen, train.StageStepsOf(string(f.opt.Method))
	size, err := lanczos.Foresee(ctx, f.opt.Engine, f.Std, p, eval)
	if err == nil {
		r.PredictedBytes = f.opt.budget().PeakBytes(r.Distinct, r.N, r.D, size)
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
	m.Parameters = DefaultParams(f.opt.Kernel, f.Raw.X.Cols)
	for i := range f.Whole.Y { // they may differ by rounding
		f.Whole.Y[i] = f.Whole.Y[0]
	}
	m.Parameters.Mean = f.Whole.Y[0]
	m.post = f.posterior(m.Parameters, posterior.PrecondSpec{}, posterior.Weights{Alpha: make([]float64, f.Raw.X.Rows)})
	r := &m.Result
	r.ConstantTarget, r.Stopped, r.Parameters, r.Method, r.BoundKind = true, enum.StoppedConverged, m.Parameters,
		enum.MethodConstant, enum.BoundExact
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
	c := f.Count
	r.Evaluations, r.Passes, r.Trace, r.SecondsByPhase = c.Evals, c.Passes, c.Trace, c.Seconds
	if r.Trace == nil {
		r.Trace = []Step{}
	}
	r.Seconds, r.CPUSeconds, r.PeakBytes = time.Since(c.Start).Seconds(), usage.CPUSeconds()-c.CPU0, usage.PeakBytes()
}

// train finds parameters and completes m.
func (f *fit) train(ctx context.Context, m *Model) (*Model, error) {
	work, cancel := f.within(ctx, f.opt.Time)
	defer cancel()
	climb, cancel := f.within(work, f.opt.Time*4/5) // a fifth is for the last evaluation
	defer cancel()
	r := &m.Result
	f.Search.Config.Foreseen = func(ctx context.Context, p Params) error { return f.predictPeak(ctx, r, p) }
	t, why, err := f.ClimbAll(climb)
	f.shown(t)
	r.Starts = f.Starts
	if t == nil || t.Cur.Ev == nil {
		if p, ok := f.foundSoFar(); ok && timeIsUp(ctx, err) {
			f.unevaluated(m, p)
			return m, nil
		}
		return nil, f.ended(ctx, err)
	}
	switch {
	case err == nil:
		r.Stopped = enum.Stopped(why)
	case ctx.Err() != nil:
		r.Stopped = enum.StoppedCancelled
	case climb.Err() != nil:
		r.Stopped = enum.StoppedTime
	default:
		// The best point stands; say why the search went no further.
		r.Stopped = enum.StoppedStalled
		r.warn("training stopped early: %v", err)
	}
	f.complete(work, m, t)
	if ctx.Err() == nil && work.Err() != nil {
		r.Stopped = enum.StoppedTime // in the last evaluation
	}
	return m, ctx.Err()
}

// within returns ctx with the end of the time that so much of a budget leaves.
func (f *fit) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return ctx, func() {}
	}
	return comm.WithDeadlineCause(ctx, f.opt.Engine.Comm, f.Count.Start.Add(d), errTime)
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

package bbgp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Fit trains a model on d: it standardises d, drops inputs that do not vary,
// finds a start by an exact fit of a random subset, and climbs the likelihood of
// all rows from there (see Options). It returns a *DataError, *OptionError,
// *ParamError or *MemoryError before it starts to compute.
//
// If ctx ends first, the error is that of ctx, and the model, if not nil, is
// the best one so far, with the bounds that were then known.
func Fit(ctx context.Context, d *Data, opt Options) (*Model, error) {
	if err := d.check(true); err != nil {
		return nil, err
	}
	full := d
	d = d.merged()
	opt, err := opt.settle(d.X.Rows)
	if err != nil {
		return nil, err
	}
	if opt.Start != nil {
		start := opt.Start.Clone()
		opt.Start, opt.Kernel = &start, start.Kernel
		if err := start.Check(d.X.Cols); err != nil {
			return nil, err
		}
	}
	if err := opt.checkMemory(d.X.Rows, d.X.Cols); err != nil {
		return nil, err
	}
	opt.guided = tooFewRows(full.X.Rows, d.X.Cols) && !opt.NoScale
	cpu, _ := usage()
	f := &fit{opt: &opt, raw: d, full: full, count: &counters{
		start: time.Now(), cpu0: cpu, progress: opt.Progress, seconds: map[string]float64{}}}
	m := f.newModel()
	if constant(full.Y) {
		f.constantModel(m)
		return m, nil
	}
	if opt.Journal != nil {
		id, err := opt.identity(d)
		if err == nil {
			err = opt.Journal.begin(id)
		}
		if err != nil {
			return nil, err
		}
	}
	m, err = f.train(ctx, m)
	if m != nil && opt.guided {
		m.Result.unguided()
	}
	if m != nil && opt.Journal != nil && opt.Journal.err != nil {
		m.Result.warn("the checkpoint could not be written to its end: %v", opt.Journal.err)
	}
	return m, err
}

// A fit is one call of Fit.
type fit struct {
	opt   *Options
	full  *Data // as given
	raw   *Data // repeated rows merged
	std   *Data
	flat  []bool // constant inputs
	count *counters
}

// errTime is the cause of a context that ends with Options.Time.
var errTime = errors.New("bbgp: time budget")

// newModel returns the model without parameters.
func (f *fit) newModel() *Model {
	s := NewScaling(f.full, f.opt.NoScale)
	f.std = s.apply(f.raw)
	m := &Model{Scaling: s, Target: f.raw.TargetName(), x: f.std.X, y: f.std.Y,
		noiseScale: f.std.NoiseScale, noiseExtra: f.std.NoiseExtra}
	for j := range f.raw.X.Cols {
		m.Names = append(m.Names, f.raw.Name(j))
	}
	f.flat = make([]bool, f.raw.X.Cols)
	r := &m.Result
	r.N, r.Distinct, r.D, r.Scaling = f.full.X.Rows, f.raw.X.Rows, f.raw.X.Cols, s
	r.Method, r.Optimizer, r.Seed, r.ISA = f.opt.Method, f.opt.Optimizer, f.opt.Seed, f.opt.Engine.Impl.Name
	r.Constant, r.Irrelevant, r.Warnings, r.Trace = []string{}, []string{}, []string{}, []Step{}
	for _, j := range constantColumns(f.raw.X) {
		f.flat[j] = true
		r.Constant = append(r.Constant, m.Names[j])
		r.warn("input %q does not vary and was dropped", m.Names[j])
	}
	return m
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
	cpu, peak := usage()
	c := f.count
	r.Evaluations, r.Passes, r.Trace, r.SecondsByPhase = c.evals, c.passes, c.trace, c.seconds
	if r.Trace == nil {
		r.Trace = []Step{}
	}
	r.Seconds, r.CPUSeconds, r.PeakBytes = time.Since(c.start).Seconds(), cpu-c.cpu0, peak
}

// train finds parameters and completes m.
func (f *fit) train(ctx context.Context, m *Model) (*Model, error) {
	work := ctx
	if f.opt.Time > 0 {
		var cancel context.CancelFunc
		work, cancel = context.WithDeadlineCause(ctx, f.count.start.Add(f.opt.Time), errTime)
		defer cancel()
	}
	starts, err := f.starts(work)
	if err != nil {
		return nil, f.ended(ctx, err)
	}
	obj, err := f.opt.newObjective(f.std, starts[0])
	if err != nil {
		return nil, err
	}
	t := f.trainer(obj, f.std, "train")
	t.constant = f.flat
	t.stageSteps, t.maxEvals = stageStepsOf(f.opt.Method), max(f.count.evals+1, f.opt.MaxSteps)
	search := t.run
	if f.opt.Optimizer == "adam" {
		search = t.runAdam
	}
	start, err := t.choose(work, starts)
	if err != nil {
		return nil, f.ended(ctx, err)
	}
	// A fifth of a time budget is for the last evaluation.
	climb, cancel := work, context.CancelFunc(func() {})
	if f.opt.Time > 0 {
		climb, cancel = context.WithDeadlineCause(work, f.count.start.Add(f.opt.Time*4/5), errTime)
	}
	why, err := search(climb, start)
	cancel()
	if t.cur.ev == nil {
		return nil, f.ended(ctx, err)
	}
	r := &m.Result
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
	return m, ctx.Err()
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

func (f *fit) trainer(obj objective, d *Data, phase string) *trainer {
	eps := f.opt.Eps
	if f.opt.Method == "exact" {
		eps = min(eps, exactWorth*float64(d.X.Rows))
	}
	return &trainer{e: f.opt.Engine, obj: obj, d: d, opt: f.opt, eval: f.opt.evalOptions(), eps: eps, phase: phase, count: f.count}
}

// subsetStarts are the starts of the pre-fit: all ones, and a smoother function
// with less noise.
func subsetStarts(kernel string, d int) []Params {
	ones, smooth := DefaultParams(kernel, d), DefaultParams(kernel, d)
	smooth.Noise = 0.1
	for j := range smooth.Lengthscales {
		smooth.Lengthscales[j] = 2 * math.Sqrt(float64(d))
	}
	return []Params{ones, smooth}
}

const (
	prefitEvals = 40   // of a subset, from each start
	prefitSlack = 2    // times eps is a gain worth a stage on a subset
	resetNoise  = 0.01 // least noise to start on more rows with
	levelGrowth = 3    // times the rows of a subset has the next
	exactLevel  = 2048 // rows of a subset up to which it is fitted exactly
)

// starts returns where the search on all rows may begin: at opt.Start, or all
// ones, or where the fits of random subsets of growing size have led: the first
// one from several starts, each further one from where the last ended. A small
// subset can drive the noise to its floor, from where a search on more rows does
// not come back: the noise is set to at least 0.01 (method card, section 7 f). If
// the floor is right nevertheless, that shows in the likelihood: both are tried.
func (f *fit) starts(ctx context.Context) ([]Params, error) {
	d := f.raw.X.Cols
	n := f.raw.X.Rows
	rows := min(f.opt.PrefitRows, n/2)
	if f.opt.Memory > 0 {
		// A dense fit takes a quarter of the budget at most.
		rows = min(rows, int(math.Sqrt(float64(f.opt.Memory)/64)))
	}
	switch {
	case f.opt.Start != nil:
		return []Params{f.opt.Start.Clone()}, nil
	case rows < 50:
		return []Params{DefaultParams(f.opt.Kernel, d)}, nil
	case f.opt.Method == "exact" && n <= 2*f.opt.PrefitRows:
		rows = n
	}
	began := time.Now()
	before := *f.count
	fisher := before.seconds["fisher"]
	defer func() {
		f.count.seconds["fisher"] = fisher
		f.count.seconds["prefit"] += time.Since(began).Seconds()
		if rows < n { // evaluations are counted on all rows only
			f.count.evals, f.count.passes = before.evals, before.passes
		}
	}()
	best, bestLML := DefaultParams(f.opt.Kernel, d), math.Inf(-1)
	for _, p := range subsetStarts(f.opt.Kernel, d) {
		end, err := f.climb(ctx, rows, []Params{p})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil && end.ev.LML > bestLML {
			best, bestLML = end.p, end.ev.LML
		}
	}
	if rows == n {
		return []Params{best}, nil
	}
	starts := noiseStarts(best)
	for rows *= levelGrowth; rows <= n/levelGrowth; rows *= levelGrowth {
		end, err := f.climb(ctx, rows, starts)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			starts = []Params{end.p}
		}
	}
	return starts, nil
}

// noiseStarts returns p and, where its noise is small, p with more of it.
func noiseStarts(p Params) []Params {
	if p.Noise >= resetNoise {
		return []Params{p}
	}
	q := p.Clone()
	q.Noise = resetNoise
	return []Params{q, p}
}

// climb fits so many random rows from the best of starts.
func (f *fit) climb(ctx context.Context, rows int, starts []Params) (point, error) {
	sub := f.std
	if rows < f.std.X.Rows {
		sub = f.std.Rows(subset(f.std.X.Rows, rows, f.opt.Seed+1))
	}
	obj, err := f.levelObjective(sub, starts[0])
	if err != nil {
		return point{}, err
	}
	t := f.trainer(f.opt.wrap(obj, sub), sub, "prefit")
	t.constant = slices.Clone(f.flat)
	for _, j := range constantColumns(sub.X) {
		t.constant[j] = true
	}
	t.stageSteps, t.maxEvals = 5, f.count.evals+prefitEvals
	t.eps *= prefitSlack
	if t.rough = rows > f.opt.PrefitRows; t.rough {
		t.eps = max(t.eps, float64(f.raw.X.Cols+3)/2)
	}
	start, err := t.choose(ctx, starts)
	if err == nil {
		_, err = t.run(ctx, start)
	}
	if err != nil {
		return point{}, err
	}
	for j, still := range t.constant {
		if still && !f.flat[j] {
			t.cur.p.Lengthscales[j] = 1 // unknown to the subset
		}
	}
	return t.cur, nil
}

// levelObjective returns the objective for a subset.
func (f *fit) levelObjective(sub *Data, p Params) (objective, error) {
	if sub.X.Rows <= exactLevel || f.opt.Method == "exact" {
		return newExactObjective(f.opt.Engine, sub, p)
	}
	return newKrylovObjective(f.opt.Engine, sub, p)
}

// choose returns the start with the greatest likelihood; if that was evaluated
// last, the first stage begins with its evaluation.
func (t *trainer) choose(ctx context.Context, starts []Params) (Params, error) {
	if len(starts) == 1 {
		return starts[0], nil
	}
	best := point{}
	t.eval.Seed, t.eval.Eps = t.opt.Seed, coarseEps*t.eps
	for _, p := range starts {
		target := math.Inf(-1)
		if best.ev != nil {
			target = best.ev.LML
		}
		t.out = t.outOf(p)
		pt, err := t.bold(ctx, p, t.out, target)
		if err != nil {
			if ctx.Err() != nil || best.ev == nil {
				return p, err
			}
			continue
		}
		t.fresh = !pt.ev.Rejected && pt.ev.LML > target
		t.report(pt, t.fresh)
		if t.fresh {
			best = pt
		}
	}
	t.cur = best
	return best.p, nil
}

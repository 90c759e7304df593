package bbgp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/lanczos"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/usage"
	"bbgp.dev/kernelmv"
)

// An Evaluator evaluates the log marginal likelihood of one table at many parameters, for
// optimisers and samplers other than Fit. The table is checked, merged and standardised
// once; preconditioner and probes are made at the first parameters and kept, so that the
// estimate is a smooth function of the parameters and an evaluation costs its passes. They
// are made again where an evaluation takes more than twice the passes of that first one, or
// its bounds do not close, and after Renew: there the estimate may jump by some StdErr.
//
// It may be used by several goroutines: one evaluation runs at a time.
type Evaluator struct {
	full     *Data
	raw, std *gp.Table
	opt      Options // settled
	kernel   string  // that was asked for; "" leaves it to the parameters

	mu    sync.Mutex
	obj   evidence.Estimator // nil: to be prepared
	at    Params             // where it was
	eval  evidence.Options
	limit int // passes beyond which it is prepared anew
}

// NewEvaluator returns an Evaluator of d, as standardised by its own moments unless
// opt.NoScale is set; options of the training are ignored. It fails with a *DataError,
// *OptionError or *MemoryError.
func NewEvaluator(d *Data, opt Options) (*Evaluator, error) {
	kernel := opt.Kernel
	opt.Journal, opt.Start = nil, nil
	if err := checkFit(context.Background(), d, &opt); err != nil {
		return nil, err
	}
	raw := d.table().Merged()
	opt, err := opt.settle(raw.X.Rows, raw.X.Cols)
	if err != nil {
		return nil, err
	}
	if err := opt.budget().Check(raw.X.Rows, d.X.Rows, raw.X.Cols); err != nil {
		return nil, err
	}
	s := opt.scaling(d)
	return &Evaluator{full: d, raw: raw, std: s.Apply(raw), opt: opt, kernel: kernel}, nil
}

// Renew has the next evaluation make preconditioner and probes for its parameters. Its
// bits are then those of LogMarginalLikelihood.
func (ev *Evaluator) Renew() {
	ev.mu.Lock()
	defer ev.mu.Unlock()
	ev.obj = nil
}

// At evaluates L and, unless Options.NoGradient is set, its gradient by the natural
// parameters at p. It fails with a *ParamError, with ctx.Err(), with an error that wraps
// ErrNotFinite, or with a *StagnationError.
func (ev *Evaluator) At(ctx context.Context, p Params) (*LMLReport, error) {
	start, cpu0 := time.Now(), usage.CPUSeconds()
	if err := checkCall(ctx, nil); err != nil {
		return nil, err
	}
	if ev == nil || ev.raw == nil {
		return nil, &DataError{Row: -1, Reason: "the evaluator is empty; evaluators come from NewEvaluator"}
	}
	if err := ev.check(p); err != nil {
		return nil, err
	}
	ev.mu.Lock()
	defer ev.mu.Unlock()
	v, remark, err := ev.value(ctx, p)
	if err != nil {
		return nil, paramFault(err)
	}
	r := ev.report(v)
	if remark != "" {
		r.Warnings = append([]string{remark}, r.Warnings...)
	}
	r.Seconds, r.CPUSeconds, r.PeakBytes = time.Since(start).Seconds(), usage.CPUSeconds()-cpu0, usage.PeakBytes()
	return r, nil
}

// paramFault tells of a lengthscale that the values of its input do not go with.
func paramFault(err error) error {
	var short *kernelmv.LengthscaleError
	if errors.As(err, &short) {
		return &ParamError{Key: fmt.Sprintf("lengthscales[%d]", short.Input),
			Reason: "is too small for values so far apart"}
	}
	return err
}

// check tells whether the table can be evaluated at p.
func (ev *Evaluator) check(p Params) error {
	if err := p.Check(ev.raw.X.Cols); err != nil {
		return err
	}
	return checkKernel(ev.kernel, p)
}

// value evaluates at p by what is prepared, or prepares.
func (ev *Evaluator) value(ctx context.Context, p Params) (v *evidence.Value, remark string, err error) {
	if ev.obj != nil && ev.at.Kernel == p.Kernel {
		v, err = ev.obj.Evaluate(ctx, p, ev.eval)
		if err != nil && !evidence.NeedsEscalation(err) {
			return nil, "", err
		}
		if err != nil || v.Passes > ev.limit {
			ev.obj = nil
		}
		if err == nil {
			return v, "", nil
		}
	}
	ev.obj = nil
	obj, err := ev.opt.newObjective(ev.std, p)
	if err != nil {
		return nil, "", err
	}
	eval, err := ev.opt.piloted(ctx, ev.std, p)
	if err != nil {
		return nil, "", err
	}
	if v, remark, err = ev.opt.escalateToExact(ctx, obj, ev.std, p, eval); err == nil {
		ev.obj, ev.at, ev.eval, ev.limit = obj, p.Clone(), eval, 2*v.Passes+morePasses
	}
	return v, remark, err
}

// morePasses are no reason to prepare an Evaluator anew: a preconditioner costs as much.
const morePasses = 8

// report says what v is and what it cost.
func (ev *Evaluator) report(v *evidence.Value) *LMLReport {
	r := &LMLReport{
		LML: v.LML, StdErr: v.StdErr, BoundKind: enum.BoundKind(v.BoundKind),
		Gradient: v.Gradient, Passes: v.Passes, Products: v.Products,
		Rank: v.Rank, Neighbours: v.Neighbours, Latents: v.Latents, Reason: v.Reason, Probes: v.Probes,
		ProbesReason: v.ProbesReason, GradColumns: v.GradColumns,
		Method: ev.opt.Method, MethodReason: ev.opt.methodReason, Costs: ev.opt.Costs,
		Precision:       enum.Precision(v.Precision),
		PrecisionReason: v.PrecisionReason,
		Product:         enum.Product(lanczos.ProductName(v)), Tolerance: v.Tolerance, ProductDoubt: v.ProductDoubt,
		ISA: ev.opt.Engine.Impl.Name, SecondsByPhase: v.SecondsByPhase, Warnings: []string{},
	}
	r.Interval95, r.Interval999 = v.Interval(0.95), v.Interval(0.999)
	r.Lower, r.Upper = evidence.Ordered(v)
	if r.Probes > 0 && r.ProbesReason == "" {
		r.ProbesReason = ev.opt.probesReason
	}
	if v.Replayed > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf(
			"two-pass mode: %d passes were made twice, the basis did not fit the memory budget", v.Replayed))
	}
	for _, j := range gp.ConstantColumns(ev.raw.X) {
		r.Warnings = append(r.Warnings, "input \""+ev.full.Name(j)+"\" does not vary and was dropped")
	}
	if r.SecondsByPhase == nil {
		r.SecondsByPhase = map[string]float64{}
	}
	return r
}

// piloted returns the options of an evaluation on d, with what a pilot tells.
func (o *Options) piloted(ctx context.Context, d *gp.Table, p Params) (evidence.Options, error) {
	eval := o.evalOptions()
	eval.Gradient, eval.Reported = !o.NoGradient, true
	if o.autoProbes && o.Method == enum.MethodBBGP {
		eval.Probes = 0
	}
	var err error
	eval.Seen, err = o.pilot(ctx, d, p)
	return eval, err
}

// A pilot of 1/pilotPart of the rows costs 1/pilotPart² of an evaluation and tells
// how many neighbours that needs, and whether float32 will do.
const (
	pilotPart = 6
	pilotRows = 1500  // at least
	pilotMost = 30000 // where products are below n², a part of the rows costs that part
)

// pilot evaluates a random part of d at p.
func (o *Options) pilot(ctx context.Context, d *gp.Table, p Params) (s cost.History, err error) {
	n := d.X.Rows
	if o.Method != enum.MethodBBGP || n < pilotPart*pilotRows {
		return s, nil
	}
	sub := d.Rows(gp.Subset(n, min(n/pilotPart, pilotMost), o.Seed+3))
	obj, err := lanczos.New(o.Engine, sub, p)
	if err != nil {
		return s, err
	}
	eval := o.evalOptions()
	eval.Gradient = false
	if ev, err := obj.Evaluate(ctx, p, eval); err == nil {
		ev.Learn(&s, p)
	} else if !evidence.NotFinite(err) { // the whole table finds its own answers
		return s, err
	}
	return s, nil
}

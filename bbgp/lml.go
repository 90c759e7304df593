package bbgp

import (
	"context"
	"fmt"
	"time"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/lanczos"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/usage"
)

// An LMLReport is the log marginal likelihood at given parameters, with what it
// cost. Its JSON form is what `bbgp lml --json` prints.
type LMLReport struct {
	LML             float64            `json:"lml"`
	Lower           Bound              `json:"lower"` // of the bias: what LML would be with exact arithmetic, on the same probes, is at least this
	Upper           Bound              `json:"upper"`
	StdErr          float64            `json:"stderr"`         // over the probes
	Interval95      Interval           `json:"lml_interval95"` // of the value itself: bias, probes, rounding
	Interval999     Interval           `json:"lml_interval999"`
	BoundKind       string             `json:"bound_kind"`
	Gradient        *Gradient          `json:"gradient"` // by the parameters
	Passes          int                `json:"passes"`
	Products        int                `json:"products"` // products of the kernel matrix with a vector
	Rank            int                `json:"rank"`
	Neighbours      int                `json:"neighbours"`
	Reason          string             `json:"preconditioner_reason"`
	Probes          int                `json:"probes"`
	ProbesReason    string             `json:"probes_reason"`
	GradColumns     int                `json:"grad_columns"` // columns that the gradient took
	Seconds         float64            `json:"seconds"`
	CPUSeconds      float64            `json:"cpu_seconds"`
	Method          string             `json:"method"`
	MethodReason    string             `json:"method_reason"`
	Costs           *Costs             `json:"costs"` // by which the choices were made
	Precision       string             `json:"precision"`
	PrecisionReason string             `json:"precision_reason"`
	Product         string             `json:"product"`       // dense or h2
	Tolerance       float64            `json:"tolerance"`     // of an entry in σ_f², for h2
	ProductDoubt    float64            `json:"product_doubt"` // nats that it may still do, within the bounds
	ISA             string             `json:"isa"`
	PeakBytes       int64              `json:"peak_bytes"`
	SecondsByPhase  map[string]float64 `json:"seconds_by_phase"`
	Warnings        []string           `json:"warnings"` // what a user should know
}

// LogMarginalLikelihood evaluates L and, unless opt.NoGradient is set, its
// gradient by the natural parameters at p, on d as standardised by its own moments unless opt.NoScale is set.
// Options of the training are ignored. It fails with a *DataError, *ParamError,
// *OptionError or *MemoryError before it starts, with ctx.Err(), with an error
// that wraps ErrNotFinite, or with a *StagnationError.
func LogMarginalLikelihood(ctx context.Context, d *Data, p Params, opt Options) (*LMLReport, error) {
	start, cpu0 := time.Now(), usage.CPUSeconds()
	if err := checkFit(ctx, d, &opt); err != nil {
		return nil, err
	}
	if err := p.Check(d.X.Cols); err != nil {
		return nil, err
	}
	full := d
	raw := d.table().Merged()
	opt.Kernel, opt.Journal = p.Kernel, nil
	opt, err := opt.settle(raw.X.Rows, raw.X.Cols)
	if err != nil {
		return nil, err
	}
	if err := opt.budget().Check(raw.X.Rows, full.X.Rows, raw.X.Cols); err != nil {
		return nil, err
	}
	s := opt.scaling(full)
	std := s.apply(raw)
	obj, err := opt.newObjective(std, p)
	if err != nil {
		return nil, err
	}
	eval, err := opt.piloted(ctx, std, p)
	if err != nil {
		return nil, err
	}
	ev, remark, err := opt.insistExact(ctx, obj, std, p, eval)
	if err != nil {
		return nil, err
	}
	r := &LMLReport{
		LML: ev.LML, StdErr: ev.StdErr, BoundKind: ev.BoundKind,
		Gradient: ev.Gradient, Passes: ev.Passes, Products: ev.Products, Rank: ev.Rank, Neighbours: ev.Neighbours,
		Reason: ev.Reason, Probes: ev.Probes, ProbesReason: ev.ProbesReason, GradColumns: ev.GradColumns,
		Method: opt.Method, MethodReason: opt.methodReason, Costs: opt.Costs, Precision: ev.Precision,
		PrecisionReason: ev.PrecisionReason,
		Product:         lanczos.ProductName(ev), Tolerance: ev.Tolerance, ProductDoubt: ev.ProductDoubt,
		ISA: opt.Engine.Impl.Name, SecondsByPhase: ev.SecondsByPhase, Warnings: []string{},
	}
	r.Interval95, r.Interval999 = ev.Interval(0.95), ev.Interval(0.999)
	if r.Lower, r.Upper = evidence.Ordered(ev); r.Probes > 0 && r.ProbesReason == "" {
		r.ProbesReason = opt.probesReason
	}
	if remark != "" {
		r.Warnings = append(r.Warnings, remark)
	}
	if ev.Replayed > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("two-pass mode: %d passes were made twice, the basis did not fit the memory budget", ev.Replayed))
	}
	for _, j := range gp.ConstantColumns(raw.X) {
		r.Warnings = append(r.Warnings, "input \""+d.Name(j)+"\" does not vary and was dropped")
	}
	if r.SecondsByPhase == nil {
		r.SecondsByPhase = map[string]float64{}
	}
	r.Seconds, r.CPUSeconds, r.PeakBytes = time.Since(start).Seconds(), usage.CPUSeconds()-cpu0, usage.PeakBytes()
	return r, nil
}

// piloted returns the options of an evaluation on d, with what a pilot tells.
func (o *Options) piloted(ctx context.Context, d *gp.Table, p Params) (evidence.Options, error) {
	eval := o.evalOptions()
	eval.Gradient = !o.NoGradient
	if o.autoProbes && o.Method == "bbgp" {
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
	if o.Method != "bbgp" || n < pilotPart*pilotRows {
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

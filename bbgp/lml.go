package bbgp

import (
	"context"
	"time"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/usage"
)

// An LMLReport is the log marginal likelihood at given parameters, with what it
// cost. Its JSON form is what `bbgp lml --json` prints.
type LMLReport struct {
	LML float64 `json:"lml"`
	// of the bias: what LML would be with exact arithmetic, on the same probes, is at least this
	Lower           Bound              `json:"lower"`
	Upper           Bound              `json:"upper"`
	StdErr          float64            `json:"stderr"`         // over the probes
	Interval95      Interval           `json:"lml_interval95"` // of the value itself: bias, probes, rounding
	Interval999     Interval           `json:"lml_interval999"`
	BoundKind       enum.BoundKind     `json:"bound_kind"`
	Gradient        *Gradient          `json:"gradient"` // by the parameters
	Passes          int                `json:"passes"`
	Products        int                `json:"products"` // products of the kernel matrix with a vector
	Rank            int                `json:"rank"`
	Neighbours      int                `json:"neighbours"`
	Latents         int                `json:"latents"`
	Reason          string             `json:"preconditioner_reason"`
	Probes          int                `json:"probes"`
	ProbesReason    string             `json:"probes_reason"`
	GradColumns     int                `json:"grad_columns"` // columns that the gradient took
	Seconds         float64            `json:"seconds"`
	CPUSeconds      float64            `json:"cpu_seconds"`
	Method          enum.Method        `json:"method"`
	MethodReason    string             `json:"method_reason"`
	Costs           *Costs             `json:"costs"` // by which the choices were made
	Precision       enum.Precision     `json:"precision"`
	PrecisionReason string             `json:"precision_reason"`
	Product         enum.Product       `json:"product"`       // dense or h2
	Tolerance       float64            `json:"tolerance"`     // of an entry in σ_f², for h2
	ProductDoubt    float64            `json:"product_doubt"` // nats that it may still do, within the bounds
	ISA             string             `json:"isa"`
	PeakBytes       int64              `json:"peak_bytes"`
	SecondsByPhase  map[string]float64 `json:"seconds_by_phase"`
	Warnings        []string           `json:"warnings"` // what a user should know
}

// LogMarginalLikelihood evaluates L and, unless opt.NoGradient is set, its
// gradient by the natural parameters at p, on d as standardised by its own moments unless
// opt.NoScale is set; an Evaluator does so at many p. With a gradient it goes on until the bounds of the bias are a
// part of opt.Eps apart, since derivatives are off by the root of what the value is.
// Options of the training are ignored. It fails with a *DataError, *ParamError,
// *OptionError or *MemoryError before it starts, with ctx.Err(), with an error
// that wraps ErrNotFinite, or with a *StagnationError.
func LogMarginalLikelihood(ctx context.Context, d *Data, p Params, opt Options) (*LMLReport, error) {
	start, cpu0 := time.Now(), usage.CPUSeconds()
	if err := checkCall(ctx, opt.Engine); err != nil {
		return nil, err
	}
	ev, err := NewEvaluator(d, opt)
	if err != nil {
		return nil, err
	}
	r, err := ev.At(ctx, p)
	if err == nil {
		r.Seconds, r.CPUSeconds = time.Since(start).Seconds(), usage.CPUSeconds()-cpu0
	}
	return r, err
}

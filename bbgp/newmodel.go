package bbgp

import (
	"context"
	"time"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/train"
	"bbgp.dev/internal/usage"
)

// NewModel returns the model of d that has the parameters p, without a fit: parameters
// may come from elsewhere, or from another table. They are those of the data as
// standardised by their own moments, unless opt.NoScale is set; see Options.NoDense.
// Its Result reports one evaluation of the likelihood. Options of the training are
// ignored; it fails as LogMarginalLikelihood does.
func NewModel(ctx context.Context, d *Data, p Params, opt Options) (*Model, error) {
	began, cpu0 := time.Now(), usage.CPUSeconds()
	if err := checkCall(ctx, opt.Engine); err != nil {
		return nil, err
	}
	opt.NoGradient = true
	ev, err := NewEvaluator(d, opt)
	if err != nil {
		return nil, err
	}
	if err := ev.check(p); err != nil {
		return nil, err
	}
	ev.opt.Kernel = p.Kernel
	f := &fit{opt: &ev.opt, full: d, Search: &train.Search{Raw: ev.raw,
		Count: &train.Counters{Start: began, CPU0: cpu0, Seconds: map[string]float64{}}}}
	m := f.newModel()
	if gp.Constant(d.Y) {
		f.constantModel(m)
		return m, nil
	}
	v, remark, err := ev.value(ctx, p)
	if err != nil {
		return nil, err
	}
	if remark != "" {
		m.Result.warn("%s", remark)
	}
	f.Count.Evals, f.Count.Passes = 1, v.Passes
	m.Result.Stopped = enum.StoppedConverged
	f.adopt(ctx, m, p, v)
	f.cost(&m.Result)
	return m, ctx.Err()
}

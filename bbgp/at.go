package bbgp

import (
	"context"
	"time"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/train"
	"bbgp.dev/internal/usage"
)

// At returns the model of d that has the parameters p, without a fit: parameters
// may come from elsewhere, or from another table. They are those of the data as
// standardised by their own moments, unless opt.NoScale is set; see Options.NoDense.
// Its Result reports one evaluation of the likelihood. Options of the training are
// ignored; it fails as LogMarginalLikelihood does.
func At(ctx context.Context, d *Data, p Params, opt Options) (*Model, error) {
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
	f := &fit{opt: &opt, full: full, Search: &train.Search{Raw: raw,
		Count: &train.Counters{Start: time.Now(), CPU0: usage.CPUSeconds(), Seconds: map[string]float64{}}}}
	m := f.newModel()
	if gp.Constant(full.Y) {
		f.constantModel(m)
		return m, nil
	}
	obj, err := opt.newObjective(f.Std, p)
	if err != nil {
		return nil, err
	}
	eval, err := opt.piloted(ctx, f.Std, p)
	if err != nil {
		return nil, err
	}
	eval.Gradient = false
	ev, remark, err := opt.insistExact(ctx, obj, f.Std, p, eval)
	if err != nil {
		return nil, err
	}
	if remark != "" {
		m.Result.warn("%s", remark)
	}
	f.Count.Evals, f.Count.Passes = 1, ev.Passes
	m.Result.Stopped = "converged"
	f.adopt(ctx, m, p, ev)
	f.cost(&m.Result)
	return m, ctx.Err()
}

package bbgp

import (
	"context"
	"fmt"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/checkpoint"
	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/inducing"
	"bbgp.dev/internal/evidence/iterative"
	"bbgp.dev/internal/evidence/lanczos"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/train"
)

// newObjective returns the objective of o.Method on standardised data.
func (o *Options) newObjective(d *gp.Table, p Params) (evidence.Estimator, error) {
	obj, err := o.bareObjective(d, p)
	if err != nil {
		return nil, err
	}
	return o.wrap(obj, d), nil
}

// wrap adds what all methods share: the journal, the within-group term of merged
// rows, and the priors of few rows.
func (o *Options) wrap(obj evidence.Estimator, d *gp.Table) evidence.Estimator {
	if o.Journal != nil {
		obj = &checkpoint.Estimator{Of: obj, Journal: o.Journal, Rows: d.X.Rows}
	}
	return o.complete(obj, d)
}

// complete is wrap without the journal.
func (o *Options) complete(obj evidence.Estimator, d *gp.Table) evidence.Estimator {
	if d.Repeats != nil {
		obj = evidence.WithReplicates{Estimator: obj, D: d}
	}
	if o.guide.Weight > 0 {
		obj = evidence.WithPrior{Estimator: obj, Prior: o.guide}
	}
	return obj
}

func (o *Options) bareObjective(d *gp.Table, p Params) (evidence.Estimator, error) {
	switch o.Method {
	case enum.MethodExact:
		return evidence.NewExact(o.Engine, d, p)
	case enum.MethodSGPR, enum.MethodCGLB:
		return inducing.New(o.Engine, d, p, o.inducing(), o.Method == enum.MethodCGLB)
	case enum.MethodIterative, enum.MethodRR:
		return iterative.New(o.Engine, d, p, o.Method == enum.MethodRR)
	}
	return lanczos.New(o.Engine, d, p)
}

const sparseRank = 1000 // inducing rows of sgpr and cglb by default

// inducing is the number of inducing rows that is asked for.
func (o *Options) inducing() int {
	if o.Rank <= 0 {
		return sparseRank
	}
	return o.Rank
}

// escalateToExact is Escalate with the dense computation as last answer. The remark
// says which answer was needed.
func (o *Options) escalateToExact(ctx context.Context, obj evidence.Estimator, d *gp.Table, p Params,
	opt evidence.Options) (ev *evidence.Value, remark string, err error) {
	n := d.X.Rows
	ev, used, err := evidence.Escalate(ctx, obj, n, p, opt)
	if err != nil && evidence.NeedsEscalation(err) && o.Method == enum.MethodBBGP &&
		o.budget().HasRoom(cost.ExactBytes(n)) {
		dense, e := evidence.NewExact(o.Engine, d, p)
		if e != nil {
			return nil, "", e
		}
		if ev, e = o.wrap(dense, d).Evaluate(ctx, p, opt); e == nil {
			return ev, fmt.Sprintf("%v; answered by method exact", err), nil
		}
	}
	if err == nil && (used.Rank != opt.Rank || used.Neighbours != opt.Neighbours) {
		remark = fmt.Sprintf("the bounds did not close at first; answered by rank %d, %d neighbours and float64",
			ev.Rank, ev.Neighbours)
	}
	return ev, remark, err
}

// config returns what the options say to the training.
func (o *Options) config() *train.Config {
	return &train.Config{
		Kernel: o.Kernel, Method: string(o.Method), Optimizer: string(o.Optimizer), MaxSteps: o.MaxSteps, Eps: o.Eps,
		LMLStdErr: o.LMLStdErr, Probes: o.Probes, FixMean: o.FixMean, Start: o.Start, PrefitRows: o.PrefitRows,
		Restarts: o.Restarts, Seed: o.Seed, Engine: o.Engine, Journal: o.Journal, Costs: o.Costs,
		Budget: o.budget(), Eval: o.evalOptions(), New: o.newObjective, Wrap: o.wrap, Complete: o.complete,
		ByProducts: func(d *gp.Table, p Params) (evidence.Estimator, error) { return lanczos.New(o.Engine, d, p) },
	}
}

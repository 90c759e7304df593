package posterior

import (
	"context"
	"slices"

	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/precond"
)

// A runner is what one kind of engine, by its routines and its number of threads, computes
// with. It has an engine of its own, as the caller's may be at work elsewhere. Factors are
// made once, by the first engine that needs them: the other runners share their numbers.
type runner struct {
	e    *linalg.Engine
	op   *kernelmv.Op
	pre  *precond.Precond // unless dense
	chol *linalg.Cholesky // if dense
	// variancePrecond is the preconditioner for variances, whose many solves pay for a
	// larger rank: on elevators (n = 11121) rank 600 saved 2 of 5 passes.
	variancePrecond *precond.Precond
	source          *kernelmv.Source // of the weights, once enough means were asked for
}

// use makes the runner for e that of the call; e nil means the engine of the last call, or
// the default one.
func (p *Posterior) use(ctx context.Context, e *linalg.Engine) (err error) {
	if e == nil {
		if p.runner != nil {
			return nil
		}
		if e, err = linalg.NewEngine(nil, 0); err != nil {
			return err
		}
	}
	if p.runner == nil || !p.runner.like(e) {
		var r *runner
		if i := slices.IndexFunc(p.runners, func(r *runner) bool { return r.like(e) }); i >= 0 {
			r = p.runners[i]
		} else if r, err = p.newRunner(ctx, e); err != nil {
			return err
		}
		if p.runner != nil {
			r.share(p.runner)
		}
		p.runner = r
	}
	p.e.Par.Between = e.Par.Between
	return nil
}

// like says whether r computes as e would.
func (r *runner) like(e *linalg.Engine) bool {
	return r.e.Impl == e.Impl && r.e.Par.Threads() == e.Par.Threads() && r.e.Comm == e.Comm
}

// newRunner makes a runner for engines like e.
func (p *Posterior) newRunner(ctx context.Context, e *linalg.Engine) (*runner, error) {
	own := &linalg.Engine{Impl: e.Impl, Par: linalg.NewPar(e.Par.Threads()), Comm: e.Comm}
	op, err := kernelmv.NewOp(own, p.data.X, gp.KernelOf(p.params), gp.NoiseOf(p.params, p.data))
	if err != nil {
		return nil, &gp.ParamError{Key: "lengthscales", Reason: err.Error()}
	}
	op.SetPrecision(kernelmv.F64)
	if err := p.checkWeights(ctx, op); err != nil {
		return nil, err
	}
	op.SetForm(kernelmv.FormAuto, predictTol32, predictTol64)
	if p.round == nil {
		if p.round, err = newRounding(op); err != nil {
			return nil, err
		}
	}
	r := &runner{e: own, op: op}
	p.runners = append(p.runners, r)
	return r, nil
}

// share takes the factors that o has and r has not.
func (r *runner) share(o *runner) {
	if r.chol == nil && o.chol != nil {
		r.chol = o.chol.On(r.e)
	}
	if r.pre == nil && o.pre != nil {
		r.pre = o.pre.On(r.e)
	}
	switch {
	case r.variancePrecond != nil || o.variancePrecond == nil:
	case o.variancePrecond == o.pre:
		r.variancePrecond = r.pre
	default:
		r.variancePrecond = o.variancePrecond.On(r.e)
	}
}

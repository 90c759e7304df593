package bbgp

import (
	"context"
	"errors"
	"fmt"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/gp"
)

// Answers to bounds that stop improving before they are eps apart, or to
// rounding that leaves the whitened matrix indefinite: float64 and ever stronger
// preconditioners, and at last the dense computation, if it fits the memory.

const (
	answerRank, answerNear = 192, 64 // the first answer at least
	answers                = 3
)

// hopeless says whether err calls for an answer.
func hopeless(err error) bool {
	var s *StagnationError
	return errors.As(err, &s) || errors.Is(err, errPrecision)
}

// stronger returns opt with twice the preconditioner, in float64.
func stronger(opt EvalOptions, n int) EvalOptions {
	opt.Rank = min(max(2*opt.Rank, answerRank), n/2)
	opt.Neighbours = min(max(2*opt.Neighbours, answerNear), n-1)
	opt.Precision = "f64"
	return opt
}

// insist calls run with as many answers as that takes, n rows. It returns the options
// that did it.
func insist(opt EvalOptions, n int, run func(EvalOptions) error) (EvalOptions, error) {
	for try := 0; ; try++ {
		err := run(opt)
		if err == nil || !hopeless(err) || try == answers {
			return opt, err
		}
		opt = stronger(opt, n)
	}
}

// insistAt is insist with a new preconditioner and an evaluation at p.
func insistAt(ctx context.Context, obj objective, n int, p Params, opt EvalOptions) (ev *Evaluation, used EvalOptions, err error) {
	used, err = insist(opt, n, func(opt EvalOptions) (err error) {
		if err = obj.Rebuild(ctx, p, opt); err == nil {
			ev, err = obj.Evaluate(ctx, p, opt)
		}
		return err
	})
	return ev, used, err
}

// insistExact is insistAt with the dense computation as last answer. The remark
// says which answer was needed.
func (o *Options) insistExact(ctx context.Context, obj objective, d *gp.Table, p Params, opt EvalOptions) (ev *Evaluation, remark string, err error) {
	n := d.X.Rows
	ev, used, err := insistAt(ctx, obj, n, p, opt)
	if err != nil && hopeless(err) && o.Method == "bbgp" && o.budget().HasRoom(cost.ExactBytes(n)) {
		dense, e := newExactObjective(o.Engine, d, p)
		if e != nil {
			return nil, "", e
		}
		if ev, e = o.wrap(dense, d).Evaluate(ctx, p, opt); e == nil {
			return ev, fmt.Sprintf("%v; answered by method exact", err), nil
		}
	}
	if err == nil && (used.Rank != opt.Rank || used.Neighbours != opt.Neighbours) {
		remark = fmt.Sprintf("the bounds did not close at first; answered by rank %d, %d neighbours and float64", ev.Rank, ev.Neighbours)
	}
	return ev, remark, err
}

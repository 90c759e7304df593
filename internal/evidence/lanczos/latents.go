package lanczos

import (
	"context"
	"errors"
	"fmt"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/precond"
)

// precondition makes P at p, where the operator is, and says why it is as it is.
func (o *Estimator) precondition(ctx context.Context, p gp.Params, seed uint64, prec kernelmv.Precision,
	opt evidence.Options) (pre *precond.Precond, reason string, err error) {
	noise, d := o.op.Noise(), cost.ActiveInputs(p)
	m, why, tried := opt.Latents, "as asked", ""
	if m == 0 && cost.MayHaveLatents(o.n, d, opt.Request) {
		shares, err := precond.LatentPilot(ctx, o.e, o.op, noise, cost.LatentRows, seed)
		if err != nil {
			return nil, "", err
		}
		m, why = cost.Latents(o.n, d, prec, opt.Request, shares)
	}
	if m > 0 {
		pre, err = precond.New(ctx, o.e, o.op, noise, precond.Options{Latents: m, Seed: seed})
		var singular *linalg.NotPDError
		if err == nil || !errors.As(err, &singular) {
			return pre, why, err
		}
		tried = fmt.Sprintf("; %d latents were not possible: %v", m, err)
	}
	set, because := cost.Precond(o.n, p, noise, prec, opt.Request)
	set.Seed = seed
	pre, err = precond.New(ctx, o.e, o.op, noise, set)
	return pre, *because + tried, err
}

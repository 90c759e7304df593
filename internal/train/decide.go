package train

import (
	"context"
	"math"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
)

// Which of two ends of the training is higher, where their probes leave it open.

// decidingSeed is added to the seed for the probes that both ends are evaluated with.
const decidingSeed = 1 << 33

// beyondProbes says whether the difference of two values is more than their standard errors leave open.
func beyondProbes(a, b *evidence.Value) bool {
	return math.Abs(a.LML-b.LML) > openNats*math.Hypot(a.StdErr, b.StdErr)
}

// higher says whether t.Cur is higher than best, both of them ends of a training: by dense evaluations
// at the ends of further steps by such ones where these cost little, else with the same probes for
// both, as many as a run has. It returns best as it is then.
func (f *Search) higher(ctx context.Context, t *Trainer, best Iterate) (bool, Iterate, error) {
	if f.wantsDenseFinish(t) {
		cur := t.Cur
		if err := f.denseFinish(ctx, t); err != nil {
			return cur.Ev.LML > best.Ev.LML, best, err
		}
		cur, t.Cur = t.Cur, best
		err := f.denseFinish(ctx, t)
		best, t.Cur = t.Cur, cur
		return cur.Ev.LML > best.Ev.LML, best, err
	}
	a, err := f.closely(ctx, t, t.Cur)
	if err != nil {
		return t.Cur.Ev.LML > best.Ev.LML, best, err
	}
	b, err := f.closely(ctx, t, best)
	if err != nil {
		return t.Cur.Ev.LML > best.Ev.LML, best, err
	}
	return a.LML > b.LML, best, nil
}

// closely evaluates a place with as many probes as a run has, the same for every place.
func (f *Search) closely(ctx context.Context, t *Trainer, at Iterate) (*evidence.Value, error) {
	opt := t.eval
	opt.Gradient, opt.Reject, opt.Eps, opt.Uses = false, nil, f.Config.Eps, 1
	opt.Probes, opt.Seed = cost.ProbesAtOnce, f.Config.Seed+decidingSeed
	at.Ev.Note(&opt.Seen)
	ev, _, err := evidence.Escalate(ctx, t.obj, f.Raw.X.Rows, at.P, opt)
	if err != nil {
		return nil, err
	}
	f.Count.Evals++
	f.Count.Passes += ev.Passes
	t.report(Iterate{P: at.P, z: at.z, Ev: ev}, false)
	return ev, nil
}

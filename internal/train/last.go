package train

import (
	"cmp"
	"context"
	"math"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// Last evaluates the likelihood at the best point with a new P and enough
// probes for opt.LMLStdErr, in runs of at most ProbesAtOnce whose means are
// combined; the bounds of each run hold for its own probes, so do their means. Alpha is solved for until
// r'K̂⁻¹r is at most weights (evidence.Options.Weights).
func (f *Search) Last(ctx context.Context, t *Trainer, weights float64) (*evidence.Value, error) {
	t.phase, t.stage = "final", t.stage+1
	best, at := t.Cur, t.Cur.P
	if t.moving.Lengthscales != nil {
		at = t.moving
	}
	if f.Whole != f.Std {
		var err error
		if t.obj, err = f.Config.New(f.Whole, best.P); err != nil {
			return nil, err
		}
		t.built = gp.Params{}
	}
	want := f.Config.LMLStdErr * float64(f.Raw.X.Rows)
	opt, least := f.lastOptions(t, at, weights)
	var sum *evidence.Value
	square := 0.0 // Σ over runs of (probes · stderr)²
	for run, total := 0, 0; ; run++ {
		if run > 0 {
			opt.Seed = f.Config.Seed + 1<<32 + uint64(run)
		}
		ev, used, err := evidence.EscalateFrom(ctx, t.obj, f.Raw.X.Rows, at, best.P, opt)
		if err != nil {
			return nil, err
		}
		opt, opt.Weights, opt.After = used, 0, 0
		f.Count.Evals++
		f.Count.Passes += ev.Passes - ev.Before
		w := float64(ev.Probes)
		square += w * w * ev.StdErr * ev.StdErr
		total += ev.Probes
		if sum == nil {
			c := *ev
			sum = &c
		} else {
			a := w / float64(total)
			sum.Law = sum.Law.Merge(ev.Law)
			sum.LML += a * (ev.LML - sum.LML)
			sum.Lower += a * (ev.Lower - sum.Lower)
			sum.Upper += a * (ev.Upper - sum.Upper)
			if ev.BoundKind != "rigorous" {
				sum.BoundKind = ev.BoundKind
			}
		}
		sum.Probes, sum.StdErr = total, math.Sqrt(square)/float64(total)
		need := lastProbes(least, total, sum.StdErr, want) - total
		if need <= 0 {
			t.report(Iterate{P: best.P, z: best.z, Ev: sum}, true)
			return sum, nil
		}
		opt.Probes = min(need, cost.ProbesAtOnce)
	}
}

// lastOptions are those of the first run, with P for at, and how many probes all of them have at least.
func (f *Search) lastOptions(t *Trainer, at gp.Params, weights float64) (opt evidence.Options, least int) {
	best := t.Cur
	opt = t.eval
	opt.Gradient, opt.Reject, opt.Eps = false, nil, f.Config.Eps
	least = cost.MinLastProbes
	opt.Probes = max(least, f.Config.Probes)
	opt.Uses, opt.Weights = 2, weights
	best.Ev.Note(&opt.Seen)
	opt.Seed = f.Config.Seed + 1<<32
	opt.PrecondSeed = opt.Seed
	if t.built.SameCovariance(at) { // the last stage began where the training ends, and its P serves
		probes := opt.Probes
		opt.Request, opt.PrecondSeed = t.builtBy.Request, cmp.Or(t.builtBy.PrecondSeed, t.builtBy.Seed)
		opt.Probes = probes
		if f.Whole == f.Std && t.tellsLast() {
			opt.Seed, opt.Probes, opt.After = t.builtBy.Seed, best.Ev.Probes, best.eps
			least = best.Ev.Probes
		}
	}
	return opt, least
}

// lastProbes is the number of probes that brings the standard error of an
// evaluation with s probes and error se down to want, that many at least.
func lastProbes(least, s int, se, want float64) int {
	if s < 1 || !(want > 0) {
		return least
	}
	need := math.Ceil(float64(s) * se * se / (want * want))
	return int(min(max(need, float64(least)), cost.MaxLastProbes))
}

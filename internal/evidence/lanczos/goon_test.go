package lanczos

import (
	"context"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
)

// An evaluation that goes on from the last one gives what a finer one gives, for the passes that were left to be made:
// where the process is at hand, and where it has to be made again from the state that a checkpoint keeps.
func TestGoesOn(t *testing.T) {
	ctx, d := context.Background(), gptest.SmoothTable(600, 3, 0.3)
	p := gptest.TestParams("matern32", 3, 0.1)
	q := p.Clone()
	q.Variance, q.Mean = 1.4, 0.25
	opt := evidence.Options{Request: cost.Request{Probes: 7, Rank: 0, Neighbours: 10}, Eps: 5, Gradient: true,
		Precision: "f64", Seed: 5}
	fine := opt
	fine.Eps, fine.Gradient = 0.01, false
	for name, places := range map[string][]gp.Params{"cold f64": {q}, "warm f64": {p, q}, "cold f32": {q},
		"warm f32": {p, q}} {
		prec := name[len(name)-3:]
		opt.Precision, fine.Precision = prec, prec
		o := mustObjective(t, d, places[0])
		must := func(o *Estimator, p gp.Params, opt evidence.Options) *evidence.Value {
			t.Helper()
			ev, err := o.Evaluate(ctx, p, opt)
			if err != nil {
				t.Fatal(err)
			}
			return ev
		}
		last := func(o *Estimator, finer evidence.Options) *evidence.Value {
			t.Helper()
			finer.PrecondSeed = opt.Seed
			if err := o.Rebuild(ctx, q, finer); err != nil {
				t.Fatal(err)
			}
			return must(o, q, finer)
		}
		for _, at := range places[:len(places)-1] {
			must(o, at, opt)
		}
		if err := o.Rebuild(ctx, q, opt); err != nil {
			t.Fatal(err)
		}
		before := o.State()
		coarse := must(o, q, opt)
		after := o.State()
		finer := fine
		finer.After = opt.Eps
		got := last(o, finer)
		if got.Before != coarse.Passes || got.Passes <= got.Before || got.Upper-got.Lower > coarse.Upper-coarse.Lower {
			t.Errorf("%s: %d passes of which %d before, after %d", name, got.Passes, got.Before, coarse.Passes)
		}
		anew, again := mustObjective(t, d, q), mustObjective(t, d, q)
		anew.Restore(before)
		again.Restore(after)
		want, replayed := last(anew, fine), last(again, finer)
		if got.LML != want.LML || got.Passes != want.Passes || got.StdErr != want.StdErr || want.Before != 0 {
			t.Errorf("%s: %v after %d passes, %v after %d by one evaluation", name, got.LML, got.Passes, want.LML,
				want.Passes)
		}
		if got.LML != replayed.LML || got.Passes != replayed.Passes || got.Before != replayed.Before ||
			got.Alpha[7] != replayed.Alpha[7] {
			t.Errorf("%s: %v of %d and %d passes, %v of %d and %d from a checkpoint", name, got.LML, got.Before,
				got.Passes, replayed.LML, replayed.Before, replayed.Passes)
		}
	}
}

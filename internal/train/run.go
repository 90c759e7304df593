package train

import (
	"context"
	"runtime"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// ClimbAll searches for starts, and climbs from the best on all rows. It returns why
// that ended; the trainer holds the best point, also with an error.
func (f *Search) ClimbAll(ctx context.Context) (*Trainer, string, error) {
	starts, err := f.search(ctx)
	if err != nil {
		return nil, "", err
	}
	if foreseen := f.Config.Foreseen; foreseen != nil {
		if err := foreseen(ctx, starts[0].Parameters); err != nil {
			return nil, "", err
		}
	}
	obj, err := f.Config.New(f.Std, starts[0].Parameters)
	if err != nil {
		return nil, "", err
	}
	t := f.trainer(obj, f.Std, "train")
	t.constant = f.Flat
	t.stageSteps, t.maxEvals = StageStepsOf(f.Config.Method), f.Count.Evals+f.Config.MaxSteps
	start, err := t.choose(ctx, starts)
	if err != nil {
		return t, "", err
	}
	why, err := f.climbFrom(ctx, t, start)
	return t, why, err
}

// wantsDenseFinish says whether dense evaluations would see gains that the noise of the probes hides, or that a slope
// far out on a ridge promises too little of, where predictions come from a dense factor in any case.
func (f *Search) wantsDenseFinish(t *Trainer) bool {
	ev, n := t.Cur.Ev, f.Raw.X.Rows
	return f.Config.Method == "bbgp" && f.Config.Optimizer != "adam" && n <= cost.DenseRows && f.denseFits(n) &&
		(ev.StdErr > denseFinishWorth*f.Config.Eps || ev.StdErr > 0 && f.beyondRoom(t.Cur.P)) &&
		f.Count.Evals < t.maxEvals
}

// denseFinish goes on with dense evaluations, which for few rows cost little more.
func (f *Search) denseFinish(ctx context.Context, t *Trainer) error {
	last, err := f.denseTrainer(t, denseFinishWorth, denseFinishEvals)
	if err != nil {
		return err
	}
	_, err = last.run(ctx, t.Cur.P)
	switch {
	case last.Cur.Ev != nil:
		t.Cur = last.Cur
	case evidence.NotFinite(err): // rounding: the probes' word stands
		return nil
	}
	return err
}

// denseTrainer goes on from t by so many dense evaluations; worth times eps is a gain worth a stage.
func (f *Search) denseTrainer(t *Trainer, worth float64, evals int) (*Trainer, error) {
	obj, err := evidence.NewExact(f.Config.Engine, f.Std, t.Cur.P)
	if err != nil {
		return nil, err
	}
	last := f.trainer(f.Config.Wrap(obj, f.Std), f.Std, "train")
	last.constant, last.inactive = f.Flat, t.inactiveAt(t.Cur.P)
	last.eps, last.rough = min(last.eps, worth*f.Config.Eps), true
	last.stageSteps, last.maxEvals = StageStepsOf("exact"), min(f.Count.Evals+evals, t.maxEvals)
	return last, nil
}

// StageStepsOf is the number of accepted steps in a stage. A new stage of the
// sparse methods chooses new inducing rows, which changes the function.
func StageStepsOf(method string) int {
	switch method {
	case "sgpr", "cglb":
		return 20
	}
	return 5
}

// exactWorth is the gain a row that is worth a stage of method exact, in nats:
// four rows at two places gain two nats in all.
const exactWorth = 1e-3

func (f *Search) trainer(obj evidence.Estimator, d *gp.Table, phase string) *Trainer {
	eps := f.Config.Eps
	if f.Config.Method == "exact" {
		eps = min(eps, exactWorth*float64(d.X.Rows))
	}
	eval := f.Config.Eval
	eval.Seen = f.Seen
	return &Trainer{e: f.Config.Engine, obj: obj, d: d, opt: f.Config,
		eval: eval, eps: eps, phase: phase, count: f.Count}
}

// collectRows is the number of rows from which a collection, some ms, costs nothing beside a fit.
const collectRows = 1000

// Release lets go of the objective: the trainer climbs no more. Its memory is free for what comes, which
// the collector would only see after the first large array of that.
func (t *Trainer) Release() {
	if t.obj == nil {
		return
	}
	t.obj = nil
	if t.d.X.Rows >= collectRows {
		runtime.GC()
	}
}

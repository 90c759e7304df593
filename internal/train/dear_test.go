package train

import (
	"context"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// An asked estimator keeps where and how preconditioners are asked for, and has one answer.
type asked struct {
	opt    evidence.Options
	answer evidence.Value
}

func (o *asked) Rebuild(_ context.Context, _ gp.Params, opt evidence.Options) error {
	o.opt = opt
	return nil
}

func (o *asked) Evaluate(context.Context, gp.Params, evidence.Options) (*evidence.Value, error) {
	ev := o.answer
	ev.Probes, ev.Gradient = o.opt.Probes, &evidence.Gradient{Lengthscales: make([]float64, 2)}
	return &ev, nil
}

// askedTrainer is where an evaluation took so many passes.
func askedTrainer(t *testing.T, passes int) (*Search, *Trainer) {
	rng := rand.New(rand.NewPCG(3, 1))
	f := searchOf(t, filled(800, 2, func(_ int, x []float64) float64 {
		x[0], x[1] = rng.NormFloat64(), rng.NormFloat64()
		return x[0]
	}), true)
	f.Config.Method = "bbgp"
	o := &asked{answer: evidence.Value{LML: 100, StdErr: 20, Passes: passes, Precision: "f64", Product: "dense"}}
	tr := f.trainer(o, f.Std, "train")
	tr.constant, tr.inactive = make([]bool, 2), make([]bool, 2)
	p := startAt(0.05, 1, 2)
	if err := tr.rebuild(context.Background(), p, relocatedUses); err != nil {
		t.Fatal(err)
	}
	var err error
	if tr.Cur, err = tr.evaluate(context.Background(), p, 0); err != nil {
		t.Fatal(err)
	}
	return f, tr
}

// What the last evaluation may go on from is left for a step that promises what a stage is worth; of large tables it
// is there once a step has gained less.
func TestLeastPromises(t *testing.T) {
	f, tr := askedTrainer(t, 9)
	if first, others := tr.leastPromises(); first != firstStep || others != firstStep {
		t.Errorf("long evaluations: %v and %v", first, others)
	}
	if err := tr.begin(context.Background()); err != nil {
		t.Fatal(err)
	}
	if first, _ := tr.leastPromises(); first != 1 || tr.Cur.Ev.Probes != goneOnProbes {
		t.Errorf("with %d probes: %v", tr.Cur.Ev.Probes, first)
	}
	opt, least := f.lastOptions(tr, tr.Cur.P, 0)
	if opt.After == 0 || opt.Probes != goneOnProbes || least != goneOnProbes {
		t.Errorf("the last evaluation after %v with %d probes", opt.After, opt.Probes)
	}
	_, tr = askedTrainer(t, 4)
	if first, others := tr.leastPromises(); first != firstStep || others != smallStep {
		t.Errorf("short evaluations: %v and %v", first, others)
	}
	tr.d = &gp.Table{X: tr.d.X, Y: tr.d.Y}
	tr.d.X.Rows = screenMany
	for _, spent := range []bool{true, false} {
		tr.spent = spent
		if tr.nearEnd() != spent {
			t.Errorf("a large table, spent %v: near the end %v", spent, tr.nearEnd())
		}
	}
	if tr.opt.Probes != cost.FewProbes {
		t.Error("not the usual probes")
	}
}

// A relocated step that was long is compared with at half of what a stage is worth, 20 nats, others at four.
func TestComparable(t *testing.T) {
	for passes, eps := range map[int]float64{9: 10, 4: 4} {
		_, tr := askedTrainer(t, passes)
		for _, c := range []float64{0.9, 1.1} {
			tr.Cur.eps = c * eps
			if tr.stale() != (c > 1) {
				t.Errorf("%d passes, bounds %v apart: stale %v", passes, tr.Cur.eps, tr.stale())
			}
		}
	}
}

package train

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// A lossy estimator has no likelihood below some noise.
type lossy struct {
	evidence.Estimator
	least float64
}

func (l lossy) Evaluate(ctx context.Context, p gp.Params, opt evidence.Options) (*evidence.Value, error) {
	if p.Noise < l.least {
		return nil, evidence.ErrPrecision
	}
	return l.Estimator.Evaluate(ctx, p, opt)
}

// lossySearch is one of rows of a sine, whose likelihood is lost below that noise.
func lossySearch(t *testing.T, least float64) *Search {
	t.Helper()
	rng := rand.New(rand.NewPCG(8, 9))
	f := searchOf(t, filled(120, 1, func(_ int, x []float64) float64 {
		x[0] = rng.NormFloat64()
		return math.Sin(3*x[0]) + 0.001*rng.NormFloat64()
	}), true)
	whole := f.Config.New
	f.Config.New = func(d *gp.Table, p gp.Params) (evidence.Estimator, error) {
		obj, err := whole(d, p)
		return lossy{obj, least}, err
	}
	return f
}

// trainerOf is the trainer of all rows at p.
func trainerOf(t *testing.T, f *Search, p gp.Params) *Trainer {
	t.Helper()
	obj, err := f.Config.New(f.Std, p)
	if err != nil {
		t.Fatal(err)
	}
	tr := f.trainer(obj, f.Std, "train")
	tr.constant, tr.stageSteps, tr.maxEvals = f.Flat, StageStepsOf(f.Config.Method), f.Config.MaxSteps
	return tr
}

// A start without a likelihood is begun from with more noise, and comes as near to it as rounding lets it; one that was
// asked for is an error.
func TestClimbFromMoreNoise(t *testing.T) {
	const least = 3e-5
	start := startAt(1e-8, 0.5)
	f := lossySearch(t, least)
	f.Starts = []Candidate{{From: "all ones", By: "subset", Parameters: start}}
	tr := trainerOf(t, f, start)
	why, err := f.climbFrom(t.Context(), tr, start)
	if err != nil || tr.Cur.Ev == nil {
		t.Fatal(why, err)
	}
	if v := tr.Cur.P.Noise; v < least || v > 10*least {
		t.Errorf("noise %g", v)
	}
	if s := f.Starts; !strings.HasPrefix(s[0].Dropped, "no likelihood") || s[1].Dropped == "" || s[2].Dropped != "" ||
		math.Abs(s[2].Parameters.Noise-1e-4) > 1e-10 {
		t.Errorf("%+v", s)
	}
	f = lossySearch(t, least)
	f.Config.Start = &start
	if _, err := f.climbFrom(t.Context(), trainerOf(t, f, start), start); !evidence.NotFinite(err) {
		t.Errorf("a given start: %v", err)
	}
}

// The first of several starts is left where it has no likelihood, and kept where none has one.
func TestChooseWithoutLikelihood(t *testing.T) {
	f := lossySearch(t, 1e-5)
	all := []Candidate{{Parameters: startAt(1e-8, 0.5)}, {Parameters: startAt(1e-3, 0.5)}}
	starts := []*Candidate{&all[0], &all[1]}
	tr := trainerOf(t, f, all[0].Parameters)
	p, err := tr.choose(t.Context(), starts)
	if err != nil || p.Noise != 1e-3 || tr.Cur.Ev == nil || all[0].Dropped == "" || all[1].Dropped != "" {
		t.Errorf("%v %v: %+v", p, err, all)
	}
	all[0].Dropped, all[1] = "", Candidate{Parameters: startAt(1e-7, 0.5)}
	tr = trainerOf(t, f, all[0].Parameters)
	p, err = tr.choose(t.Context(), starts)
	if err != nil || p.Noise != 1e-8 || tr.Cur.Ev != nil || tr.fresh || all[0].Dropped != "" || all[1].Dropped == "" {
		t.Errorf("%v %v: %+v", p, err, all)
	}
}

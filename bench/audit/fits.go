package main

import (
	"context"
	"math"
	"os"
	"path/filepath"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/enum"
	law "bbgp.dev/bbgp/score"
)

// Fits from the table to the file: what a fit reports of the place where it ends is held against the truth there, and
// so are predictions by the model that was saved.

const fitSteps = 60

// fitOptions draws how to fit.
func (p *problem) fitOptions() bbgp.Options {
	o := p.options()
	o.NoDense, o.MaxSteps, o.Kernel = false, fitSteps, p.params.Kernel
	switch p.rng.IntN(8) {
	case 0:
		o.Method = []enum.Method{"sgpr", "cglb"}[p.rng.IntN(2)]
		o.Rank, o.Neighbours = 0, 0
	case 1:
		o.ScaleFloor = 1e-6
		o.NoScale = false
	case 2:
		o.Method, o.Rank, o.Neighbours = "", 0, 0 // as chosen
	}
	p.say("fitted by %q, scale floor %v", o.Method, o.ScaleFloor)
	return o
}

func holdFits(p *problem, t *tally) {
	ctx := context.Background()
	m, err := bbgp.Fit(ctx, p.data, p.fitOptions())
	if err != nil {
		t.refuse(p, "a fit", err)
		return
	}
	m, err = throughFile(m)
	if err != nil {
		t.fail("%s: %v", p.recipe(), err)
		return
	}
	p.params = m.Parameters
	if m.Result.ConstantTarget {
		return
	}
	truth, err := newTruth(p, m)
	if err != nil {
		t.fail("%s: %v", p.recipe(), err)
		return
	}
	p.fitted(t, truth, &m.Result)
	p.predictFitted(ctx, m, truth, t)
}

// throughFile returns m as it is loaded.
func throughFile(m *bbgp.Model) (*bbgp.Model, error) {
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "model.bbgp")
	if err := m.Save(file); err != nil {
		return nil, err
	}
	return bbgp.Load(file)
}

// fitted holds the likelihood that a fit reports.
func (p *problem) fitted(t *tally, truth *truth, r *bbgp.Result) {
	lml, lo, hi := truth.lml(), float64(r.Lower), float64(r.Upper)
	t.evaluations++
	if math.IsNaN(hi) { // of methods that have a lower bound alone
		hi = math.Inf(1)
	}
	if r.BoundKind == enum.BoundExact || math.IsInf(hi, 1) {
		t.within("likelihood of a fit", string(r.BoundKind), lo, lml, hi, false, p.recipe())
		return
	}
	t.interval("likelihood of a fit, 95 % interval", 0.94, r.Interval95, lml, p.recipe())
	t.interval("likelihood of a fit, 99.9 % interval", 0.997, r.Interval999, lml, p.recipe())
}

// predictFitted holds means and deviations, which are wider where rows are few.
func (p *problem) predictFitted(ctx context.Context, m *bbgp.Model, truth *truth, t *tally) {
	got, err := m.Predict(ctx, p.test, bbgp.PredictOptions{SD: true})
	if err != nil {
		t.refuse(p, "predictions of a fit", err)
		return
	}
	grow := 1.0
	if df := m.Result.DF; df > 0 {
		grow = law.Law{Mixed: float64(m.Result.N) / df, Tail: law.NewTail(df)}.SD()
	}
	kind := string(got.BoundKind)
	mean, variance := truth.posterior(p.test)
	for i, v := range variance {
		sd := grow * math.Sqrt(max(v, 0))
		wide := got.SDUpper[i]-got.SDLower[i] > askedSD*(got.SDUpper[i]+got.SDLower[i])*(1+1e-9)
		t.within("sd of a fit", kind, got.SDLower[i], sd, got.SDUpper[i], wide, p.recipe())
		t.within("mean of a fit", kind, got.MeanLower[i], mean[i], got.MeanUpper[i], false, p.recipe())
	}
}

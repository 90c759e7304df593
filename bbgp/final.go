package bbgp

import (
	"context"
	"fmt"
	"math"
	"time"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/lanczos"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/posterior"
	"bbgp.dev/internal/train"
)

// What follows the search: the likelihood that is reported, with P rebuilt and
// enough probes, and the weights of the mean, to full accuracy.

// complete fills m from the trainer's best point.
func (f *fit) complete(ctx context.Context, m *Model, t *train.Trainer) {
	began := time.Now()
	r := &m.Result
	ev, err := f.last(ctx, t, r.Stopped == enum.StoppedConverged)
	if err != nil && ctx.Err() == nil {
		r.warn("the last evaluation failed: %v; the bounds are those of the training", err)
	}
	t.Release() // its memory is for the posterior
	f.adopt(ctx, m, t.Cur.P, ev)
	r.unguide(f.opt.guide)
	f.judge(ctx, m)
	f.Count.Seconds["final"] += time.Since(began).Seconds()
	f.remarks(m)
	f.cost(r)
}

// last returns the likelihood that is reported of the trainer's best point; with an error or the
// end of ctx that of the training stands.
func (f *fit) last(ctx context.Context, t *train.Trainer, converged bool) (ev *evidence.Value, err error) {
	best := t.Cur
	ev = best.Ev
	switch {
	case f.opt.Method == enum.MethodBBGP && ev.BoundKind != "exact":
		if err = ctx.Err(); err == nil {
			if converged {
				f.LastStep(t)
			}
			ev, err = f.Last(ctx, t, f.weightsFor(t.Cur.P))
		}
	case f.opt.rounds(f.Raw.X.Rows):
		t.Release() // its matrices make room for those of this evaluation
		ev, err = f.unrounded(ctx, t.Cur.P)
	}
	if err == nil {
		return ev, nil
	}
	t.Cur, ev = best, best.Ev
	if f.opt.rounds(f.Raw.X.Rows) { // of a table that differs in its ninth digit
		rough := *ev
		rough.BoundKind = "probable"
		ev = &rough
	}
	return ev, err
}

// weightsFor is r'K̂⁻¹r at most for means to be off by no more than posterior.MeanTol, σ_f² times that squared,
// or 0 where a dense factor will solve for the weights.
func (f *fit) weightsFor(p Params) float64 {
	if f.opt.predictsDense(f.Whole.X.Rows) {
		return 0
	}
	return posterior.MeanTol * posterior.MeanTol / p.Variance
}

// predictsDense says whether a model of n rows predicts by a dense factor.
func (o *Options) predictsDense(n int) bool {
	return o.Method == enum.MethodExact || cost.AnswersDense(n, o.Memory) && !o.NoDense
}

// unrounded evaluates p densely on the rows as they are, where the search has seen rounded ones: at
// the end of ctx, too, as it takes no longer than what a fit of so few rows stops by.
func (f *fit) unrounded(ctx context.Context, p Params) (*evidence.Value, error) {
	dense, err := evidence.NewExact(f.opt.Engine, f.Whole, p)
	if err != nil {
		return nil, err
	}
	f.Count.Evals++
	return f.opt.complete(dense, f.Whole).Evaluate(context.WithoutCancel(ctx), p, evidence.Options{})
}

// adopt makes m the model with parameters p, whose likelihood is ev: with what ev
// tells, and with the weights of the mean as exact as they are asked for.
func (f *fit) adopt(ctx context.Context, m *Model, p Params, ev *evidence.Value) {
	r := &m.Result
	m.Parameters = p.Clone()
	r.Parameters = m.Parameters
	r.LML, r.StdErr, r.BoundKind = ev.LML, ev.StdErr, enum.BoundKind(ev.BoundKind)
	r.Lower, r.Upper = evidence.Ordered(ev)
	r.Interval95, r.Interval999 = ev.Interval(0.95), ev.Interval(0.999)
	r.Precision, r.PrecisionReason = enum.Precision(ev.Precision), ev.PrecisionReason
	r.Rank, r.Neighbours, r.Latents, r.Probes, r.Reason = ev.Rank, ev.Neighbours, ev.Latents, ev.Probes, ev.Reason
	r.Product, r.Tolerance, r.ProductDoubt = enum.Product(lanczos.ProductName(ev)), ev.Tolerance, ev.ProductDoubt
	size := cost.Size{Rank: r.Rank, Neighbours: r.Neighbours, Latents: r.Latents} // of the last P
	r.PredictedBytes = max(r.PredictedBytes, f.opt.budget().PeakBytes(r.Distinct, r.N, r.D, size))
	if r.Probes > f.opt.Probes {
		r.ProbesReason += fmt.Sprintf("; at the end at least %d, and what the standard error asked for takes",
			cost.MinLastProbes)
	}
	if ev.Replayed > 0 {
		r.warn("two-pass mode: %d passes were made twice, the basis did not fit the memory budget", ev.Replayed)
	}
	w := posterior.Weights{Alpha: ev.Alpha, MeanError: math.Inf(1)}
	switch {
	case ev.BoundKind == "exact":
		w.MeanError = 0
	case ev.AlphaRest > 0:
		w.MeanError, w.Left = math.Sqrt(p.Variance*ev.AlphaRest), ev.AlphaLeft
	}
	m.post = f.posterior(m.Parameters, specOf(f.opt, ev), w)
	if w.MeanError == 0 || ctx.Err() != nil {
		return
	}
	var err error
	if math.IsInf(w.MeanError, 1) {
		err = m.post.Refine(ctx, f.opt.Engine, posterior.MeanTol)
	}
	if err == nil {
		err = m.post.Rescue(ctx, f.opt.Engine)
	}
	if ctx.Err() != nil {
		return
	}
	off := m.post.Weights().MeanError
	seen := off
	if err == nil && off > posterior.MeanTol {
		seen, err = m.post.MeansSeen(ctx, f.opt.Engine)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		r.warn("the weights of the mean: %v", err)
	case seen > posterior.MeanTol:
		r.warn("rounding leaves a residual of the weights by which a mean may be off by up to %.2g standard "+
			"deviations of the target (%.2g seen), where %.2g was asked for: "+
			"predict --sd --bounds tells how far each row can be off", off, seen, posterior.MeanTol)
	}
}

// specOf says how a model whose last evaluation was ev predicts.
func specOf(opt *Options, ev *evidence.Value) posterior.PrecondSpec {
	s := posterior.PrecondSpec{Dense: opt.predictsDense(len(ev.Alpha)), Rank: ev.Rank,
		Neighbours: ev.Neighbours, Latents: ev.Latents, Seed: opt.Seed, Node: ev.Node}
	if opt.Method != enum.MethodExact && opt.Method != enum.MethodBBGP { // their ranks mean something else
		s.Rank, s.Neighbours, s.Latents, s.Node = -1, -1, 0, 0
	}
	return s
}

// remarks adds the warnings that a fitted model calls for.
func (f *fit) remarks(m *Model) {
	r, p := &m.Result, m.Parameters
	for j, l := range p.Lengthscales {
		if math.IsInf(l, 1) && !f.Flat[j] {
			r.Irrelevant = append(r.Irrelevant, m.Names[j])
		}
	}
	if r.NoStructure {
		return
	}
	r.remarkGuide(f.opt.guide)
	if len(r.Irrelevant) > 0 {
		r.warn("%d of %d inputs were found irrelevant: %v", len(r.Irrelevant), m.D(), r.Irrelevant)
	}
	if len(r.Irrelevant)+len(r.Constant) == m.D() {
		r.warn("no structure found: no input explains the target")
	}
	if p.Noise*f.unit <= 1.01*gp.MinParam {
		r.warn("the noise is at its floor, %g of the target's variance: the data look noise-free", gp.MinParam)
	}
	if !f.opt.NoScale {
		r.rival()
	}
	if r.Stopped == enum.StoppedMaxSteps {
		r.warn("training ended after %d evaluations, before it converged", f.opt.MaxSteps)
	}
}

// rivalNats: a maximum that is lower by no more is a rival.
const rivalNats = 3

// rival warns of a maximum that the data hardly tell from the one that is taken. Lengths
// of several standard deviations and noise that does not count make no other model.
func (r *Result) rival() {
	for _, c := range r.Starts {
		behind := r.LML - float64(c.LML)
		if !c.Ended || c.Dropped == "" || c.Bounded || !(behind < rivalNats) ||
			!train.Elsewhere(c.Parameters, r.Parameters) {
			continue
		}
		r.warn("another maximum is only %.2g nats lower, with noise variance %.3g for %.3g and lengthscales %.3g "+
			"for %.3g (standardised): the data hardly tell the two apart; see \"starts\", and docs/MAXIMUM.md",
			behind, c.Parameters.Noise, r.Parameters.Noise, c.Parameters.Lengthscales, r.Parameters.Lengthscales)
		return
	}
}

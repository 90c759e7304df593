package bbgp

import (
	"context"
	"fmt"
	"math"
	"time"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/lanczos"
	"bbgp.dev/internal/gp"
)

// What follows the search: the likelihood that is reported, with P rebuilt and
// enough probes, and the weights of the mean, to full accuracy.

// complete fills m from the trainer's best point.
func (f *fit) complete(ctx context.Context, m *Model, t *trainer) {
	began := time.Now()
	best := t.cur
	r := &m.Result
	ev := best.ev
	if ctx.Err() == nil && f.opt.Method == "bbgp" && ev.BoundKind != "exact" {
		t.phase, t.stage = "final", t.stage+1
		last, err := f.last(ctx, t, best)
		switch {
		case err == nil:
			ev = last
			t.report(point{p: best.p, z: best.z, ev: ev}, true)
		case ctx.Err() == nil:
			r.warn("the last evaluation failed: %v; the bounds are those of the training", err)
		}
	}
	f.adopt(ctx, m, best.p, ev)
	r.unguide(f.opt.guide)
	f.judge(m)
	f.count.seconds["final"] += time.Since(began).Seconds()
	f.remarks(m)
	f.cost(r)
}

// adopt makes m the model with parameters p, whose likelihood is ev: with what ev
// tells, and with the weights of the mean as exact as they are asked for.
func (f *fit) adopt(ctx context.Context, m *Model, p Params, ev *evidence.Value) {
	r := &m.Result
	m.Parameters = p.Clone()
	r.Parameters = m.Parameters
	r.LML, r.StdErr, r.BoundKind = ev.LML, ev.StdErr, ev.BoundKind
	r.Lower, r.Upper = evidence.Ordered(ev)
	r.Interval95, r.Interval999 = ev.Interval(0.95), ev.Interval(0.999)
	r.Precision, r.PrecisionReason, r.Rank, r.Neighbours, r.Probes, r.Reason = ev.Precision, ev.PrecisionReason, ev.Rank, ev.Neighbours, ev.Probes, ev.Reason
	r.Product, r.Tolerance, r.ProductDoubt = lanczos.ProductName(ev), ev.Tolerance, ev.ProductDoubt
	if r.Probes > f.opt.Probes {
		r.ProbesReason += fmt.Sprintf("; at the end at least %d, and what the standard error asked for takes", cost.MinLastProbes)
	}
	if ev.Replayed > 0 {
		r.warn("two-pass mode: %d passes were made twice, the basis did not fit the memory budget", ev.Replayed)
	}
	m.weights = ev.Alpha
	m.meanError, m.recipe = math.Inf(1), recipeOf(f.opt, ev)
	if ev.BoundKind == "exact" {
		m.meanError = 0
	} else if ctx.Err() == nil {
		if err := m.refine(ctx, f.opt.Engine, meanTol); err != nil && ctx.Err() == nil {
			r.warn("the weights of the mean: %v", err)
		} else if m.meanError > meanTol && ctx.Err() == nil {
			r.warn("rounding leaves a residual of the weights by which a mean may be off by up to %.2g standard deviations of the target, where %.2g was asked for: "+
				"predict --sd --bounds tells how far each row can be off", m.meanError, meanTol)
		}
	}
}

// last evaluates the likelihood at the best point with a new P and enough
// probes for opt.LMLStdErr, in runs of at most ProbesAtOnce whose means are
// combined; the bounds of each run hold for its own probes, so do their means.
func (f *fit) last(ctx context.Context, t *trainer, best point) (*evidence.Value, error) {
	want := f.opt.LMLStdErr * float64(f.raw.X.Rows)
	opt := t.eval
	opt.Gradient, opt.Reject, opt.Eps = false, nil, f.opt.Eps
	opt.Probes = max(cost.MinLastProbes, f.opt.Probes)
	opt.Uses = 2
	best.ev.Note(&opt.Seen)
	var sum *evidence.Value
	square := 0.0 // Σ over runs of (probes · stderr)²
	for run, total := 0, 0; ; run++ {
		opt.Seed = f.opt.Seed + 1<<32 + uint64(run)
		ev, used, err := evidence.Escalate(ctx, t.obj, f.raw.X.Rows, best.p, opt)
		if err != nil {
			return nil, err
		}
		opt = used
		f.count.evals++
		f.count.passes += ev.Passes
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
		need := lastProbes(total, sum.StdErr, want) - total
		if need <= 0 {
			return sum, nil
		}
		opt.Probes = min(need, cost.ProbesAtOnce)
	}
}

// remarks adds the warnings that a fitted model calls for.
func (f *fit) remarks(m *Model) {
	r, p := &m.Result, m.Parameters
	for j, l := range p.Lengthscales {
		if math.IsInf(l, 1) && !f.flat[j] {
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
	if p.Noise <= 1.01*gp.MinParam {
		r.warn("the noise is at its floor, %g of the target's variance: the data look noise-free", gp.MinParam)
	}
	if !f.opt.NoScale {
		r.rival()
	}
	if r.Stopped == "max-steps" {
		r.warn("training ended after %d evaluations, before it converged", f.opt.MaxSteps)
	}
}

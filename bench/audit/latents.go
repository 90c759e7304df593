package main

import (
	"context"
	"errors"
	"math"
	"runtime"

	"bbgp.dev/bbgp"
	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/lanczos"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/posterior"
	"bbgp.dev/linalg"
)

// The preconditioner of latents, which the program takes for maps of many rows only: here it is asked for in tables
// that are small enough for a truth.

const (
	latentInputs = 2 // of a map, at most
	latentProbes = 7
	latentEps    = 1
)

// A latentCase is a problem as packages below bbgp see it.
type latentCase struct {
	*problem
	e       *linalg.Engine
	scaling gp.Scaling
	std     *gp.Table
	opt     evidence.Options
}

func holdLatents(p *problem, t *tally) {
	if p.data.X.Cols > latentInputs {
		return
	}
	c, err := newLatentCase(p)
	if err != nil {
		t.fail("%s: %v", p.recipe(), err)
		return
	}
	ctx := context.Background()
	got, err := c.evaluate(ctx, c.opt)
	var stagnation *evidence.StagnationError
	switch {
	case errors.Is(err, gp.ErrNotFinite) || errors.As(err, &stagnation):
		t.refused++
		return
	case err != nil:
		t.fail("%s: latents: %v", p.recipe(), err)
		return
	case got.Latents == 0: // K of the latents had no factor, which is allowed
		return
	}
	truth, err := newTruth(p, &bbgp.Model{Parameters: p.params, Scaling: c.scaling})
	if err != nil {
		t.fail("%s: %v", p.recipe(), err)
		return
	}
	lml := truth.lml()
	t.evaluations++
	t.interval("latents, 95 % interval", 0.94, got.Interval(0.95), lml, p.recipe())
	t.interval("latents, 99.9 % interval", 0.997, got.Interval(0.999), lml, p.recipe())
	c.bias(ctx, t, got)
	c.predict(ctx, t, truth, got)
}

func newLatentCase(p *problem) (*latentCase, error) {
	e, err := linalg.NewEngine(nil, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	c := &latentCase{problem: p, e: e, scaling: gp.Identity(p.data.X.Cols)}
	if !p.plain {
		c.scaling = gp.Standardise(p.data.X, p.data.Y, 0)
	}
	raw := (&gp.Table{X: p.data.X, Y: p.data.Y}).Merged()
	c.std = c.scaling.Apply(raw)
	share := cost.LatentRows[p.rng.IntN(len(cost.LatentRows))]
	p.say("a latent for %d rows", share)
	c.opt = evidence.Options{Request: cost.Request{Rank: -1, Neighbours: -1, Latents: 1 + c.std.X.Rows/share,
		Probes: latentProbes}, Eps: latentEps, Seed: uint64(p.number)}
	if p.rng.IntN(2) == 0 { // as in large maps
		c.opt.Product = "h2"
		p.say("products h2")
	}
	return c, nil
}

// evaluate makes P and evaluates the likelihood; what does not close is not tried in another way.
func (c *latentCase) evaluate(ctx context.Context, opt evidence.Options) (*evidence.Value, error) {
	bare, err := lanczos.New(c.e, c.std, c.params)
	if err != nil {
		return nil, err
	}
	var obj evidence.Estimator = bare
	if c.std.Repeats != nil {
		obj = evidence.WithReplicates{Estimator: obj, D: c.std}
	}
	if err := obj.Rebuild(ctx, c.params, opt); err != nil {
		return nil, err
	}
	return obj.Evaluate(ctx, c.params, opt)
}

// bias holds the bounds of the bias against a tight evaluation in float64 with the same P and probes.
func (c *latentCase) bias(ctx context.Context, t *tally, got *evidence.Value) {
	opt := c.opt
	opt.Eps, opt.Precision = tightEps, "f64"
	tight, err := c.evaluate(ctx, opt)
	if err != nil || tight.Latents != got.Latents {
		return
	}
	at := min(max(tight.LML, got.Lower), got.Upper)
	at = min(max(at, tight.Lower), tight.Upper)
	t.within("latents, bias, "+got.Precision+", "+got.Product, got.BoundKind, got.Lower, at, got.Upper,
		got.Upper-got.Lower > 2.1*latentEps, c.recipe())
}

// predict holds means and deviations, in standardised units.
func (c *latentCase) predict(ctx context.Context, t *tally, truth *truth, ev *evidence.Value) {
	spec := posterior.PrecondSpec{Latents: ev.Latents, Seed: c.opt.Seed, Node: ev.Node}
	post := posterior.New(c.std, c.params, spec, nil, posterior.Weights{Alpha: ev.Alpha, MeanError: math.Inf(1)})
	err := post.Refine(ctx, c.e, posterior.MeanTol)
	var got *posterior.Prediction
	if err == nil {
		xs := linalg.NewMatrix(c.test.Rows, c.test.Cols)
		c.scaling.XTo(xs, c.test)
		got, err = post.Predict(ctx, c.e, xs, posterior.Options{SD: true, SDTol: askedSD, MeanTol: posterior.MeanTol})
	}
	if err != nil {
		t.refuse(c.problem, "latents, predictions", err)
		return
	}
	mean, variance := truth.posterior(c.test)
	for i, v := range variance {
		sd, s := math.Sqrt(max(v, 0)), c.scaling.YScale
		lo, hi := s*math.Sqrt(got.Lo[i]), s*math.Sqrt(got.Hi[i])
		t.within("latents, sd", got.Kind, lo, sd, hi, hi-lo > askedSD*(hi+lo)*(1+1e-9), c.recipe())
		at, off := c.scaling.YMean+s*(got.Mean[i]+got.Shift[i]), s*got.Width[i]
		t.within("latents, mean", got.Kind, at-off, mean[i], at+off, off > sd/10, c.recipe())
	}
}

package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// The fits of random subsets, which find what a smooth and noisy function needs.

// usualStarts are their names.
var usualStarts = []string{"all ones", "smooth"}

// subsetStarts are the starts of the pre-fit: all ones, and a smoother function
// with less noise.
func subsetStarts(kernel string, d int) []gp.Params {
	ones, smooth := gp.DefaultParams(kernel, d), gp.DefaultParams(kernel, d)
	smooth.Noise = 0.1
	for j := range smooth.Lengthscales {
		smooth.Lengthscales[j] = 2 * math.Sqrt(float64(d))
	}
	return []gp.Params{ones, smooth}
}

const (
	prefitEvals      = 40   // of a subset, from each start
	denseFinishEvals = 15   // dense ones, after those by products
	denseFinishWorth = 0.3  // times eps is a gain worth a stage there
	prefitSlack      = 2    // times eps is a gain worth a stage on a subset
	resetNoise       = 0.01 // least noise to start on more rows with
	clearLML         = 1    // nats a row, where the standard deviation of y is 1: the others leave a tenth of it
)

// prefit returns where the fits of random subsets of growing size have led: the first
// one from several starts, each further one from where the last ended. A small
// subset can drive the noise to its floor, from where a search on more rows does
// not come back: the noise is set to at least 0.01. If
// the floor is right nevertheless, that shows in the likelihood: both are tried.
func (f *Search) prefit(ctx context.Context) ([]Candidate, error) {
	n := f.Raw.X.Rows
	rows := min(f.Config.PrefitRows, n/2)
	for rows > 50 && !f.denseFits(rows) {
		rows /= 2
	}
	if rows < 50 {
		return []Candidate{{From: "all ones", By: "none", Parameters: gp.DefaultParams(f.Config.Kernel,
			f.Raw.X.Cols), LML: unasked}}, nil
	}
	before := *f.Count
	defer func() { // evaluations are counted on all rows only
		f.Count.Evals, f.Count.Passes = before.Evals, before.Passes
	}()
	c := Candidate{From: "all ones", By: "subset", Parameters: gp.DefaultParams(f.Config.Kernel, f.Raw.X.Cols),
		Value: evidence.Bound(math.Inf(-1)), Rows: rows, LML: unasked}
	fits, err := f.subsetFits(ctx, rows, subsetStarts(f.Config.Kernel, f.Raw.X.Cols))
	if err != nil {
		return nil, err
	}
	for i, end := range fits {
		if !end.Failed && end.LML > float64(c.Value) {
			c.From, c.Parameters, c.Value = usualStarts[i], end.P, evidence.Bound(end.LML)
		}
	}
	starts := noiseStarts(c.Parameters)
	if f.Config.searchesCoarsely(n, f.Raw.X.Cols) {
		// Climbs of the Vecchia likelihood go on from here, but few neighbours see little of a
		// function without noise: one more level tells whether it is such a one.
		n = min(n, cost.LevelGrowth*cost.LevelGrowth*rows)
		if len(starts) == 1 || !c.clear() {
			n = 0
		}
	}
	if starts, err = f.levels(ctx, &c, starts, n); err != nil {
		return nil, err
	}
	c.Evaluations = f.Count.Evals - before.Evals
	var out []Candidate
	for i := range starts {
		c.Parameters = starts[i]
		out = append(out, c)
		if i == 0 && len(starts) > 1 {
			out[0].From += fmt.Sprintf(", noise raised to %g", resetNoise)
		}
	}
	return out, nil
}

// levels goes on from starts to more random rows than c has seen, up to a part of n, and returns where
// that has led to.
func (f *Search) levels(ctx context.Context, c *Candidate, starts []gp.Params, n int) ([]gp.Params, error) {
	for rows := cost.LevelGrowth * c.Rows; rows <= n/cost.LevelGrowth; rows *= cost.LevelGrowth {
		end, err := f.climb(ctx, rows, starts)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			starts = []gp.Params{end.P}
			c.Value, c.Rows = evidence.Bound(end.Ev.LML), rows
		}
	}
	return starts, nil
}

// hasLevel says whether the table has more random rows for c, which a fit of some has made.
func (f *Search) hasLevel(c *Candidate) bool {
	return c.By == "subset" && cost.LevelGrowth*cost.LevelGrowth*c.Rows <= f.Std.X.Rows
}

// clear says whether the fit of a subset leaves little of y open.
func (c *Candidate) clear() bool {
	return c.By == "subset" && float64(c.Value) > clearLML*float64(c.Rows)
}

// noiseless says whether random rows have told enough: the fit of more than the first
// ones took the noise from above it to its floor, and leaves little of y open, or near rows leave more open.
// Where a subset missed a part of the function, that part would be noise to it.
func (f *Search) noiseless(c *Candidate) bool {
	return (c.clear() || f.blind) && c.Rows > f.Config.PrefitRows && c.Parameters.Noise <= lookFloor*gp.MinParam
}

// wonNoiseless says so of the candidate that won: few neighbours have nothing to say there.
func (f *Search) wonNoiseless() bool {
	won := Live(f.Starts)
	return len(won) == 1 && f.noiseless(won[0])
}

// unasked stands for a likelihood that was not evaluated.
var unasked = evidence.Bound(math.NaN())

// denseFits says whether an exact fit takes a quarter of the budget at most.
func (f *Search) denseFits(rows int) bool {
	return f.Config.Budget.HasRoom(4 * cost.ExactBytes(rows))
}

// noiseStarts returns p and, where its noise is small, p with more of it.
func noiseStarts(p gp.Params) []gp.Params {
	if p.Noise >= resetNoise {
		return []gp.Params{p}
	}
	q := p.Clone()
	q.Noise = resetNoise
	return []gp.Params{q, p}
}

// climb fits so many random rows from the best of starts.
func (f *Search) climb(ctx context.Context, rows int, starts []gp.Params) (Iterate, error) {
	sub := f.Std
	if rows < f.Std.X.Rows {
		sub = f.Std.Rows(gp.Subset(f.Std.X.Rows, rows, f.Config.Seed+1))
	}
	obj, err := f.levelObjective(sub, starts[0])
	if err != nil {
		return Iterate{}, err
	}
	t := f.trainer(f.Config.Wrap(obj, sub), sub, "prefit")
	t.constant = slices.Clone(f.Flat)
	for _, j := range gp.ConstantColumns(sub.X) {
		t.constant[j] = true
	}
	t.stageSteps, t.maxEvals = 5, f.Count.Evals+prefitEvals
	t.eps *= prefitSlack
	if t.rough = rows > f.Config.PrefitRows; t.rough {
		t.eps = max(t.eps, float64(f.Raw.X.Cols+3)/2)
	}
	var from []*Candidate
	for _, p := range starts {
		from = append(from, &Candidate{Parameters: p})
	}
	start, err := t.choose(ctx, from)
	if err == nil {
		_, err = t.run(ctx, start)
	}
	if err != nil {
		return Iterate{}, err
	}
	t.Cur.Ev.Learn(&f.Seen, t.Cur.P)
	for j, still := range t.constant {
		if still && !f.Flat[j] {
			t.Cur.P.Lengthscales[j] = 1 // unasked to the subset
		}
	}
	return t.Cur, nil
}

// levelObjective returns the objective for a subset.
func (f *Search) levelObjective(sub *gp.Table, p gp.Params) (evidence.Estimator, error) {
	if f.levelIsDense(sub.X.Rows) {
		return evidence.NewExact(f.Config.Engine, sub, p)
	}
	return f.Config.ByProducts(sub, p)
}

package train

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
)

// Between the search and the comparison on all rows: the Vecchia likelihood with more
// neighbours than the search has, on a sample of its terms. Its differences between
// candidates have a standard error over the terms, and what is behind beyond doubt need not
// cost an evaluation of all rows. It sees what candidates of random rows miss, and what
// few neighbours have made of a smooth function with much noise.

const (
	screenTerms = 1500
	screenNear  = 64
	screenDoubt = 3   // standard errors that a candidate may be behind
	screenSlack = 5   // nats besides
	screenNoise = 10  // times less noise than the best has is too little
	screenKeep  = 3   // places that are compared by all rows at most
	screenBlind = 0.1 // nats a row that the second half of the neighbours tells

	// Where a fit of random rows costs hardly anything beside an evaluation of all, it leads from so many nats that the
	// second half of the neighbours tells of all rows, unless it is behind by more than so often that by neighbours.
	screenMany   = 50000
	screenOpen   = 500
	screenBehind = 3
)

// A comparer has the Vecchia likelihood of a sample of the rows.
type comparer struct {
	f     *Search
	op    *kernelmv.Op
	like  *kernelmv.Vecchia
	resid []float64
	share []float64
}

func newComparer(f *Search) (*comparer, error) {
	p, n := gp.DefaultParams(f.Config.Kernel, f.Std.X.Cols), f.Std.X.Rows
	op, err := kernelmv.NewOp(f.Config.Engine, f.Std.X, gp.KernelOf(p), gp.NoiseOf(p, f.Std))
	if err != nil {
		return nil, err
	}
	op.SetTilesOnly(true)
	return &comparer{f: f, op: op, like: op.NewVecchia(screenTerms, f.Config.Seed+5), resid: make([]float64, n),
		share: make([]float64, n)}, nil
}

// at returns the likelihood at p as the sum of parts, each of a few terms, but for what
// repeated rows tell about their means, which is the last part.
func (c *comparer) at(ctx context.Context, p gp.Params, neighbours int) ([]float64, error) {
	d := c.f.Std
	if err := c.op.Reset(gp.KernelOf(p), gp.NoiseOf(p, d)); err != nil {
		return nil, err
	}
	near, err := c.like.Find(ctx, neighbours)
	if err != nil {
		return nil, err
	}
	for i, y := range d.Y {
		c.resid[i], c.share[i] = y-p.Mean, p.Noise*d.ScaleOf(i)
	}
	score, err := c.like.Evaluate(ctx, near, c.resid, c.share)
	if err != nil {
		return nil, err
	}
	within, _, _ := d.WithinGroups(p.Noise)
	return append(slices.Clone(score.Parts), within), nil
}

// lead is how far a is ahead of b, with its standard error over the terms.
func lead(a, b []float64) (nats, se float64) {
	n := float64(len(a) - 1)
	for i := range a {
		nats += a[i] - b[i]
	}
	mean := (nats - a[len(a)-1] + b[len(b)-1]) / n
	for i := range a[:len(a)-1] {
		d := a[i] - b[i] - mean
		se += d * d
	}
	return nats, math.Sqrt(se * n / max(n-1, 1))
}

// A screened candidate has its likelihood by neighbours.
type screened struct {
	*Candidate
	parts []float64
	value float64
}

// valued returns the candidates that have a likelihood by neighbours, the best first.
func (c *comparer) valued(ctx context.Context, all []*Candidate) ([]screened, error) {
	var list []screened
	for _, o := range all {
		parts, err := c.at(ctx, o.Parameters, screenNear)
		if err != nil {
			return nil, err
		}
		if s := (screened{o, parts, sum(parts)}); gp.Finite(s.value) {
			list = append(list, s)
		} else {
			o.Dropped = "no value by neighbours: rounding"
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: no candidate of the search has a likelihood by neighbours", gp.ErrNotFinite)
	}
	slices.SortStableFunc(list, func(a, b screened) int { return cmp.Compare(b.value, a.value) })
	return list, nil
}

// leavesOpen says whether so many nats of all n rows, told at p by the second half of the neighbours, let random rows
// lead, and whether neighbours are blind. Random rows of maps do not lead: near ones tell all, and an evaluation of all
// rows costs little.
func leavesOpen(n int, open float64, p gp.Params) (lead, blind bool) {
	used, _ := inUse(p)
	blind = open > screenBlind*float64(n)
	return blind || n >= screenMany && open > screenOpen && !cost.IsMap(n, used), blind
}

// randomLead is byRandomRows, and nil where neighbours are not blind and see its end, by likelihoods of which the best
// is value, too far behind: random rows have lost what near ones tell.
func (f *Search) randomLead(ctx context.Context, c *comparer, all []Candidate, value, open float64) ([]*Candidate,
	error) {
	before := slices.Clone(all)
	lead, err := f.byRandomRows(ctx, open)
	if err != nil || f.blind {
		return lead, err
	}
	parts, err := c.at(ctx, lead[0].Parameters, screenNear)
	if err != nil || value-sum(parts) <= screenBehind*open {
		return lead, err
	}
	before[0].Evaluations = all[0].Evaluations
	copy(all, before)
	return nil, nil
}

// screen drops candidates that are behind beyond doubt and returns the others, the best
// first. Candidates at one place that differ in the noise stay together: few neighbours do
// not know how much of it there is, but for rough functions of few inputs.
func (f *Search) screen(ctx context.Context, all []Candidate) ([]*Candidate, error) {
	out := Live(all)
	if len(out) < 2 {
		return out, nil
	}
	c, err := newComparer(f)
	if err != nil {
		return nil, err
	}
	list, err := c.valued(ctx, out)
	if err != nil {
		return nil, err
	}
	fewer, err := c.at(ctx, list[0].Parameters, screenNear/2)
	if err != nil {
		return nil, err
	}
	open := list[0].value - sum(fewer)
	if random, blind := leavesOpen(f.Std.X.Rows, open, list[0].Parameters); random && f.hasLevel(&all[0]) {
		f.blind = blind
		if lead, err := f.randomLead(ctx, c, all, list[0].value, open); err != nil || lead != nil {
			return lead, err
		}
	}
	var places []gp.Params
	out = nil
	for i, s := range list {
		behind, se := lead(list[0].parts, s.parts)
		equal := func(o screened) bool {
			near := o.By == s.By && o.value-s.value < screenSlack || alike(o.Parameters, s.Parameters)
			return o.Dropped == "" && near
		}
		differs := func(p gp.Params) bool { return differsInNoise(s.Parameters, p) }
		switch k := slices.IndexFunc(list[:i], equal); {
		case slices.ContainsFunc(places, differs) && !(tellsNoise(s.Parameters) && beyond(behind, se)):
		case screenNoise*s.Parameters.Noise < list[0].Parameters.Noise:
			// Few neighbours err towards too little noise.
			s.Dropped = fmt.Sprintf(
				"by %d neighbours: %.4g ± %.2g nats behind one with more noise", screenNear, behind, se)
		case k >= 0:
			s.Dropped = fmt.Sprintf("by %d neighbours: as good as that from %s", screenNear, list[k].From)
		case beyond(behind, se):
			s.Dropped = fmt.Sprintf("by %d neighbours: %.4g ± %.2g nats behind", screenNear, behind, se)
		case len(places) == screenKeep:
			s.Dropped = fmt.Sprintf(
				"by %d neighbours: %.4g ± %.2g nats behind, as the fourth place", screenNear, behind, se)
		default:
			places = append(places, s.Parameters)
		}
		if s.Dropped == "" {
			out = append(out, s.Candidate)
		}
	}
	return out, nil
}

// beyond says whether what is so many nats behind is so beyond doubt.
func beyond(behind, se float64) bool { return behind > screenDoubt*se+screenSlack }

// tellsNoise says whether near rows tell how much noise there is: in few inputs many of them
// lie where a rough function has hardly changed.
func tellsNoise(p gp.Params) bool {
	used, _ := inUse(p)
	return used <= kernelmv.MapInputs && (p.Kernel == "matern12" || p.Kernel == "matern32")
}

// alike says whether p and q are in one basin by all that they tell.
func alike(p, q gp.Params) bool {
	return max(p.Noise, q.Noise) <= rivalNoise*min(p.Noise, q.Noise) && !Elsewhere(p, q)
}

// differsInNoise says whether p and q are one place but for the noise.
func differsInNoise(p, q gp.Params) bool {
	return p.Variance == q.Variance && slices.Equal(p.Lengthscales, q.Lengthscales)
}

func sum(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

package train

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// The search of few rows: dense evaluations of all of them from many starts. All
// climb a few steps, the better part goes on, and so on; the last few converge.

const (
	// A search spends about so much on its evaluations, in evaluations of so many rows.
	denseBudget = 400
	denseUnit   = 150
	mostDense   = 900 // evaluations of a search of very few rows
	leastDense  = 90
	startShare  = 14 // evaluations a start
	mostStarts  = 40
	finalists   = 3
	denseSteps  = 80   // to the end
	sameNats    = 0.02 // two candidates are at one place if they differ by less,
	samePlace   = 0.05 // and no logarithm that matters by more
)

// DenseEvaluations is how many evaluations a search of n rows of d inputs may take.
func (o *Config) DenseEvaluations(n, d int) int {
	c := cost.OrStandard(o.Costs)
	unit := cost.ExactCost(denseUnit, d, c)
	return int(min(max(denseBudget*unit/(cost.ExactCost(n, d, c)+unit/8), leastDense), mostDense))
}

// denseSearch returns candidates, the best first; with an error, such as that of ctx, how far it has come.
func (f *Search) denseSearch(ctx context.Context) ([]Candidate, error) {
	n := f.Std.X.Rows
	at, err := f.denseSurface(f.Std)
	if err != nil {
		return nil, err
	}
	evals := f.Config.DenseEvaluations(n, f.Std.X.Cols)
	count := min(max(evals/startShare, 8), mostStarts)
	if f.Config.Restarts > 0 {
		count = max(f.Config.Restarts, 2)
	}
	began := f.Count.Evals
	e := f.Config.Engine
	var climbers []*climber
	for _, s := range designStarts(f.Config.Kernel, f.Std, f.Flat, count, f.Config.Seed) {
		climbers = append(climbers, newClimber(e.Alone(), s.from, at, s.p, f.Flat, n))
	}
	err = share(ctx, e, climbers, func(ctx context.Context, c *climber) error {
		c.start(ctx)
		return nil
	})
	var all []Candidate
	if err == nil {
		all, err = halve(ctx, e, climbers)
	}
	if err == nil {
		all, err = f.denseLook(ctx, at, highest(climbers), all)
	}
	if err != nil {
		all = reached(climbers)
	}
	f.Count.Evals = began
	for _, c := range all {
		f.Count.Evals += c.Evaluations
	}
	return all, err
}

// reached is where the highest of climbers is that have not come to their ends, if anywhere.
func reached(all []*climber) []Candidate {
	best := highest(all)
	if math.IsInf(best.value, -1) {
		return nil
	}
	return []Candidate{best.candidate()}
}

func highest(all []*climber) *climber {
	return slices.MaxFunc(all, func(a, b *climber) int { return cmp.Compare(a.value, b.value) })
}

// candidate is where c is.
func (c *climber) candidate() Candidate {
	return Candidate{From: c.from, By: "dense", Parameters: c.p, Value: evidence.Bound(c.value), Rows: c.limit,
		LML: evidence.Bound(c.value), Evaluations: c.evals}
}

// toEnd lets c climb on to its end.
func (c *climber) toEnd() {
	c.worth, c.done, c.fails, c.radius = endWorth, false, 0, max(c.radius, 0.1)
}

// halve lets all climbers climb, the better part of them farther, and the best few to
// their end. It returns candidates, the best first.
func halve(ctx context.Context, e *linalg.Engine, all []*climber) ([]Candidate, error) {
	dropped := make(map[*climber]string, len(all))
	live := slices.Clone(all)
	for round, steps := range []int{6, 8, 12, denseSteps} {
		keep := max(finalists, len(all)>>(round+1))
		for _, c := range live {
			if round == 3 && !math.IsInf(c.value, -1) {
				c.toEnd()
			}
		}
		err := share(ctx, e, live, func(ctx context.Context, c *climber) error { return c.climb(ctx, steps) })
		if err != nil {
			return nil, err
		}
		live = rank(live, dropped, fmt.Sprintf("after %d steps", steps))
		if round < 3 && len(live) > keep {
			for _, c := range live[keep:] {
				dropped[c] = fmt.Sprintf("after %d evaluations: %.4g nats behind", c.evals, live[0].value-c.value)
			}
			live = live[:keep]
		}
	}
	ended := make(map[*climber]bool)
	for _, c := range live {
		ended[c] = c.done
	}
	for _, c := range live[min(1, len(live)):] {
		dropped[c] = fmt.Sprintf("at its end: %.4g nats behind", live[0].value-c.value)
	}
	out := make([]Candidate, 0, len(all))
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b *climber) int { return cmp.Compare(b.value, a.value) })
	for _, c := range order {
		end := c.candidate()
		end.Ended, end.Dropped = ended[c], dropped[c]
		out = append(out, end)
	}
	return out, nil
}

// share lets climbers do something, each on one rank, and all of them know what has become of it, also where ctx ends.
func share(ctx context.Context, e *linalg.Engine, all []*climber,
	do func(ctx context.Context, c *climber) error) error {
	states, err := linalg.Tasks(ctx, e, len(all), func(ctx context.Context, i int) (climberState, error) {
		err := do(ctx, all[i])
		if ctx.Err() != nil {
			err = nil // told below
		}
		return all[i].state(), err
	})
	for i, s := range states {
		all[i].set(s)
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// rank sorts climbers, the best first, and takes out those that are where a better one is.
func rank(live []*climber, dropped map[*climber]string, when string) []*climber {
	slices.SortStableFunc(live, func(a, b *climber) int { return cmp.Compare(b.value, a.value) })
	var out []*climber
next:
	for _, c := range live {
		if math.IsInf(c.value, -1) {
			dropped[c] = "no value: rounding"
			continue
		}
		for _, b := range out {
			if c.near(b) {
				dropped[c] = when + ": where " + b.from + " has led, too"
				continue next
			}
		}
		out = append(out, c)
	}
	return out
}

// near says whether two climbers are at one place.
func (c *climber) near(b *climber) bool {
	if math.Abs(c.value-b.value) > sameNats {
		return false
	}
	for i := range c.z {
		if d := len(c.z) - 2; i < d && (c.fixed[i] || min(c.z[i], b.z[i]) > math.Log(100)) {
			continue // neither has an effect
		}
		if math.Abs(c.z[i]-b.z[i]) > samePlace {
			return false
		}
	}
	return true
}

// denseSurface returns the likelihood of d by dense evaluations of one rank.
func (f *Search) denseSurface(d *gp.Table) (surface, error) {
	obj, err := evidence.NewExact(f.Config.Engine.Alone(), d, gp.DefaultParams(f.Config.Kernel, d.X.Cols))
	if err != nil {
		return nil, err
	}
	obj.FreeMean = !f.Config.FixMean
	whole := f.Config.Complete(obj, d)
	return func(ctx context.Context, p gp.Params) (float64, []float64, float64, error) {
		ev, err := whole.Evaluate(ctx, p, evidence.Options{Gradient: true})
		if err != nil {
			return 0, nil, 0, err
		}
		return ev.LML, logGradient(ev.Gradient, p)[:len(p.Lengthscales)+2], obj.Mean, nil
	}, nil
}

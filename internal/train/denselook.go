package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/internal/gp"
)

// A look about from the best end of the climbs of few rows. Some ends leave no slope behind: inputs that have lost
// their influence; cells of rows whose levels are taken for noise (cells.go); inputs with lengthscales below the
// distance of their values, which make each level a table of its own, as a climb from short lengths does with levels
// and indicators; and, where hardly any noise is there, σ_f² and σ_n² that hold each other by the bound of their ratio.

const (
	denseTries  = 14  // evaluations after which a climb from elsewhere has to lead
	boundNear   = 0.3 // times the bound of σ_f²/σ_n² is at it
	apartLength = 0.5 // of the median distance of neighbouring values keeps them apart
)

// denseLook returns all, the ends of the climbs, with those from other places near that of best.
func (f *Search) denseLook(ctx context.Context, at surface, best *climber, all []Candidate) ([]Candidate, error) {
	looks := []func(*climber) (gp.Params, string){f.cellsApart, f.levelsJoined, f.levelsNear, f.inputsBack, f.atBound}
	for _, look := range looks {
		if math.IsInf(best.value, -1) {
			break
		}
		p, from := look(best)
		if from == "" {
			continue
		}
		c := newClimber(f.Config.Engine.Alone(), "the best end, "+from, at, p, f.Flat, best.limit)
		c.byRatio()
		c.start(ctx)
		err := c.climb(ctx, denseTries)
		if err == nil && c.value > best.value {
			c.toEnd()
			err = c.climb(ctx, denseSteps)
		}
		if err != nil {
			return all, err
		}
		end, ahead := c.candidate(), c.value-best.value
		switch {
		case ahead > sameNats:
			end.Ended, all[0].Dropped = c.done, fmt.Sprintf("at its end: %.4g nats behind", ahead)
			best, all = c, slices.Insert(all, 0, end)
		case !math.IsInf(c.value, -1):
			end.Dropped = fmt.Sprintf("after %d evaluations: %.4g nats behind", c.evals, -ahead)
			all = append(all, end)
		}
	}
	return all, nil
}

// inputsBack lets inputs without influence back in.
func (f *Search) inputsBack(c *climber) (p gp.Params, from string) {
	p, back := f.withBack(c.p, c.grad)
	if back > 0 {
		from = fmt.Sprintf("%d inputs let back", back)
	}
	return p, from
}

// levelsJoined makes inputs long that keep their values apart: as long as lets them tell the variance of y.
func (f *Search) levelsJoined(c *climber) (p gp.Params, from string) {
	far := math.Sqrt(max(1, c.p.Variance/varianceOf(f.Std.Y)))
	p, joined := f.lengthened(c.p, func(j int) float64 { return far * columnSD(f.Std, j) })
	if joined > 0 {
		from = fmt.Sprintf("%d short inputs made long", joined)
	}
	return p, from
}

// levelsNear makes them as long as the distance of values: some levels tell of their neighbours where others do not.
func (f *Search) levelsNear(c *climber) (p gp.Params, from string) {
	p, near := f.lengthened(c.p, func(j int) float64 { return stepOf(f.Std, j) })
	if near > 0 {
		from = fmt.Sprintf("%d short inputs as long as their steps", near)
	}
	return p, from
}

// lengthened returns p with other lengths of inputs that keep their values apart, and how many these are.
func (f *Search) lengthened(p gp.Params, to func(j int) float64) (gp.Params, int) {
	q, count := p.Clone(), 0
	for j, l := range p.Lengthscales {
		if !f.Flat[j] && l < apartLength*stepOf(f.Std, j) {
			q.Lengthscales[j] = to(j)
			count++
		}
	}
	return q, count
}

// atBound stays where σ_f²/σ_n² is as large as rounding lets it: by the ratio a climb goes on along that bound.
func (f *Search) atBound(c *climber) (p gp.Params, from string) {
	if c.p.Variance/c.p.Noise > boundNear*mostCondition/float64(c.limit) {
		from = "along the bound of rounding"
	}
	return c.p, from
}

// stepOf is the median distance of neighbouring values of column j.
func stepOf(d *gp.Table, j int) float64 {
	values := columnOf(d, j)
	slices.Sort(values)
	values = slices.Compact(values)
	for i := range len(values) - 1 {
		values[i] = values[i+1] - values[i]
	}
	values = values[:len(values)-1]
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}

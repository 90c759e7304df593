package train

import (
	"context"
	"fmt"
	"math"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/gp"
)

// A smooth function of many inputs without noise is told by all rows together: with n = 26800 and eight
// inputs 64 neighbours leave .26 nats a row to be told by another 64, and what they gain or lose between
// two places has the wrong sign. Then fits of random rows lead the search, as they see each row from all
// sides, and what the neighbours have found is one start of theirs. So they do on large tables where the neighbours
// leave less open, a fit of random rows being nothing beside an evaluation of all: of 100000 rows of a function of four
// inputs with noise .012 nats a row, and its best place by neighbours was 480 nats below that by 13500 random rows.

// byRandomRows goes on with random rows from the candidates, of which the fits of random rows come
// first, and drops what neighbours have found; open is what more of them tell, in nats.
func (f *Search) byRandomRows(ctx context.Context, open float64) ([]*Candidate, error) {
	before := *f.Count
	defer func() { f.Count.Evals, f.Count.Passes = before.Evals, before.Passes }()
	c := &f.Starts[0]
	var starts []gp.Params
	for _, o := range Live(f.Starts) {
		starts = append(starts, o.Parameters)
		if o != c {
			o.Dropped = fmt.Sprintf("by %d neighbours: half of them leave %.2g nats a row open, so random rows lead",
				screenNear, open/float64(f.Std.X.Rows))
		}
	}
	ends := []gp.Params{c.Parameters}
	for n := f.Std.X.Rows; cost.LevelGrowth*cost.LevelGrowth*c.Rows <= n; {
		rows := c.Rows
		next, err := f.levels(ctx, c, starts, cost.LevelGrowth*cost.LevelGrowth*rows)
		if err != nil {
			return nil, err
		}
		if c.Rows == rows {
			break // no fit
		}
		starts, ends = next, append(ends, next[0])
	}
	c.Parameters = ends[len(ends)-1].Clone()
	if len(ends) > 1 && f.blind { // else the noise ends the growth
		c.Parameters = continued(ends[len(ends)-2], c.Parameters, float64(f.Std.X.Rows)/float64(c.Rows))
		c.From += ", continued to all rows"
	}
	c.Evaluations += f.Count.Evals - before.Evals
	return []*Candidate{c}, nil
}

// mostContinued is the most that a logarithm is continued by.
const mostContinued = 3

// continued returns where lengthscales and variance lead that went from p to q when the rows grew by
// cost.LevelGrowth, as they grow by times more. The smoother a function is than the kernel, the longer
// are they with more rows. Lengthscales go the part of the way that the variance goes: what rows tell first is
// σ_f²/ℓ^(2ν), and the variance alone held back (kin40k, e^3.7 to e³) leaves half of that, 3000 nats below.
func continued(p, q gp.Params, times float64) gp.Params {
	out := q.Clone()
	share := math.Log(times) / math.Log(cost.LevelGrowth)
	if grown := share * math.Abs(math.Log(q.Variance/p.Variance)); grown > mostContinued {
		share *= mostContinued / grown
	}
	more := func(a, b float64) float64 {
		if math.IsInf(a, 1) || math.IsInf(b, 1) {
			return b
		}
		return b * math.Exp(min(max(share*math.Log(b/a), -mostContinued), mostContinued))
	}
	for j, l := range q.Lengthscales {
		out.Lengthscales[j] = more(p.Lengthscales[j], l)
	}
	out.Variance = more(p.Variance, q.Variance)
	return out
}

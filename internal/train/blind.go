package train

import (
	"context"
	"fmt"

	"bbgp.dev/internal/gp"
)

// A smooth function of many inputs without noise is told by all rows together: with n = 26800 and eight
// inputs 64 neighbours leave .26 nats a row to be told by another 64, and what they gain or lose between
// two places has the wrong sign. Then fits of random rows lead the search, as they see each row from all
// sides, and what the neighbours have found is one start of theirs.

// byRandomRows goes on with random rows from the candidates, of which the fits of random rows come
// first, and drops what neighbours have found; per is what more of them tell, in nats a row.
func (f *Search) byRandomRows(ctx context.Context, per float64) ([]*Candidate, error) {
	f.blind = true
	before := *f.Count
	defer func() { f.Count.Evals, f.Count.Passes = before.Evals, before.Passes }()
	c := &f.Starts[0]
	var starts []gp.Params
	for _, o := range Live(f.Starts) {
		starts = append(starts, o.Parameters)
		if o != c {
			o.Dropped = fmt.Sprintf("by %d neighbours: half of them leave %.2g nats a row open, so random rows lead",
				screenNear, per)
		}
	}
	ends, err := f.levels(ctx, c, starts, f.Std.X.Rows)
	if err != nil {
		return nil, err
	}
	c.Parameters = ends[0].Clone()
	c.Evaluations += f.Count.Evals - before.Evals
	return []*Candidate{c}, nil
}

package train

import (
	"context"
	"fmt"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// A search sees few rows, or near ones, and where the target is a function without noise it may lead to so little
// noise that the likelihood of all rows is lost in rounding, by whatever preconditioner. The training then begins
// with more noise, from where it comes down as far as rounding lets it.

// noisier is by how much the noise of such a start grows at a time.
const noisier = 100

// climbFrom climbs from start, with more noise than that where rounding leaves no likelihood there and nobody asked
// for that place.
func (f *Search) climbFrom(ctx context.Context, t *Trainer, start gp.Params) (string, error) {
	eval := t.eval
	for {
		why, err := f.ascend(ctx, t, start)
		if t.Cur.Ev != nil || f.Config.Start != nil || !evidence.NotFinite(err) || start.Noise >= varianceOf(f.Std.Y) {
			return why, err
		}
		if won := Live(f.Starts); len(won) > 0 {
			won[0].Dropped = lost(err)
		}
		start = start.Clone()
		start.Noise *= noisier
		f.Starts = append(f.Starts, Candidate{From: fmt.Sprintf("the best of these, noise raised to %.2g", start.Noise),
			By: "none", Parameters: start, LML: unasked})
		t.eval = eval // what did not help there need not be wanted here
	}
}

// lost says why a candidate without a likelihood is dropped.
func lost(err error) string { return "no likelihood of all rows: " + err.Error() }

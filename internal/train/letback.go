package train

import (
	"context"
	"fmt"
	"math"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// Inputs let back by dense evaluations. Where several inputs tell nearly the same, a training can
// take one of them out early and end some nats below the place that has it, from where no slope leads
// there; neighbours are too rough a judge of so few nats. So where dense evaluations cost little, one
// more training begins with all such inputs at a little influence, but for those that harm by their slope.

const (
	backShare = 0.1 // of the noise is what an input that is let back tells
	backHarm  = 3   // nats that it may cost there by its slope
	backTries = 8   // evaluations after which that training has to lead
	backEvals = 20  // further ones
	backWorth = 0.1 // times eps is a gain worth a stage
)

// letBack trains from t.Cur with inputs let back, and leaves t.Cur at the end of that if it is higher.
func (f *Search) letBack(ctx context.Context, t *Trainer) error {
	n := f.Raw.X.Rows
	if n > cost.DenseRows || !f.denseFits(n) || !f.Config.looksAbout(n, f.Raw.X.Cols) ||
		len(f.gone(t.Cur.P)) == 0 || f.Count.Evals+backTries >= t.maxEvals {
		return nil
	}
	next, err := f.denseTrainer(t, backWorth, backTries)
	if err != nil {
		return err
	}
	end, err := next.evaluate(ctx, t.far(t.Cur.P, next.out), math.Inf(-1))
	if err != nil {
		return unlessRounding(err)
	}
	p, back := f.withBack(t.Cur.P, end.g)
	if back == 0 {
		return nil
	}
	before := f.Count.Evals
	_, err = next.run(ctx, p)
	if err == nil && next.Cur.Ev.LML > end.Ev.LML {
		next.maxEvals = min(f.Count.Evals+backEvals, t.maxEvals)
		next.measured = nil // a run begins without a metric
		_, err = next.run(ctx, next.Cur.P)
	}
	if next.Cur.Ev == nil {
		return unlessRounding(err)
	}
	f.Starts = append(f.Starts, Candidate{From: fmt.Sprintf("the end of the training, %d inputs let back", back),
		By: "check", Rows: n, Evaluations: f.Count.Evals - before})
	c := &f.Starts[len(f.Starts)-1]
	if behind := end.Ev.LML - next.Cur.Ev.LML; behind >= 0 {
		c.ended(next.Cur, false)
		c.Dropped = fmt.Sprintf("after %d dense evaluations: %.4g nats behind", c.Evaluations, behind)
	} else {
		f.overtakes(c, next.Cur, Iterate{P: t.Cur.P, Ev: end.Ev}, err == nil)
		t.Cur = next.Cur
	}
	return unlessRounding(err)
}

// withBack returns p with inputs without influence let back, and how many; g is the gradient there
// with those that are out at gp.FarLength.
func (f *Search) withBack(p gp.Params, g []float64) (gp.Params, int) {
	q, back := p.Clone(), 0
	told := backShare * max(p.Noise, coarseFloor*varianceOf(f.Std.Y))
	for _, j := range f.gone(p) {
		l := columnSD(f.Std, j) * math.Sqrt(p.Variance/told)
		// With w = 1/ℓ², ∂L/∂log ℓ = -2w ∂L/∂w, and L is nearly linear in w.
		far := min(p.Lengthscales[j], gp.FarLength)
		if harm := g[j] / 2 * (far / l) * (far / l); harm < backHarm {
			q.Lengthscales[j] = l
			back++
		}
	}
	return q, back
}

// unlessRounding returns err unless it says that rounding left no value, which ends a trial only.
func unlessRounding(err error) error {
	if evidence.NotFinite(err) {
		return nil
	}
	return err
}

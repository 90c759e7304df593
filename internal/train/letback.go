package train

import (
	"context"
	"fmt"
	"math"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// Inputs let back. Where several inputs tell nearly the same, a training can take one of them out
// early and end some nats below the place that has it, from where no slope leads there. Where dense
// evaluations cost little, one more training begins with all such inputs at a little influence, but
// for those that harm by their slope. Of more rows the Vecchia likelihood of all of them tells: two
// climbs, with these inputs and without, in which only they and others of little influence move, so
// that what few neighbours get wrong is the same in both.

const (
	backShare = 0.1 // of the noise is what an input that is let back tells
	backHarm  = 3   // nats that it may cost there by its slope
	backTries = 8   // evaluations after which that training has to lead
	backEvals = 20  // further ones
	backWorth = 0.1 // times eps is a gain worth a stage

	weakLength = 3 // sd, from which on an input has little influence
	weakNats   = 5 // that a climb with more inputs has to lead by
	weakInputs = 30
)

// weakRound are the two climbs: up to that many rows all terms, which leave no doubt of a sample, of
// weakInputs inputs; of more inputs fewer.
var weakRound = coarseRound{9, 12000, 16, 1}

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
	end, err := next.evaluate(ctx, t.far(t.Cur.P, next.inactive), math.Inf(-1))
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

// letBack climbs from p with inputs without influence back and without, and returns where the first
// leads to, as far as that differs from where the second does, dropped if no such input stays in the
// distance or the first does not lead beyond the doubt of a sample.
func (s *coarse) letBack(ctx context.Context, p gp.Params) (*Candidate, error) {
	round := weakRound
	if d := len(p.Lengthscales); d > weakInputs { // a term costs as much as it has inputs
		round.terms = max(round.terms*weakInputs/d, backRound.terms)
	}
	s.begin(round)
	more := s.from(Candidate{From: "the end of the training, inputs without influence let back", Parameters: p})
	same := s.from(Candidate{Parameters: p})
	// Lengths count as long beside what σ_f² makes of them.
	unit, back := math.Sqrt(max(1, p.Variance/s.scale)), make([]bool, len(p.Lengthscales))
	weak := make([]bool, len(same.z))
	for _, j := range s.f.gone(p) {
		more.z[j], back[j] = math.Log(backLength*unit*columnSD(s.f.Std, j)), true
	}
	for j, l := range p.Lengthscales {
		weak[j] = s.free[j] && l > weakLength*unit*columnSD(s.f.Std, j)
	}
	for _, a := range []*ascent{same, more} {
		a.free = weak
		if err := s.climb(ctx, a, round.evals); err != nil {
			return nil, err
		}
	}
	z, stays := logVector(p), 0
	inactive := make([]bool, len(back))
	for j, w := range weak[:len(back)] {
		switch {
		case back[j]:
			z[j] = more.z[j]
			if inactive[j] = z[j] > math.Log(coarseFar*unit*columnSD(s.f.Std, j)); !inactive[j] {
				stays++
			}
		case w:
			z[j] += more.z[j] - same.z[j]
		}
	}
	c := &Candidate{From: more.start, By: "check", Parameters: fromLog(p.Kernel, z, inactive),
		Value: evidence.Bound(more.value), Rows: s.f.Std.X.Rows, LML: unasked, Evaluations: same.evals + more.evals}
	lead := more.value - same.value
	if n := s.f.Std.X.Rows; s.terms < n {
		lead -= coarseDoubt * same.doubt(more) * math.Sqrt(1-float64(s.terms)/float64(n))
	}
	switch {
	case stays == 0:
		c.Dropped = "at the check, by neighbours: none of them stays"
	case !(lead > weakNats):
		c.Dropped = fmt.Sprintf("at the check, by neighbours: %.4g nats ahead, too little", lead)
	}
	return c, nil
}

// unlessRounding returns err unless it says that rounding left no value, which ends a trial only.
func unlessRounding(err error) error {
	if evidence.NotFinite(err) {
		return nil
	}
	return err
}

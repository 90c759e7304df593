package train

import (
	"context"
	"fmt"
	"math"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// A look about where the training has ended. Inputs that have left the distance, or are
// as good as out, leave no slope behind that would bring them back; noise at its floor
// leaves a wall. Both are tried elsewhere: the inputs by short climbs of the Vecchia
// likelihood, which costs little where it says no, the noise by the likelihood of all
// rows, which is left as soon as its upper bound is too low. Gains are taken, and the
// training goes on from there.

var (
	lookLengths = []float64{1, 5, 30} // times the sd of an input
	lookNoises  = []float64{1e-3, 1e-2}
	lookTimes   = []float64{0.1, 10} // the noise, where it is not at its floor
	lookRound   = coarseRound{8, 1000, 30, 1}
	backRound   = coarseRound{6, 4000, 24, 1}
)

const backLength = 5 // times its sd an input begins with that comes back

const (
	lookFloor = 10  // times the floor is noise that has hit it
	goneShare = 0.1 // of the noise is no influence
	// toldNoise of what would be tried is so little noise that random rows which lead have told as much.
	toldNoise = 0.1
)

// ascend climbs from start, looks about, and finishes with dense evaluations where they tell more.
func (f *Search) ascend(ctx context.Context, t *Trainer, start gp.Params) (string, error) {
	climb := t.run
	if f.Config.Optimizer == "adam" {
		climb = t.runAdam
	}
	why, err := climb(ctx, start)
	if err == nil {
		why, err = f.runnerUp(ctx, t, why)
	}
	if err == nil {
		why, err = f.lookAbout(ctx, t, why)
	}
	if err == nil && f.wantsDenseFinish(t) {
		err = f.denseFinish(ctx, t)
	}
	if err == nil && why == "converged" {
		err = f.letBack(ctx, t)
	}
	return why, err
}

// lookAbout tries other places from t.cur and climbs from one that promises a gain; why
// is how the training has ended.
func (f *Search) lookAbout(ctx context.Context, t *Trainer, why string) (string, error) {
	if why != "converged" || !f.Config.looksAbout(f.Raw.X.Rows, f.Raw.X.Cols) {
		return why, nil
	}
	best := t.Cur
	better, err := f.otherNoise(ctx, t)
	if !f.blind && !f.wonNoiseless() { // there neighbours and few rows have nothing to say
		if err == nil && !better {
			better, err = f.otherPlaces(ctx, t)
		}
		if err == nil && !better {
			better, err = f.otherLengths(ctx, t)
		}
		if err == nil && !better {
			better, err = f.upRidge(ctx, t)
		}
	}
	if err != nil || !better {
		t.Cur = best
		return why, err
	}
	return f.trainAlso(ctx, t, &f.Starts[len(f.Starts)-1], best, why)
}

// runnerUp trains from the candidate that the comparison could not tell from the best one, if it
// is another place than where the training from that has ended.
func (f *Search) runnerUp(ctx context.Context, t *Trainer, why string) (string, error) {
	c := t.second
	if c == nil || why != "converged" || alike(c.Parameters, t.Cur.P) {
		return why, nil
	}
	best := t.Cur
	t.Cur, t.fresh, t.measured = Iterate{P: c.Parameters.Clone()}, false, nil
	return f.trainAlso(ctx, t, c, best, why)
}

// trainAlso trains from t.cur, where other is, and leaves t.cur at the end of that or at best, where
// an earlier training has ended and why tells how, whichever is higher.
func (f *Search) trainAlso(ctx context.Context, t *Trainer, other *Candidate,
	best Iterate, why string) (string, error) {
	next, err := t.run(ctx, t.Cur.P)
	ahead := t.Cur.Ev != nil && t.Cur.Ev.LML > best.Ev.LML
	if err == nil && !beyondProbes(t.Cur.Ev, best.Ev) {
		ahead, best, err = f.higher(ctx, t, best)
	}
	if !ahead {
		if t.Cur.Ev != nil {
			other.ended(t.Cur, err == nil)
		}
		other.Dropped = "after the training from there: no gain"
		t.Cur = best
		return why, err
	}
	f.overtakes(other, t.Cur, best, err == nil)
	return next, err
}

// overtakes notes that the training from other has ended at cur, above best, where that before has.
func (f *Search) overtakes(other *Candidate, cur, best Iterate, converged bool) {
	for i := range f.Starts {
		if s := &f.Starts[i]; s != other && s.Dropped == "" {
			s.ended(best, converged)
			s.Dropped = fmt.Sprintf("after the training: %.4g nats behind that from %s",
				cur.Ev.LML-best.Ev.LML, other.From)
		}
	}
	other.ended(cur, converged)
	other.Dropped = ""
}

// ended notes where a training from c has come to.
func (c *Candidate) ended(at Iterate, converged bool) {
	c.judged(at.Ev)
	c.Parameters, c.Ended = at.P.Clone(), converged
}

// looksAbout says whether a fit of n rows looks about: the methods that it is compared
// with do not, and where dense evaluations have compared many starts nothing is left to find.
func (o *Config) looksAbout(n, d int) bool {
	if o.Optimizer == "adam" || o.PrefitRows < 0 {
		return false
	}
	return (o.Start != nil || !o.SearchesDense(n, d)) && o.searchesCoarsely(n, d)
}

// otherNoise tries more noise where it has hit the floor. On success t.cur is there.
func (f *Search) otherNoise(ctx context.Context, t *Trainer) (bool, error) {
	scale := varianceOf(f.Std.Y)
	if t.Cur.P.Noise > lookFloor*gp.MinParam {
		return false, nil
	}
	if f.wonNoiseless() || f.blind && f.Starts[0].Parameters.Noise <= toldNoise*lookNoises[0]*scale {
		return false, nil // it came to the floor from above, by random rows, or near it
	}
	best := t.Cur
	t.eval.Eps = coarseEps * t.eps
	near, err := f.compares(ctx, best.P)
	if err != nil {
		return false, err
	}
	for _, noise := range lookNoises {
		p := best.P.Clone()
		p.Noise = noise * scale
		if why, err := near.drops(ctx, p); err != nil {
			return false, err
		} else if why != "" {
			f.Starts = append(f.Starts, Candidate{From: noiseRaised(p), By: "check", Parameters: p, LML: unasked,
				Rows: f.Std.X.Rows, Dropped: why})
			continue
		}
		pt, err := t.relocate(ctx, p, t.inactive, best.Ev.LML)
		if err != nil && !evidence.NotFinite(err) {
			return false, err
		}
		c := Candidate{From: noiseRaised(p), By: "check", Parameters: p, LML: unasked, Rows: f.Std.X.Rows,
			Evaluations: 1}
		if err != nil {
			c.Dropped = lost(err)
			f.Starts = append(f.Starts, c)
			continue
		}
		better := !pt.Ev.Rejected && pt.Ev.LML > best.Ev.LML
		t.report(pt, better)
		c.judged(pt.Ev)
		if better {
			f.Starts = append(f.Starts, c)
			t.Cur, t.fresh = pt, true
			return true, nil
		}
		c.Dropped = fmt.Sprintf("at the check: %.4g nats behind", best.Ev.LML-float64(c.LML))
		f.Starts = append(f.Starts, c)
	}
	return false, nil
}

func noiseRaised(p gp.Params) string {
	return fmt.Sprintf("the end of the training, noise raised to %.2g", p.Noise)
}

// A nearby compares places that differ from one in the noise alone, by neighbours.
type nearby struct {
	*comparer
	parts []float64 // at the one place
}

// compares returns the comparison with p, one that drops nothing where near rows do not tell the noise.
func (f *Search) compares(ctx context.Context, p gp.Params) (*nearby, error) {
	if !tellsNoise(p) {
		return &nearby{}, nil
	}
	c, err := newComparer(f)
	if err != nil {
		return nil, err
	}
	parts, err := c.at(ctx, p, screenNear)
	return &nearby{c, parts}, err
}

// drops says why p need not be evaluated on all rows, "" where it has to be.
func (c *nearby) drops(ctx context.Context, p gp.Params) (string, error) {
	if c.comparer == nil {
		return "", nil
	}
	parts, err := c.at(ctx, p, screenNear)
	if err != nil {
		return "", err
	}
	if behind, se := lead(c.parts, parts); beyond(behind, se) {
		return fmt.Sprintf("at the check, by %d neighbours: %.4g ± %.2g nats behind", screenNear, behind, se), nil
	}
	return "", nil
}

// otherPlaces lets inputs without influence back in, and tries more noise and less. On success
// t.cur is where the best climb has ended, not evaluated yet.
func (f *Search) otherPlaces(ctx context.Context, t *Trainer) (bool, error) {
	s, err := newCoarse(f)
	if err != nil {
		return false, err
	}
	s.admit(t.Cur.P)
	s.begin(lookRound)
	base := s.from(Candidate{From: "the end of the training", Parameters: t.Cur.P})
	if err := s.climb(ctx, base, lookRound.evals); err != nil {
		return false, err
	}
	var best *Candidate
	var ahead *ascent
	for _, from := range s.places(t.Cur.P) {
		a := s.from(from)
		if err := s.climb(ctx, a, lookRound.evals); err != nil {
			return false, err
		}
		c := &Candidate{From: a.start, By: "check", Parameters: s.params(a.z), Value: evidence.Bound(a.value),
			Rows: f.Std.X.Rows, LML: unasked, Evaluations: a.evals}
		switch {
		case alike(c.Parameters, s.params(base.z)):
			c.Dropped = "at the check, by neighbours: leads back to the end of the training"
		case !(a.value > base.value+screenSlack) || !base.beyondDoubt(a):
			c.Dropped = fmt.Sprintf(
				"at the check, by neighbours: %.4g nats ahead, not beyond doubt", a.value-base.value)
		case ahead != nil && a.value <= ahead.value:
			c.Dropped = fmt.Sprintf("at the check, by neighbours: %.4g nats behind another place", ahead.value-a.value)
		default:
			c, best, ahead = best, c, a
			if c != nil {
				c.Dropped = "at the check, by neighbours: behind another place"
			}
		}
		if c != nil {
			f.Starts = append(f.Starts, *c)
		}
	}
	if best == nil && f.Std.X.Rows > cost.DenseRows && len(f.gone(t.Cur.P)) > 0 {
		if best, err = s.letBack(ctx, t.Cur.P); err != nil {
			return false, err
		}
		if best.Dropped != "" {
			f.Starts, best = append(f.Starts, *best), nil
		}
	}
	if best == nil {
		return false, nil
	}
	f.Starts = append(f.Starts, *best)
	t.Cur, t.fresh, t.measured = Iterate{P: best.Parameters}, false, nil
	return true, nil
}

// places returns where a look about from p begins.
func (s *coarse) places(p gp.Params) (out []Candidate) {
	gone := s.f.gone(p)
	for _, l := range lookLengths {
		if len(gone) == 0 {
			break
		}
		q := p.Clone()
		for _, j := range gone {
			q.Lengthscales[j] = l * columnSD(s.f.Std, j)
		}
		out = append(out, Candidate{From: fmt.Sprintf(
			"the end of the training, inputs without influence at %g sd", l), Parameters: q})
	}
	for _, times := range lookTimes {
		q := p.Clone()
		if q.Noise *= times; q.Noise > gp.MinParam && q.Noise < s.scale && p.Noise > lookFloor*gp.MinParam {
			out = append(out, Candidate{From: fmt.Sprintf("the end of the training, %g times the noise", times),
				Parameters: q})
		}
	}
	return out
}

// gone lists the inputs that have no influence: out, or longer than thirty ranges without a variance
// that makes up for it. Along a ridge σ_f² and all lengthscales grow together, and nothing is gone.
func (f *Search) gone(p gp.Params) (out []int) {
	scale := varianceOf(f.Std.Y)
	for j, l := range p.Lengthscales {
		sd := columnSD(f.Std, j)
		told := p.Variance * (sd / l) * (sd / l) // about the variance of y that the input tells
		far := l > coarseFar*sd && told < goneShare*max(p.Noise, coarseFloor*scale)
		if !f.Flat[j] && (math.IsInf(l, 1) || far) {
			out = append(out, j)
		}
	}
	return out
}

// admit widens the room of the climbs to p.
func (s *coarse) admit(p gp.Params) {
	for i, z := range logVector(p) {
		s.lo[i], s.hi[i] = min(s.lo[i], z), max(s.hi[i], z)
	}
}

// revive returns the climb from a with the inputs that have no influence at backLength,
// nil if there are none. Only these inputs move: what they gain is then not lost in how the others
// fit a sample of the terms.
func (s *coarse) revive(ctx context.Context, a *ascent) (*ascent, error) {
	gone := s.f.gone(s.params(a.z))
	if len(gone) == 0 {
		return nil, nil
	}
	b := s.from(Candidate{From: a.start + ", inputs without influence back", Parameters: s.params(a.z)})
	b.free = make([]bool, len(a.z))
	for _, j := range gone {
		b.z[j] = math.Log(backLength * columnSD(s.f.Std, j))
		b.free[j] = true
	}
	return b, s.climb(ctx, b, backRound.evals)
}

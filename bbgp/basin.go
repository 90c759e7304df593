package bbgp

import (
	"context"
	"fmt"
	"math"

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
	lookRound   = coarseRound{8, 1000, 30, 1}
)

const lookFloor = 10 // times the floor is noise that has hit it

// ascend climbs from start, looks about, and polishes the end.
func (f *fit) ascend(ctx context.Context, t *trainer, r *Result, start Params) (string, error) {
	climb := t.run
	if f.opt.Optimizer == "adam" {
		climb = t.runAdam
	}
	why, err := climb(ctx, start)
	if err == nil {
		why, err = f.lookAbout(ctx, t, r, why)
	}
	if err == nil && f.wantsPolish(t) {
		err = f.polish(ctx, t)
	}
	return why, err
}

// lookAbout tries other places from t.cur and climbs from one that promises a gain; why
// is how the training has ended.
func (f *fit) lookAbout(ctx context.Context, t *trainer, r *Result, why string) (string, error) {
	if why != "converged" || !f.opt.looksAbout(f.raw.X.Rows, f.raw.X.Cols) {
		return why, nil
	}
	best := t.cur
	better, err := f.otherNoise(ctx, t, r)
	if err == nil && !better {
		better, err = f.otherInputs(ctx, t, r)
	}
	if err != nil || !better {
		t.cur = best
		return why, err
	}
	next, err := t.run(ctx, t.cur.p)
	last := &r.Starts[len(r.Starts)-1]
	if t.cur.ev == nil || !(t.cur.ev.LML > best.ev.LML) {
		if t.cur.ev != nil {
			last.judged(t.cur.ev)
		}
		last.Dropped = "after the training from there: no gain"
		t.cur = best
		return why, err
	}
	last.judged(t.cur.ev)
	for i := range r.Starts[:len(r.Starts)-1] {
		if s := &r.Starts[i]; s.Dropped == "" {
			s.Dropped = fmt.Sprintf("after the training: %.4g nats behind what the check has found", t.cur.ev.LML-best.ev.LML)
		}
	}
	return next, err
}

// looksAbout says whether a fit of n rows looks about: the methods that it is compared
// with do not, and where dense evaluations have compared many starts nothing is left to find.
func (o *Options) looksAbout(n, d int) bool {
	if o.Optimizer == "adam" || o.PrefitRows < 0 {
		return false
	}
	return (o.Start != nil || !o.searchesDense(n, d)) && o.searchesCoarsely(n, d)
}

// otherNoise tries more noise where it has hit the floor. On success t.cur is there.
func (f *fit) otherNoise(ctx context.Context, t *trainer, r *Result) (bool, error) {
	scale := varianceOf(f.std.Y)
	if t.cur.p.Noise > lookFloor*gp.MinParam {
		return false, nil
	}
	if won := live(r.Starts); len(won) == 1 && f.noiseless(won[0]) {
		return false, nil // it came to the floor from above, by random rows
	}
	best := t.cur
	t.eval.Eps = coarseEps * t.eps
	for _, noise := range lookNoises {
		p := best.p.Clone()
		p.Noise = noise * scale
		pt, err := t.bold(ctx, p, t.out, best.ev.LML)
		if err != nil && !notFinite(err) {
			return false, err
		}
		c := Candidate{From: fmt.Sprintf("the end of the training, noise raised to %.2g", p.Noise), By: "check", Parameters: p, LML: unasked, Rows: f.std.X.Rows, Evaluations: 1}
		if err != nil {
			c.Dropped = "no likelihood of all rows: " + err.Error()
			r.Starts = append(r.Starts, c)
			continue
		}
		better := !pt.ev.Rejected && pt.ev.LML > best.ev.LML
		t.report(pt, better)
		if c.judged(pt.ev); better {
			r.Starts = append(r.Starts, c)
			t.cur, t.fresh = pt, true
			return true, nil
		}
		c.Dropped = fmt.Sprintf("at the check: %.4g nats behind", best.ev.LML-float64(c.LML))
		r.Starts = append(r.Starts, c)
	}
	return false, nil
}

// otherInputs lets inputs without influence back in. On success t.cur is where the best
// climb has ended, not evaluated yet.
func (f *fit) otherInputs(ctx context.Context, t *trainer, r *Result) (bool, error) {
	s, err := newCoarse(f)
	if err != nil {
		return false, err
	}
	gone := s.gone(t.cur.p)
	if len(gone) == 0 {
		return false, nil
	}
	s.begin(lookRound)
	base := s.from(Candidate{From: "the end of the training", Parameters: t.cur.p})
	if err := s.climb(ctx, base, lookRound.evals); err != nil {
		return false, err
	}
	var best *Candidate
	var ahead *ascent
	for _, l := range lookLengths {
		p := t.cur.p.Clone()
		for _, j := range gone {
			p.Lengthscales[j] = l * columnSD(f.std, j)
		}
		a := s.from(Candidate{From: fmt.Sprintf("the end of the training, inputs without influence at %g sd", l), Parameters: p})
		if err := s.climb(ctx, a, lookRound.evals); err != nil {
			return false, err
		}
		c := &Candidate{From: a.start, By: "check", Parameters: s.params(a.z), Value: Bound(a.value), Rows: f.std.X.Rows, LML: unasked, Evaluations: a.evals}
		switch {
		case !(a.value > base.value+screenSlack) || !base.beyondDoubt(a):
			c.Dropped = fmt.Sprintf("at the check, by neighbours: %.4g nats ahead, not beyond doubt", a.value-base.value)
		case ahead != nil && a.value <= ahead.value:
			c.Dropped = fmt.Sprintf("at the check, by neighbours: %.4g nats behind another length", ahead.value-a.value)
		default:
			c, best, ahead = best, c, a
			if c != nil {
				c.Dropped = "at the check, by neighbours: behind another length"
			}
		}
		if c != nil {
			r.Starts = append(r.Starts, *c)
		}
	}
	if best == nil {
		return false, nil
	}
	r.Starts = append(r.Starts, *best)
	t.cur, t.fresh, t.measured = point{p: best.Parameters}, false, nil
	return true, nil
}

// gone lists the inputs that have no influence: out, or longer than thirty ranges.
func (s *coarse) gone(p Params) (out []int) {
	for j, l := range p.Lengthscales {
		if s.free[j] && (math.IsInf(l, 1) || l > math.Exp(s.far[j])) {
			out = append(out, j)
		}
	}
	return out
}

package train

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/inducing"
	"bbgp.dev/internal/gp"
)

// Other lengths. A function of a few inputs that is a slope and has steps or ripples besides has, under a
// smooth kernel, a maximum for each choice of which inputs are told by long lengthscales, what remains of
// them being noise, and which by short ones. Fits of a few hundred random rows come to the long ones, and few
// neighbours do not average so much noise away. The lower bound of the evidence by inducing rows (SGPR) sees
// all rows together and is tight where a smooth function is told by few inputs, for the price of n m². So
// where the training has ended, every input that tells something is tried at a part of its lengthscale and
// at a multiple, and all at a part; the best climb, and go on in turn.

const (
	otherRows    = 4000 // random ones of more
	otherInduced = 128  // inducing rows
	otherNoise   = 0.01 // times the variance of y: with less noise near rows tell
	otherOpen    = 0.1  // nats a row that the bound may leave open
	otherInputs  = 4    // the shortest ones are tried
	otherTimes   = 4.0  // times a lengthscale, or that part of it
	otherAll     = 3.0  // the part of all of them
	otherClimbs  = 3    // of those tried climb
	otherSteps   = 4    // so many evaluations,
	otherMore    = 14   // and the best of these so many more
	otherRounds  = 3    // changes in turn
	otherNats    = 1.5  // that a place has to lead by
	otherBehind  = 5    // that it may be behind by all rows before a training
)

// otherNears are lengthscales in sd of an input that are tried besides, where others are longer.
var otherNears = []float64{0.5, 0.2}

// An otherSearch is what the climbs of one search share: as the inducing rows are the same, bounds compare.
type otherSearch struct {
	f     *Search
	d     *gp.Table
	bound evidence.Estimator
	fixed []bool // inputs that stay as they are
	tell  []int  // inputs that are tried
	evals int
}

// otherLengths looks for a higher place at other lengthscales. On success t.Cur is there, evaluated
// above cost.DenseRows rows only.
func (f *Search) otherLengths(ctx context.Context, t *Trainer) (bool, error) {
	n := f.Std.X.Rows
	rows := min(n, otherRows)
	if t.Cur.P.Noise < otherNoise*varianceOf(f.Std.Y) || !f.denseFits(rows) {
		return false, nil
	}
	home := t.Cur.P.Clone()
	for _, j := range f.gone(home) {
		home.Lengthscales[j] = math.Inf(1)
	}
	s, err := f.newOtherSearch(ctx, rows, home)
	if err != nil || len(s.tell) == 0 {
		return false, unlessRounding(err)
	}
	bound, err := s.value(ctx, home)
	if err != nil || t.Cur.Ev.LML/float64(n)-bound/float64(rows) > otherOpen {
		return false, unlessRounding(err)
	}
	base := s.climber("the end of the training", home)
	best, err := s.highest(ctx, base)
	if err != nil {
		return false, err
	}
	c := Candidate{From: best.from + ", other lengthscales", By: "check", Parameters: best.p,
		Value: evidence.Bound(best.value), Rows: rows, LML: unasked, Evaluations: s.evals}
	at, near := Iterate{P: best.p}, alike(best.p, home)
	switch {
	case best == base:
		c.Dropped = "at the check, by inducing rows: no other place leads"
	case n > cost.DenseRows:
		at, err = s.onAllRows(ctx, t, &c, near)
	case near: // the bound may be higher there as it is looser at home
		c.Dropped, err = s.behind(ctx, best.p, home)
	default:
		c.Dropped, err = s.behind(ctx, best.p, base.p)
	}
	if err != nil {
		return false, unlessRounding(err)
	}
	f.Starts = append(f.Starts, c)
	if c.Dropped != "" {
		return false, nil
	}
	t.Cur, t.fresh, t.measured = at, at.Ev != nil, nil
	return true, nil
}

// onAllRows evaluates c on all rows, with early rejection. Another place than t.Cur, not trained yet, may be a
// little behind it.
func (s *otherSearch) onAllRows(ctx context.Context, t *Trainer, c *Candidate, near bool) (Iterate, error) {
	t.eval.Eps = coarseEps * t.eps
	target := t.Cur.Ev.LML
	if !near {
		target -= otherBehind
	}
	pt, err := t.relocate(ctx, c.Parameters, t.inactiveAt(c.Parameters), target)
	if err != nil {
		return pt, err
	}
	ahead := !pt.Ev.Rejected && pt.Ev.LML > target
	t.report(pt, ahead)
	c.judged(pt.Ev)
	if !ahead {
		c.Dropped = fmt.Sprintf("at the check: %.4g nats behind", t.Cur.Ev.LML-float64(c.LML))
	}
	return pt, nil
}

// newOtherSearch takes the inducing rows where all lengthscales are short: there they cover the inputs.
func (f *Search) newOtherSearch(ctx context.Context, rows int, home gp.Params) (*otherSearch, error) {
	s := &otherSearch{f: f, d: f.Std, fixed: slices.Clone(f.Flat)}
	if rows < f.Std.X.Rows {
		s.d = f.Std.Rows(gp.Subset(f.Std.X.Rows, rows, f.Config.Seed+7))
	}
	_, uses := inUse(home)
	for j, l := range home.Lengthscales {
		if s.fixed[j] = s.fixed[j] || math.IsInf(l, 1); !s.fixed[j] && uses[j] {
			s.tell = append(s.tell, j)
		}
	}
	slices.SortStableFunc(s.tell, func(a, b int) int {
		return cmp.Compare(home.Lengthscales[a], home.Lengthscales[b])
	})
	s.tell = s.tell[:min(len(s.tell), otherInputs)]
	p, _ := s.near(s.allShort(home), otherNears[0], s.tell...)
	obj, err := inducing.New(f.Config.Engine.Alone(), s.d, p, otherInduced, false)
	if err != nil {
		return nil, err
	}
	if err := obj.Rebuild(ctx, p, evidence.Options{}); err != nil {
		return nil, err
	}
	s.bound = f.Config.Complete(obj, s.d)
	return s, nil
}

// allShort returns p with a part of the lengthscales, and as much less variance as leaves slopes alike.
func (s *otherSearch) allShort(p gp.Params) gp.Params {
	q := p.Clone()
	for _, j := range s.tell {
		q.Lengthscales[j] /= otherAll
	}
	y := varianceOf(s.f.Std.Y)
	q.Variance = max(p.Variance/(otherAll*otherAll), min(p.Variance, y/2))
	return q
}

// near returns p with those of the inputs that are longer at so many sd, without more variance than the target
// has, and whether that is shorter than other places that are tried.
func (s *otherSearch) near(p gp.Params, sds float64, inputs ...int) (q gp.Params, shorter bool) {
	q = p.Clone()
	for _, j := range inputs {
		l := sds * columnSD(s.f.Std, j)
		shorter = shorter || p.Lengthscales[j] > 2*otherTimes*l
		q.Lengthscales[j] = min(p.Lengthscales[j], l)
	}
	q.Variance = min(p.Variance, varianceOf(s.f.Std.Y))
	return q, shorter
}

// value is the bound at p.
func (s *otherSearch) value(ctx context.Context, p gp.Params) (float64, error) {
	s.evals++
	ev, err := s.bound.Evaluate(ctx, p, evidence.Options{})
	if err != nil {
		return math.Inf(-1), err
	}
	return ev.LML, nil
}

// surface is the bound with its gradient; the mean stays.
func (s *otherSearch) surface(ctx context.Context, p gp.Params) (float64, []float64, float64, error) {
	s.evals++
	ev, err := s.bound.Evaluate(ctx, p, evidence.Options{Gradient: true})
	if err != nil {
		return 0, nil, 0, err
	}
	return ev.LML, logGradient(ev.Gradient, p)[:len(p.Lengthscales)+2], p.Mean, nil
}

func (s *otherSearch) climber(from string, p gp.Params) *climber {
	return newClimber(s.f.Config.Engine.Alone(), from, s.surface, p, s.fixed, s.d.X.Rows)
}

// climb lets c take so many evaluations, its start besides.
func (s *otherSearch) climb(ctx context.Context, c *climber, evals int) error {
	if c.evals == 0 {
		c.start(ctx)
	}
	return c.climb(ctx, evals)
}

// highest climbs from base and, as long as one leads, from places with other lengthscales in turn.
func (s *otherSearch) highest(ctx context.Context, base *climber) (*climber, error) {
	if err := s.climb(ctx, base, otherSteps); err != nil {
		return nil, err
	}
	best := base
	for range otherRounds {
		tries, err := s.tries(ctx, best)
		if err != nil {
			return nil, err
		}
		var next *climber
		for _, c := range tries {
			if err := s.climb(ctx, c, otherSteps); err != nil {
				return nil, err
			}
			if next == nil || c.value > next.value {
				next = c
			}
		}
		if next == nil || !(next.value > best.value+otherNats) {
			break
		}
		if err := s.climb(ctx, next, otherMore); err != nil {
			return nil, err
		}
		best = next
	}
	return best, nil
}

// tries returns the most promising places with other lengthscales than c, one at most of those that
// stand together.
func (s *otherSearch) tries(ctx context.Context, c *climber) ([]*climber, error) {
	var firsts []otherPlace
	for _, places := range s.changes(c.p) {
		for i := range places {
			var err error
			if places[i].value, err = s.value(ctx, places[i].p); unlessRounding(err) != nil {
				return nil, err
			}
		}
		slices.SortStableFunc(places, higherFirst)
		firsts = append(firsts, places[0])
	}
	slices.SortStableFunc(firsts, higherFirst)
	var out []*climber
	for _, o := range firsts[:min(otherClimbs, len(firsts))] {
		out = append(out, s.climber(c.from+", "+o.what, o.p))
	}
	return out, nil
}

// An otherPlace is p, and what was changed to come there.
type otherPlace struct {
	what  string
	p     gp.Params
	value float64
}

func higherFirst(a, b otherPlace) int { return cmp.Compare(b.value, a.value) }

// changes returns places with other lengthscales than p, those together that change the same inputs. Half of a
// lengthscale often leads back to p, and is as good as p where it does: such places do not stand for others.
func (s *otherSearch) changes(p gp.Params) [][]otherPlace {
	all := []otherPlace{{what: fmt.Sprintf("lengthscales / %g", otherAll), p: s.allShort(p)}}
	if q, shorter := s.near(p, otherNears[0], s.tell...); shorter {
		all = append(all, otherPlace{what: fmt.Sprintf("lengthscales %g sd", otherNears[0]), p: q})
	}
	out := [][]otherPlace{all}
	var halves []otherPlace
	times := func(v float64, j int) otherPlace {
		q := p.Clone()
		q.Lengthscales[j] *= v
		return otherPlace{what: fmt.Sprintf("%g times lengthscale %d", v, j+1), p: q}
	}
	for _, j := range s.tell {
		halves = append(halves, times(0.5, j))
		one := []otherPlace{times(1/otherTimes, j), times(otherTimes, j)}
		for _, l := range otherNears {
			if q, shorter := s.near(p, l, j); shorter {
				one = append(one, otherPlace{what: fmt.Sprintf("lengthscale %d %g sd", j+1, l), p: q})
			}
		}
		out = append(out, one)
	}
	return append(out, halves)
}

// behind says why p is not higher than q, "" if it is, by the exact likelihood of the rows: a bound leaves more
// open at short lengthscales than at long ones.
func (s *otherSearch) behind(ctx context.Context, p, q gp.Params) (string, error) {
	obj, err := evidence.NewExact(s.f.Config.Engine.Alone(), s.d, p)
	if err != nil {
		return "", err
	}
	whole := s.f.Config.Complete(obj, s.d)
	high, err := whole.Evaluate(ctx, p, evidence.Options{})
	if err != nil {
		return "", err
	}
	low, err := whole.Evaluate(ctx, q, evidence.Options{})
	if err != nil || high.LML > low.LML+otherNats {
		return "", err
	}
	return fmt.Sprintf("at the check, by a dense evaluation: %.4g nats ahead, too little", high.LML-low.LML), nil
}

package train

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
)

// The coarse search: the Vecchia likelihood, in which every row is given its nearest
// ones, climbed from many starts. It sees what happens between near rows, which a
// random subset of rows does not hold, and an evaluation costs less than a product
// with K̂. But few neighbours cannot average noise away: its values compare the ends
// of its own climbs, and the likelihood of all rows judges them beside others.

const (
	coarseVariance = 100  // times that of y is the most that σ_f² may be
	coarseFar      = 30   // times its sd, and what lies beyond is one to the search of neighbours
	coarseRange    = 1000 // times its sd is the longest lengthscale of an input
	coarseRenew    = 0.5  // change of a log lengthscale, beside the others, that asks for new neighbours
	coarseWorth    = 0.05 // nats that are worth a step at the end
	coarseFloor    = 1e-4 // times the variance of y is hardly any noise
	coarseDoubt    = 3    // standard errors that a basin may be behind another in the end
	coarseSame     = 2    // ends that differ by less, in nats by the metric, are one
)

// A coarseRound is a part of a search: so many evaluations at most from each start, with
// so many terms and neighbours each, after which half of the starts go on, or keep.
type coarseRound struct{ evals, terms, near, keep int }

var coarseRounds = []coarseRound{{6, 1000, 16, 4}, {6, 1000, 16, 4},
	{8, 2000, 16, 3}, {12, 4000, 16, 2}, {8, 12000, 24, 2}}

// floorRound is for those whose noise is at its floor in the end: few neighbours in many
// inputs drive it there, and the lengthscales to less than many neighbours do.
var floorRound = coarseRound{12, 1000, 128, 2}

// raisedNoise is what candidates at the floor come with besides, times the variance of y.
var raisedNoise = []float64{3e-4, resetNoise}

// A coarse is what the climbs of a coarse search share.
type coarse struct {
	f  *Search
	op *kernelmv.Op
	coarseRound
	like   *kernelmv.Vecchia // of the round
	found  []nearest         // neighbours, in it
	scale  float64           // variance of y
	lo, hi []float64         // of z
	far    []float64         // log lengthscales beyond which an input hardly matters
	free   []bool
	share  []float64 // work areas of n numbers
	resid  []float64
}

// coarseCandidates returns where climbs of the Vecchia likelihood end, the best first,
// from the designed starts and from extra, with the noise of those at its floor raised
// as a further candidate. Candidates that were left carry the reason in Dropped.
func (f *Search) coarseCandidates(ctx context.Context, extra []Candidate) ([]Candidate, error) {
	s, err := newCoarse(f)
	if err != nil {
		return nil, err
	}
	var all []*ascent
	for _, c := range slices.Concat(s.designed(), extra) {
		all = append(all, s.from(c))
	}
	live := slices.Clone(all)
	for i, r := range coarseRounds {
		if err := s.round(ctx, live, r); err != nil {
			return nil, err
		}
		live = thin(live, r.keep, i == len(coarseRounds)-1)
	}
	if live, err = s.back(ctx, live); err != nil {
		return nil, err
	}
	for _, a := range live {
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	var low []*ascent
	for _, a := range live {
		if s.atFloor(a) {
			low = append(low, a)
		}
	}
	if err := s.round(ctx, low, floorRound); err != nil {
		return nil, err
	}
	if _, err = s.byAllTerms(ctx, live); err != nil {
		return nil, err
	}
	return s.candidates(ctx, all)
}

// back returns live with climbs in place of those that end higher when inputs are let back that have
// lost their influence on the way: what is as long as its range leaves no slope that would bring it back.
func (s *coarse) back(ctx context.Context, live []*ascent) ([]*ascent, error) {
	s.begin(backRound)
	out := slices.Clone(live)
	for i, a := range live {
		if err := s.settle(ctx, a); err != nil {
			return nil, err
		}
		b, err := s.revive(ctx, a)
		if err != nil {
			return nil, err
		}
		if b != nil && b.value > a.value+coarseSame {
			a.dropped = fmt.Sprintf("after %d evaluations: %.4g nats behind it with all inputs",
				a.evals, b.value-a.value)
			out[i] = b
		}
	}
	return out, nil
}

// round lets climbs do a round.
func (s *coarse) round(ctx context.Context, live []*ascent, r coarseRound) error {
	s.begin(r)
	for _, a := range live {
		if err := s.climb(ctx, a, r.evals); err != nil {
			return err
		}
	}
	return nil
}

// atFloor says whether an ascent has come to so little noise that slopes hardly tell of it.
func (s *coarse) atFloor(a *ascent) bool { return math.Exp(a.z[len(a.z)-2]) < coarseFloor*s.scale }

// newCoarse prepares the search on all rows.
func newCoarse(f *Search) (*coarse, error) {
	d, n := f.Std.X.Cols, f.Std.X.Rows
	p := gp.DefaultParams(f.Config.Kernel, d)
	op, err := kernelmv.NewOp(f.Config.Engine, f.Std.X, gp.KernelOf(p), gp.NoiseOf(p, f.Std))
	if err != nil {
		return nil, err
	}
	op.SetTilesOnly(true) // no order of the points for products
	s := &coarse{f: f, op: op, share: make([]float64, n), resid: make([]float64, n)}
	s.lo, s.hi = logRange(d)
	s.free = make([]bool, d+3)
	for j := range d {
		sd := columnSD(f.Std, j)
		s.lo[j] = math.Log(gp.MinParam * max(1, sd)) // scaled inputs keep a range that can be squared
		s.hi[j] = max(math.Log(coarseRange*sd), s.lo[j])
		s.far = append(s.far, math.Log(coarseFar*sd))
		s.free[j] = !f.Flat[j]
	}
	s.scale = varianceOf(f.Std.Y)
	s.hi[d] = max(math.Log(coarseVariance*s.scale), s.lo[d])
	s.free[d], s.free[d+1], s.free[d+2] = true, true, !f.Config.FixMean
	return s, nil
}

// begin begins a round.
func (s *coarse) begin(r coarseRound) {
	if s.like == nil || r.terms != s.terms || r.near != s.near {
		s.like, s.found = s.op.NewVecchia(r.terms, s.f.Config.Seed), nil
	}
	s.coarseRound = r
}

// columnSD is the standard deviation of an input, 1 where it does not vary.
func columnSD(d *gp.Table, j int) float64 {
	if sd := math.Sqrt(varianceOf(columnOf(d, j))); sd > 0 {
		return sd
	}
	return 1
}

// columnOf returns a copy of an input.
func columnOf(d *gp.Table, j int) []float64 {
	v := make([]float64, d.X.Rows)
	for i := range v {
		v[i] = d.X.At(i, j)
	}
	return v
}

// varianceOf is Σ (y - ȳ)²/n.
func varianceOf(y []float64) float64 {
	var mean, sum float64
	for _, v := range y {
		mean += v / float64(len(y))
	}
	for _, v := range y {
		sum += (v - mean) * (v - mean)
	}
	return sum / float64(len(y))
}

// thin returns the climbs that go on after a round: of those that have come to one
// place the best, and of the others the better half.
func thin(live []*ascent, keep int, last bool) []*ascent {
	slices.SortStableFunc(live, func(a, b *ascent) int { return cmp.Compare(b.value, a.value) })
	var out []*ascent
	for _, a := range live {
		switch i := slices.IndexFunc(out, func(b *ascent) bool { return a.meets(b) }); {
		case math.IsInf(a.value, -1):
			a.dropped = "no value in float64"
		case i >= 0:
			a.dropped = fmt.Sprintf("after %d evaluations: where that from %s is", a.evals, out[i].start)
		default:
			out = append(out, a)
		}
	}
	if !last {
		keep = max(keep, (len(live)+1)/2)
	}
	var next []*ascent
	for i, a := range out {
		if i < keep && (!last || i == 0 || !a.beyondDoubt(out[0])) {
			next = append(next, a)
		} else {
			a.dropped = fmt.Sprintf("after %d evaluations: %.4g nats behind", a.evals, out[0].value-a.value)
		}
	}
	return next
}

// candidates returns all climbs, those that are left first, the better ones before. Where
// the noise is at its floor, the same with more of it comes as well: from the floor a
// search on all rows does not come back, and many neighbours want more noise than few.
func (s *coarse) candidates(ctx context.Context, all []*ascent) ([]Candidate, error) {
	slices.SortStableFunc(all, func(a, b *ascent) int {
		return cmp.Or(cmp.Compare(min(len(a.dropped), 1), min(len(b.dropped), 1)), cmp.Compare(b.value, a.value))
	})
	tops, err := s.tops(ctx, all)
	if err != nil {
		return nil, err
	}
	var out []Candidate
	for i, a := range all {
		c := Candidate{From: a.start, By: "vecchia", Parameters: s.params(a.z), Value: evidence.Bound(a.value),
			Rows: s.f.Raw.X.Rows,
			LML:  unasked, Evaluations: a.evals, Dropped: a.dropped}
		if i < len(tops) && tops[i].Gain > ridgeWorth {
			c.Parameters, c.From = tops[i].P, c.From+", scale by random rows"
		}
		out = append(out, c)
		if a.dropped != "" || !s.atFloor(a) {
			continue
		}
		for _, noise := range raisedNoise {
			c.Parameters = c.Parameters.Clone()
			c.Parameters.Noise = noise * s.scale
			c.From = fmt.Sprintf("%s, noise raised to %.2g", a.start, c.Parameters.Noise)
			if err := s.raised(ctx, a, &c); err != nil {
				return nil, err
			}
			out = append(out, c)
			c.Dropped = ""
		}
	}
	return out, nil
}

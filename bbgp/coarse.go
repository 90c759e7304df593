package bbgp

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

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
	coarseRenew    = 0.3  // change of a log lengthscale, beside the others, that asks for new neighbours
	coarseWorth    = 0.05 // nats that are worth a step at the end
	coarseDoubt    = 3    // standard errors that a basin may be behind another in the end
	coarseSame     = 2    // ends that differ by less, in nats by the metric, are one
)

// A coarseRound is a part of a search: so many evaluations at most from each start, with
// so many terms and neighbours each, after which half of the starts go on, or keep.
type coarseRound struct{ evals, terms, near, keep int }

var coarseRounds = []coarseRound{
	{6, 1000, 16, 4}, {6, 1000, 16, 4}, {8, 2000, 16, 3}, {25, 4000, 16, 2}, {8, 6000, 32, 2},
}

// A coarse is what the climbs of a coarse search share.
type coarse struct {
	f      *fit
	op     *kernelmv.Op
	like   *kernelmv.Vecchia // of the round
	near   []nearest         // that have been found in it
	nn     int
	lo, hi []float64 // of z
	far    []float64 // log lengthscales beyond which an input hardly matters
	free   []bool
	share  []float64 // work areas of n numbers
	resid  []float64
}

// coarseCandidates returns where climbs of the Vecchia likelihood end, the best first,
// from the designed starts and from extra, with the noise of those at its floor raised
// as a further candidate. Candidates that were left carry the reason in Dropped.
func (f *fit) coarseCandidates(ctx context.Context, extra []Candidate) ([]Candidate, error) {
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
		s.begin(r)
		for _, a := range live {
			if err := s.climb(ctx, a, r.evals); err != nil {
				return nil, err
			}
		}
		slices.SortStableFunc(live, func(a, b *ascent) int { return cmp.Compare(b.value, a.value) })
		live = thin(live, r.keep, i == len(coarseRounds)-1)
	}
	return s.candidates(all), nil
}

// newCoarse prepares the search on all rows.
func newCoarse(f *fit) (*coarse, error) {
	d, n := f.std.X.Cols, f.std.X.Rows
	p := DefaultParams(f.opt.Kernel, d)
	op, err := kernelmv.NewOp(f.opt.Engine, f.std.X, kernelOf(p), noiseOf(p, f.std))
	if err != nil {
		return nil, err
	}
	op.SetTilesOnly(true) // no order of the points for products
	s := &coarse{f: f, op: op, share: make([]float64, n), resid: make([]float64, n)}
	s.lo, s.hi = logRange(d)
	s.free = make([]bool, d+3)
	for j := range d {
		sd := columnSD(f.std, j)
		s.hi[j] = math.Log(coarseRange * sd)
		s.far = append(s.far, math.Log(coarseFar*sd))
		s.free[j] = !f.flat[j]
	}
	s.hi[d] = math.Log(coarseVariance * varianceOf(f.std.Y))
	s.free[d], s.free[d+1], s.free[d+2] = true, true, !f.opt.FixMean
	return s, nil
}

// begin begins a round.
func (s *coarse) begin(r coarseRound) {
	if terms := min(r.terms, s.op.Dim()); s.like == nil || terms != s.like.Terms() || r.near != s.nn {
		s.like, s.nn, s.near = s.op.NewVecchia(terms, s.f.opt.Seed), r.near, nil
	}
}

// columnSD is the standard deviation of an input, 1 where it does not vary.
func columnSD(d *Data, j int) float64 {
	v := make([]float64, d.X.Rows)
	for i := range v {
		v[i] = d.X.At(i, j)
	}
	if sd := math.Sqrt(varianceOf(v)); sd > 0 {
		return sd
	}
	return 1
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

// candidates returns all climbs, the best first, and beside those that are left and have
// little noise the same with more of it: few neighbours in many inputs drive the noise
// to its floor, from where a search on all rows does not come back.
func (s *coarse) candidates(all []*ascent) []Candidate {
	slices.SortStableFunc(all, func(a, b *ascent) int {
		if (a.dropped == "") != (b.dropped == "") {
			return cmp.Compare(min(len(a.dropped), 1), min(len(b.dropped), 1))
		}
		return cmp.Compare(b.value, a.value)
	})
	var out []Candidate
	for _, a := range all {
		c := Candidate{From: a.start, By: "vecchia", Parameters: s.params(a.z), Value: Bound(a.value), Rows: s.f.raw.X.Rows,
			LML: Bound(math.NaN()), Evaluations: a.evals, Dropped: a.dropped}
		if a.dropped != "" {
			out = append(out, c)
			continue
		}
		for i, p := range noiseStarts(c.Parameters) {
			raised := c
			if raised.Parameters = p; i == 0 && p.Noise != c.Parameters.Noise {
				raised.From += fmt.Sprintf(", noise raised to %g", resetNoise)
			}
			out = append(out, raised)
		}
	}
	return out
}

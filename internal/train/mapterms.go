package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// Maps. In up to three inputs a row given its nearest earlier ones is told nearly all, so the Vecchia likelihood with
// all of its terms ends where that of all rows does, but for little: chm, 226139 rows, 24 and 64 neighbours end within
// 26 nats of each other. A sample of 12000 terms, which is enough beside some ten thousand rows, leaves n/12000 times
// what its parameters are off by, and real maps have a few rows that tell far more than others: 1.7e6 rows began
// 28,600 nats below their end. An evaluation of all terms takes a tenth of one by products.
//
// For the same reason the terms have the Fisher information of a map. Random rows lie hundreds of times as far apart as
// the neighbours that tell noise and lengthscales, and what they know of these grows by no power of n: it was 1.2 to 5
// times too much along a lengthscale. Where noise is great and lengths are long, neighbours have too little: 32 of them
// have .56 to .83 of the information of 64, where they tell .94 to 1.

const (
	mapTerms  = 12000 // are all of as many rows in the last round of the search
	allTerms  = -1    // of kernelmv.NewVecchia
	allNear   = 24
	allWorth  = 1    // nats that are worth a step there
	infoTerms = 6000 // have the information,
	infoPart  = 8    // or one of so many: along the ridge a few early terms have most of it
	infoNear  = 64
	infoShare = 0.75 // of it half of these neighbours have, or random rows tell more
)

// allRound follows the others where a table is a map.
var allRound = coarseRound{8, allTerms, allNear, 2}

// isMap says whether d at p is a map of more rows than a sample of terms has. In one input products cost no more than
// terms.
func isMap(d *gp.Table, p gp.Params) bool {
	used := cost.ActiveInputs(p)
	return used > 1 && used <= kernelmv.MapInputs && d.X.Rows > mapTerms
}

// byAllTerms lets those climbs go on with all terms that are of maps, and returns those that are left.
func (s *coarse) byAllTerms(ctx context.Context, live []*ascent) ([]*ascent, error) {
	for _, a := range live {
		if !isMap(s.f.Std, s.params(a.z)) {
			return live, nil
		}
	}
	if err := s.round(ctx, live, allRound); err != nil {
		return nil, err
	}
	return thin(live, allRound.keep, true), nil
}

// mapInformation is the Fisher information of a sample of terms at p, taken to all of them, and whether neighbours are
// enough to tell it.
func (t *Trainer) mapInformation(ctx context.Context, p gp.Params) (f information, tells bool, err error) {
	noise := gp.NoiseOf(p, t.d)
	op, err := kernelmv.NewOp(t.e, t.d.X, gp.KernelOf(p), noise)
	if err != nil {
		return nil, false, err
	}
	op.SetTilesOnly(true)
	like := op.NewVecchia(max(infoTerms, len(t.d.Y)/infoPart), t.eval.Seed+t.looks)
	resid, share := make([]float64, len(t.d.Y)), make([]float64, len(t.d.Y))
	for i, y := range t.d.Y {
		resid[i], share[i] = y-p.Mean, p.Noise*t.d.ScaleOf(i)
	}
	var scores [2]*kernelmv.Score
	for k, count := range []int{infoNear / 2, infoNear} {
		near, err := like.Find(ctx, count)
		if err != nil {
			return nil, false, err
		}
		if scores[k], err = like.Evaluate(ctx, near, resid, share); err != nil {
			return nil, false, err
		}
	}
	few, many := scores[0].Info, scores[1].Info
	if !evidence.AllFinite(many.Data...) {
		return nil, false, fmt.Errorf("%w: information of terms", gp.ErrNotFinite)
	}
	tells = true
	for j, inactive := range t.inactiveAt(t.Cur.P) {
		share := few.At(j, j) / many.At(j, j)
		tells = tells && (inactive || share > infoShare && share < 1/infoShare)
	}
	_, _, within := t.d.WithinGroups(p.Noise)
	at := many.Rows - 2
	many.Set(at, at, many.At(at, at)+within)
	if ev := t.Cur.Ev; ev != nil && ev.MeanInfo > 0 { // a few early terms tell the mean, which the sample may not have
		for i := range at + 1 {
			many.Set(i, at+1, 0)
			many.Set(at+1, i, 0)
		}
		many.Set(at+1, at+1, ev.MeanInfo)
	}
	return denseInformation{many}, tells, nil
}

// topsByAll returns the better one of two tops of each climb, or where it is, by random rows and all terms together:
// that of random rows alone, given as free, which may lie far away, and that beside what the terms tell near it.
func (s *coarse) topsByAll(ctx context.Context, live []*ascent, free []ridgeTop) ([]ridgeTop, error) {
	held, err := s.topsBeside(ctx, live, func(a *ascent) linalg.Matrix { return a.model.base.(denseInformation).f })
	if err != nil {
		return nil, err
	}
	best := make([]ridgeTop, len(live))
	for i, a := range live {
		best[i].P = s.params(a.z)
		for _, top := range []ridgeTop{free[i], held[i]} {
			if !(top.Gain > 0) {
				continue
			}
			score, err := s.evaluate(ctx, a, logVector(top.P))
			if err != nil {
				return nil, err
			}
			if gain := top.Gain + score.Value - a.value; gain > best[i].Gain {
				best[i] = ridgeTop{top.P, gain}
			}
		}
	}
	return best, nil
}

// raised is what is told of a with more noise: all terms of a rough function tell whether there is more, and where
// they say no, c is dropped.
func (s *coarse) raised(ctx context.Context, a *ascent, c *Candidate) error {
	if s.terms != allTerms || !tellsNoise(c.Parameters) {
		return nil
	}
	z := slices.Clone(a.z)
	z[len(z)-2] = math.Log(c.Parameters.Noise)
	score, err := s.evaluate(ctx, a, z)
	if err != nil {
		return err
	}
	c.Value = evidence.Bound(score.Value)
	if !(score.Value > a.value) {
		c.Dropped = fmt.Sprintf("by %d neighbours of all rows: %.4g nats behind", allNear, a.value-score.Value)
	}
	return nil
}

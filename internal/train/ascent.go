package train

import (
	"context"
	"math"
	"slices"

	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
)

// An ascent climbs the Vecchia likelihood from one start by Fisher scoring: with the
// information that comes with each value as metric, damped, within a radius that failures
// shorten. Neighbours follow the lengthscales.
type ascent struct {
	start   string
	z       []float64
	value   float64   // -Inf before the first evaluation
	parts   []float64 // of which value is the sum, but for repeated rows
	grad    []float64
	model   quadraticModel
	radius  float64
	near    nearest
	free    []bool // what it may move
	evals   int
	done    bool
	dropped string
}

// A nearest is the neighbours of the rows at z: only the ratios of the lengthscales matter.
type nearest struct {
	*kernelmv.Nearest
	z []float64
}

const (
	ascentRadius = 1.5 // the first, in logarithms
	ascentMost   = 3.0 // the longest
	ascentLeast  = 1e-3
)

// from returns the ascent from c.
func (s *coarse) from(c Candidate) *ascent {
	p := c.Parameters.Clone()
	a := &ascent{start: c.From, z: logVector(p), value: math.Inf(-1), radius: ascentRadius, free: s.free}
	a.model = quadraticModel{e: s.f.Config.Engine, damping: firstDamping}
	for i := range a.z {
		a.z[i] = min(max(a.z[i], s.lo[i]), s.hi[i])
	}
	return a
}

// params returns the parameters at z.
func (s *coarse) params(z []float64) gp.Params {
	return fromLog(s.f.Config.Kernel, z, make([]bool, len(z)-3))
}

// climb takes steps until so many evaluations are spent or nothing is to be gained.
func (s *coarse) climb(ctx context.Context, a *ascent, evals int) error {
	end := a.evals + evals
	for a.done = false; a.evals < end && !a.done; {
		if a.evals == end-evals || s.apart(a.near.z, a.z) > coarseRenew {
			if err := s.settle(ctx, a); err != nil {
				return err
			}
			continue
		}
		delta, predicted := s.step(a)
		if predicted < s.worth() {
			break
		}
		z := slices.Clone(a.z)
		for i, v := range delta {
			z[i] += v
		}
		score, err := s.evaluate(ctx, a, z)
		if err != nil {
			return err
		}
		a.judge(z, score, delta, predicted)
	}
	return nil
}

// worth is the gain that is worth a step: with all terms of a map they are many, and dear.
func (s *coarse) worth() float64 {
	if s.terms == allTerms {
		return allWorth
	}
	return coarseWorth
}

// apart tells how far the ratios of the lengthscales at y and z are from each other, in
// logarithms.
func (s *coarse) apart(y, z []float64) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for j := range len(z) - 3 {
		if s.free[j] {
			// Beyond the ranges an input does not tell what is near.
			d := min(z[j], s.far[j]) - min(y[j], s.far[j])
			lo, hi = min(lo, d), max(hi, d)
		}
	}
	return (hi - lo) / 2
}

// settle finds neighbours for the ascent where it is, and its value with them.
func (s *coarse) settle(ctx context.Context, a *ascent) (err error) {
	if a.near, err = s.neighbours(ctx, a.z); err != nil {
		return err
	}
	score, err := s.evaluate(ctx, a, a.z)
	if err != nil {
		return err
	}
	a.take(a.z, score)
	if !gp.Finite(a.value) {
		a.value, a.done = math.Inf(-1), true
	}
	return nil
}

// take moves the ascent to z.
func (a *ascent) take(z []float64, score *kernelmv.Score) {
	a.z, a.value, a.parts, a.grad, a.model.base = z, score.Value, score.Parts, score.Gradient,
		denseInformation{score.Info}
}

// neighbours returns those that were found near z in this round, or finds them.
func (s *coarse) neighbours(ctx context.Context, z []float64) (n nearest, err error) {
	for _, n := range s.found {
		if s.apart(n.z, z) < coarseRenew/2 {
			return n, nil
		}
	}
	p := s.params(z)
	if err := s.op.Reset(gp.KernelOf(p), gp.NoiseOf(p, s.f.Std)); err != nil {
		return n, err
	}
	n.z = slices.Clone(z)
	n.Nearest, err = s.like.Find(ctx, s.near)
	s.found = append(s.found, n)
	return n, err
}

// evaluate returns the likelihood at z with the neighbours of the ascent, and that of
// repeated rows about their means.
func (s *coarse) evaluate(ctx context.Context, a *ascent, z []float64) (*kernelmv.Score, error) {
	a.evals++
	p, d := s.params(z), s.f.Std
	noise := gp.NoiseOf(p, d)
	if err := s.op.Reset(gp.KernelOf(p), noise); err != nil {
		return nil, err
	}
	for i, y := range d.Y {
		s.resid[i], s.share[i] = y-p.Mean, p.Noise*d.ScaleOf(i)
	}
	score, err := s.like.Evaluate(ctx, a.near.Nearest, s.resid, s.share)
	if err != nil {
		return nil, err
	}
	value, slope, info := d.WithinGroups(p.Noise)
	at := len(z) - 2
	score.Value += value
	score.Gradient[at] += slope * p.Noise
	score.Info.Set(at, at, score.Info.At(at, at)+info)
	return score, nil
}

// step maximises the model of the ascent within its radius.
func (s *coarse) step(a *ascent) (delta []float64, predicted float64) {
	n := len(a.z)
	lo, hi := make([]float64, n), make([]float64, n)
	room := math.Log(mostCondition / float64(s.f.Std.X.Rows))
	for i, z := range a.z {
		radius := a.radius
		if i == n-1 {
			radius = math.Inf(1)
		}
		lo[i], hi[i] = min(max(s.lo[i]-z, -radius), 0), max(min(s.hi[i]-z, radius), 0)
	}
	hi[n-3] = max(min(hi[n-3], a.z[n-2]+room-a.z[n-3]), 0)
	return a.model.step(a.grad, lo, hi, a.free)
}

// judge moves the ascent to z if that is higher, and learns from the step.
func (a *ascent) judge(z []float64, score *kernelmv.Score, delta []float64, predicted float64) {
	longest := 0.0
	for _, v := range delta[:len(delta)-1] {
		longest = max(longest, math.Abs(v))
	}
	if !(score.Value > a.value) || !gp.Finite(score.Value) {
		a.radius, a.model.damping = longest/3, max(4*a.model.damping, 0.01)
		a.done = a.radius < ascentLeast
		return
	}
	switch ratio := (score.Value - a.value) / predicted; {
	case ratio > 0.6:
		a.model.damping, a.radius = max(a.model.damping/4, 1e-6), min(2*a.radius, ascentMost)
	case ratio < 0.2:
		a.model.damping, a.radius = max(2*a.model.damping, 0.01), max(longest/2, ascentLeast)
	}
	a.take(z, score)
}

// meets says whether two ascents are at one place: a move from one to the other is
// worth little by the metric of the better one, b.
func (a *ascent) meets(b *ascent) bool {
	if a.grad == nil || b.grad == nil {
		return false
	}
	d := make([]float64, len(a.z))
	for i := range d {
		d[i] = a.z[i] - b.z[i]
	}
	apart := -denseSystem{b.model.base.(denseInformation).f}.quadratic(make([]float64, len(d)), d)
	return apart < coarseSame && b.value-a.value < coarseSame
}

// beyondDoubt says whether b is better than a by more than its terms leave open: they
// are a sample, and even all of them are one draw.
func (a *ascent) beyondDoubt(b *ascent) bool {
	return b.value-a.value > coarseSame+coarseDoubt*a.doubt(b)
}

// doubt is the standard error of the difference of two ascents over their terms.
func (a *ascent) doubt(b *ascent) float64 {
	n, sum, squares := float64(len(a.parts)), 0.0, 0.0
	for i, v := range b.parts {
		sum += v - a.parts[i]
	}
	for i, v := range b.parts {
		e := v - a.parts[i] - sum/n
		squares += e * e
	}
	return math.Sqrt(squares)
}

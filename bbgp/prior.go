package bbgp

import (
	"context"
	"math"

	"bbgp.dev/internal/gp"
)

// With no more rows than parameters the likelihood has no interior maximum, and with
// not many more a poor one: it often grows as lengthscales and variance run off together, or as the noise goes
// to zero, and intervals become razor-thin. Such fits add weak normal priors of
// the logarithms, in standardised units:
//
//	log ℓ_j ~ N(log √D, 1),   log σ_f² ~ N(0, 1),   log σ_n² ~ N(log 0.1, 2²).
//
// The priors only guide the search: the likelihood that is reported is without them.

const (
	priorNoise   = 0.1
	priorNoiseSD = 2
)

// tooFewRows says whether n rows cannot identify the parameters of D inputs.
func tooFewRows(n, d int) bool { return n <= d+3 }

// A guide says how far the priors count in the fit of n rows of d inputs: in full up to
// d + 3 rows, not at all from 10 d on, and in proportion between. known says that the
// noise needs none: repeated rows tell it, or its variances were given.
type guide struct {
	weight float64
	known  bool
}

func (f *fit) guide() guide {
	n, d := f.full.X.Rows, f.raw.X.Cols
	if f.opt.NoScale {
		return guide{}
	}
	w := 1.0
	if !tooFewRows(n, d) {
		w = max(float64(10*d-n)/float64(10*d-(d+3)), 0)
	}
	return guide{w, f.raw.X.Rows < n || f.full.NoiseExtra != nil}
}

// logPrior returns the logarithm of the priors in full, up to a constant, without that
// of the noise if it is known; grad, if not nil, receives what they add to the
// derivatives by the natural parameters.
func logPrior(p Params, known bool, grad *Gradient) float64 {
	sum := 0.0
	term := func(v, center, sd float64, slope *float64) {
		z := math.Log(v/center) / sd
		sum -= 0.5 * z * z
		if slope != nil {
			*slope -= z / (sd * v)
		}
	}
	var variance, noise *float64
	if grad != nil {
		variance, noise = &grad.Variance, &grad.Noise
	}
	term(p.Variance, 1, 1, variance)
	if !known {
		term(p.Noise, priorNoise, priorNoiseSD, noise)
	}
	center := math.Sqrt(float64(len(p.Lengthscales)))
	for j, l := range p.Lengthscales {
		var slope *float64
		if math.IsInf(l, 1) {
			l = gp.FarLength // out of the distance
		} else if grad != nil {
			slope = &grad.Lengthscales[j]
		}
		term(l, center, 1, slope)
	}
	return sum
}

// A guided objective adds the priors.
type guided struct {
	objective
	guide
}

// Evaluate evaluates the likelihood times the priors.
func (o guided) Evaluate(ctx context.Context, p Params, opt EvalOptions) (*Evaluation, error) {
	slope := &Gradient{Lengthscales: make([]float64, len(p.Lengthscales))}
	value := o.weight * logPrior(p, o.known, slope)
	if reject := opt.Reject; reject != nil {
		opt.Reject = func(upper float64) bool { return reject(upper + value) }
	}
	ev, err := o.objective.Evaluate(ctx, p, opt)
	if err != nil {
		return nil, err
	}
	if g := ev.Gradient; g != nil {
		g.Variance += o.weight * slope.Variance
		g.Noise += o.weight * slope.Noise
		for j, s := range slope.Lengthscales {
			g.Lengthscales[j] += o.weight * s
		}
	}
	ev.add(value)
	return ev, nil
}

// add adds what is known exactly to the value and its bounds.
func (ev *Evaluation) add(v float64) {
	ev.LML += v
	ev.Lower += v
	ev.Upper += v
}

// unguide takes the priors out of a result.
func (g guide) unguide(r *Result) {
	if g.weight == 0 {
		return
	}
	v := g.weight * logPrior(r.Parameters, g.known, nil)
	r.LML -= v
	r.Lower -= Bound(v)
	r.Upper -= Bound(v)
	r.Interval95.add(-v)
	r.Interval999.add(-v)
}

// remark says that priors were at work.
func (g guide) remark(r *Result) {
	if g.weight == 0 {
		return
	}
	words := "do not identify"
	if g.weight < 1 {
		words = "hardly identify"
	}
	r.warn("%d rows %s the lengthscales of %d inputs: weak priors keep the parameters bounded; intervals rest on them", r.N, words, r.D)
}

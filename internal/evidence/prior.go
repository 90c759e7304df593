package evidence

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

// TooFewRows says whether n rows cannot identify the parameters of D inputs.
func TooFewRows(n, d int) bool { return n <= d+3 }

// A Prior says how far the priors count in the fit of n rows of d inputs: in full up to
// d + 3 rows, not at all from 10 d on, and in proportion between. known says that the
// noise needs none: repeated rows tell it, or its variances were given.
type Prior struct {
	Weight float64
	Known  bool
}

// LogPrior returns the logarithm of the priors in full, up to a constant, without that
// of the noise if it is known; grad, if not nil, receives what they add to the
// derivatives by the natural parameters.
func LogPrior(p gp.Params, known bool, grad *Gradient) float64 {
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

// A WithPrior objective adds the priors.
type WithPrior struct {
	Estimator
	Prior
}

// Evaluate evaluates the likelihood times the priors.
func (o WithPrior) Evaluate(ctx context.Context, p gp.Params, opt Options) (*Value, error) {
	slope := &Gradient{Lengthscales: make([]float64, len(p.Lengthscales))}
	value := o.Weight * LogPrior(p, o.Known, slope)
	if reject := opt.Reject; reject != nil {
		opt.Reject = func(upper float64) bool { return reject(upper + value) }
	}
	ev, err := o.Estimator.Evaluate(ctx, p, opt)
	if err != nil {
		return nil, err
	}
	if g := ev.Gradient; g != nil {
		g.Variance += o.Weight * slope.Variance
		g.Noise += o.Weight * slope.Noise
		for j, s := range slope.Lengthscales {
			g.Lengthscales[j] += o.Weight * s
		}
	}
	ev.Add(value)
	return ev, nil
}

// Add adds what is known exactly to the value and its bounds.
func (ev *Value) Add(v float64) {
	ev.LML += v
	ev.Lower += v
	ev.Upper += v
}

package bbgp

import (
	"context"
	"math"
)

// With no more rows than parameters the likelihood has no interior maximum: it
// often grows as lengthscales and variance run off together, or as the noise goes
// to zero, and intervals become razor-thin. Such fits add weak normal priors of
// the logarithms, in standardised units:
//
//	log ℓ_j ~ N(log √D, 1),   log σ_f² ~ N(0, 1),   log σ_n² ~ N(log 0.1, 2²).
//
// Repeated rows tell the noise without a prior. The priors only guide the search:
// the likelihood that is reported is without them.

const (
	priorNoise   = 0.1
	priorNoiseSD = 2
)

// tooFewRows says whether n rows cannot identify the parameters of D inputs.
func tooFewRows(n, d int) bool { return n <= d+3 }

// logPrior returns the logarithm of the priors, up to a constant; grad, if not
// nil, receives what they add to the derivatives by the natural parameters.
func logPrior(p Params, repeats bool, grad *Gradient) float64 {
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
	if !repeats {
		term(p.Noise, priorNoise, priorNoiseSD, noise)
	}
	center := math.Sqrt(float64(len(p.Lengthscales)))
	for j, l := range p.Lengthscales {
		var slope *float64
		if math.IsInf(l, 1) {
			l = farLength // out of the distance
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
	repeats bool // there are repeated rows
}

// Evaluate evaluates the likelihood times the priors.
func (o guided) Evaluate(ctx context.Context, p Params, opt EvalOptions) (*Evaluation, error) {
	value := logPrior(p, o.repeats, nil)
	if reject := opt.Reject; reject != nil {
		opt.Reject = func(upper float64) bool { return reject(upper + value) }
	}
	ev, err := o.objective.Evaluate(ctx, p, opt)
	if err != nil {
		return nil, err
	}
	if ev.Gradient != nil {
		logPrior(p, o.repeats, ev.Gradient)
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

// unguided takes the priors out of a result.
func (r *Result) unguided() {
	v := logPrior(r.Parameters, r.Distinct < r.N, nil)
	r.LML -= v
	r.Lower -= Bound(v)
	r.Upper -= Bound(v)
	r.warn("%d rows do not identify the lengthscales of %d inputs: weak priors keep the parameters bounded; intervals rest on them", r.N, r.D)
}

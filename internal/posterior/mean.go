package posterior

import (
	"context"
	"math"

	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// Options say what Predict computes. The zero value asks for means alone.
type Options struct {
	SD bool // asks for bounds of means and variances
	// SDTol is the relative half width of the interval of a standard deviation.
	SDTol float64
	// MeanTol bounds the error of means: the weights are solved for again if they are
	// known to less. 0 takes them as they are, or solves to the package's MeanTol where
	// nothing is known of them.
	MeanTol float64
	// Dense asks for a Cholesky factor of K̂; Rigorous for bounds that do not rest on
	// random probes or estimates.
	Dense, Rigorous bool
	// Once lets go of all that was prepared: the next call makes it anew.
	Once bool
}

// A Prediction holds one value for each of the rows asked for, standardised.
type Prediction struct {
	Mean []float64
	// MeanError bounds what the weights, and the form of the products, cost any mean.
	MeanError float64
	// MeanSeen estimates what the means asked for are off by, at most, where MeanError is larger
	// than asked for; else it is MeanError.
	MeanSeen float64
	// Lo and Hi are bounds of var f; the exact mean differs from Mean by Shift ± Width; nil
	// unless asked for.
	Lo, Hi, Shift, Width []float64
	// Kind tells what the bounds rest on: exact, rigorous or probable.
	Kind string
}

// Predict returns means c + k*'α at the rows of xs and, where asked for, bounds:
//
//	|error| <= (σ_f² r'K̂⁻¹r)^1/2,   var = σ_f² - k*'K̂⁻¹k*,
//
// r the residual of α; e nil means the engine of the last call, or the default one.
func (p *Posterior) Predict(ctx context.Context, e *linalg.Engine, xs linalg.Matrix, opt Options) (*Prediction, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if opt.Once {
		defer func() { p.prepared = prepared{round: p.round, tried: p.tried} }()
	}
	if opt.SD && (opt.Dense || opt.Rigorous) {
		if err := p.prepare(ctx, e, true); err != nil {
			return nil, err
		}
		if p.chol == nil && (opt.Dense || !p.pre.NodeIsOne()) {
			if err := p.factor(ctx); err != nil {
				return nil, err
			}
		}
	}
	out, err := p.means(ctx, e, xs, opt.MeanTol)
	if err != nil || !opt.SD {
		return out, err
	}
	if err := p.prepare(ctx, e, true); err != nil {
		return nil, err
	}
	v, err := p.variances(ctx, xs, opt)
	if err != nil {
		return nil, err
	}
	switch {
	case p.chol != nil:
		out.Kind = "exact"
	case (p.probes == nil || opt.Rigorous) && p.pre.NodeIsOne():
		out.Kind = "rigorous"
	default:
		out.Kind = "probable"
	}
	form := max(out.MeanError-p.meanError, 0)
	for i := range v.width {
		v.width[i] += form
	}
	out.Lo, out.Hi, out.Shift, out.Width = v.lo, v.hi, v.shift, v.width
	return out, nil
}

// means predicts means, with the weights solved for as tol asks.
func (p *Posterior) means(ctx context.Context, e *linalg.Engine, xs linalg.Matrix, tol float64) (*Prediction, error) {
	var err error
	if tol > 0 && p.meanError > tol {
		err = p.refine(ctx, e, tol)
	} else {
		err = p.solved(ctx, e)
	}
	if err != nil {
		return nil, err
	}
	out := &Prediction{Mean: make([]float64, xs.Rows), MeanError: p.meanError}
	if err := p.prepare(ctx, e, false); err != nil || xs.Rows == 0 {
		return out, err
	}
	dst := linalg.Column(out.Mean)
	if out.MeanError, err = p.meansTo(ctx, dst, xs, tol); err != nil {
		return nil, err
	}
	for i := range out.Mean {
		out.Mean[i] += p.params.Mean
	}
	out.MeanSeen = out.MeanError
	if tol > 0 && p.meanError > tol {
		if err = p.prepare(ctx, e, true); err == nil {
			out.MeanSeen, err = p.seen(ctx, xs)
		}
	}
	return out, err
}

const (
	// A Source costs as much as the means of some thousand rows, and is made once so many
	// were asked for.
	sourceRows = 2048
	// formMean is what a Source may do to a mean, in standard deviations of the target.
	formMean = 1e-4
	// leastSource is the finest tolerance of an entry that a Source is asked for.
	leastSource = 1e-13
	mostSource  = 1e-5 // and the largest, as in training
)

// meansTo sets out to K(X*, X) α and returns what bounds the error of a mean, of which
// the form of the product leaves room for asked, where that is not 0.
func (p *Posterior) meansTo(ctx context.Context, out, xs linalg.Matrix, asked float64) (float64, error) {
	alpha := linalg.Column(p.weights)
	p.op.SetPrecision(kernelmv.F64)
	if p.asked += xs.Rows; p.asked < sourceRows || asked > 0 && asked < 10*formMean {
		return p.meanError, p.op.CrossMulTo(ctx, out, xs, alpha)
	}
	if p.source == nil {
		sum := 0.0
		for _, a := range p.weights {
			sum += math.Abs(a)
		}
		tol := formMean / (p.params.Variance * sum)
		if !(tol >= leastSource) {
			tol = 0 // dense
		}
		var err error
		if p.source, err = p.op.NewSource(ctx, alpha, min(tol, mostSource)); err != nil {
			p.source = nil
			return 0, err
		}
	}
	return p.meanError + p.source.Error(0), p.source.MulTo(ctx, out, xs)
}

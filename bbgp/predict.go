package bbgp

import (
	"context"
	"fmt"
	"math"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/bbgp/score"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/posterior"
	"bbgp.dev/linalg"
)

// PredictOptions say what Predict computes. The zero value asks for means alone.
type PredictOptions struct {
	// SD asks for standard deviations and for bounds.
	SD bool
	// SDTol is the relative half width of the interval that SD is known to; 0
	// means 0.05.
	SDTol float64
	// MeanTol bounds the error of the mean in standard deviations of the target:
	// the weights are solved for again if they are known to less. 0 takes the
	// weights as the fit has left them, to 1e-3 where rounding allows.
	MeanTol float64
	// Dense asks for deviations by Cholesky of the whole matrix, 8n² bytes and n³/3
	// multiply-adds once, where the model would not do so: in this and later calls.
	Dense bool
	// Rigorous asks for bounds that do not rest on random probes or estimates:
	// conjugate gradients with a preconditioner of low rank, where the model has
	// that, and Dense otherwise. Much slower.
	Rigorous bool
	// NoiseScale and NoiseExtra, if not nil, are those of the rows asked for (see Data):
	// SDObs and Laws are then for noise of variance σ_n² d + e, and for σ_n² otherwise.
	NoiseScale, NoiseExtra []float64
	// Once lets go of what the call has prepared, which is kept for later ones otherwise: the memory of deviations
	// of n rows is that of some passes over the kernel matrix, or of a dense one.
	Once bool
	// Engine computes; nil means that of the last call, or the default one: the best
	// routines of this CPU on GOMAXPROCS threads.
	Engine *linalg.Engine
}

// A Prediction holds one value for each of the m rows asked for, in the units of
// the target.
type Prediction struct {
	Mean []float64
	// SD is the standard deviation of f, SDObs that of a new observation, noise
	// included; nil unless asked for. Where the law is not normal, with few rows or
	// after a robust fit, they are half the width of the central 95 % interval over
	// 1.96. +Inf stands for what one row does not tell.
	SD, SDObs []float64
	// Laws are those of new observations; nil unless SD was asked for.
	Laws []score.Law
	// MeanError bounds what the weights cost any mean, in standard deviations of the
	// target. Where it is larger than the MeanTol asked for, rounding allowed no more;
	// the bounds of single rows are closer.
	MeanError float64
	// MeanSeen estimates what the means of these rows are off by, at most, where MeanError is
	// larger than asked for; else it is MeanError.
	MeanSeen float64
	// The exact answers lie between these bounds; nil unless SD was asked for.
	MeanLower, MeanUpper, SDLower, SDUpper []float64
	// BoundKind tells what the bounds of the rows rest on, that of the weakest:
	// exact (dense, but for rounding), rigorous, or probable, where each bound of
	// a row fails with probability 1e-6 over the random probes of the model
	// (internal/posterior/probes.go), or rests on an estimate of the smallest eigenvalue (cgvariance.go).
	BoundKind enum.BoundKind
}

// Predict returns means and, if asked for, standard deviations at the rows of
// xs, m×D in the units of the data. What it prepares is kept for later calls, whatever
// their engines; one call runs at a time. It returns a *DataError for inputs that are not
// finite.
//
//	mean = c + k*'α,   |error| <= (σ_f² r'K̂⁻¹r)^1/2, r the residual of α
//	var  = σ_f² - k*'K̂⁻¹k*
//
// The variance is bracketed, see internal/posterior/variance.go; SD is the middle of its interval.
func (m *Model) Predict(ctx context.Context, xs linalg.Matrix, opt PredictOptions) (*Prediction, error) {
	if err := checkCall(ctx, opt.Engine); err != nil {
		return nil, err
	}
	if err := m.checkInputs(xs); err != nil {
		return nil, err
	}
	if !gp.Finite(opt.SDTol) || opt.SDTol < 0 {
		return nil, &OptionError{Option: "sdtol", Reason: fmt.Sprintf("%v is not a positive number", opt.SDTol)}
	}
	if err := checkNoise(opt.NoiseScale, opt.NoiseExtra, xs.Rows); err != nil {
		return nil, err
	}
	if !gp.Finite(opt.MeanTol) || opt.MeanTol < 0 {
		return nil, &OptionError{Option: "meantol", Reason: fmt.Sprintf("%v is not a positive number", opt.MeanTol)}
	}
	setDefault(&opt.SDTol, 0.05)
	p := &Prediction{}
	if m.Result.ConstantTarget {
		m.predictConstant(p, xs.Rows, opt.SD)
		return p, nil
	}
	out, err := m.post.Predict(ctx, opt.Engine, m.standardised(xs), posterior.Options{SD: opt.SD, SDTol: opt.SDTol,
		MeanTol: opt.MeanTol, Dense: opt.Dense, Rigorous: opt.Rigorous, Once: opt.Once})
	if err != nil {
		return nil, err
	}
	p.Mean, p.MeanError, p.MeanSeen = out.Mean, out.MeanError, out.MeanSeen
	for i, v := range p.Mean {
		p.Mean[i] = m.Scaling.YMean + m.Scaling.YScale*v
	}
	if opt.SD {
		p.BoundKind = enum.BoundKind(out.Kind)
		m.deviations(p, out)
		m.observe(p, opt)
	}
	return p, nil
}

// standardised returns the rows of xs in standardised units.
func (m *Model) standardised(xs linalg.Matrix) linalg.Matrix {
	std := linalg.NewMatrix(xs.Rows, xs.Cols)
	m.Scaling.XTo(std, xs)
	return std
}

// deviations adds standard deviations and bounds to p.
func (m *Model) deviations(p *Prediction, of *posterior.Prediction) {
	p.makeDeviations()
	s := m.Scaling.YScale
	for i := range p.SD {
		p.SDLower[i], p.SDUpper[i] = s*math.Sqrt(of.Lo[i]), s*math.Sqrt(of.Hi[i])
		p.SD[i] = (p.SDLower[i] + p.SDUpper[i]) / 2
		off := m.Scaling.YRounding(p.Mean[i])
		p.MeanLower[i] = p.Mean[i] + s*min(0, of.Shift[i]-of.Width[i]) - off
		p.MeanUpper[i] = p.Mean[i] + s*max(0, of.Shift[i]+of.Width[i]) + off
	}
}

func (p *Prediction) makeDeviations() {
	for _, v := range []*[]float64{&p.SD, &p.SDObs, &p.MeanLower, &p.MeanUpper, &p.SDLower, &p.SDUpper} {
		*v = make([]float64, len(p.Mean))
	}
}

// checkInputs tells whether the rows of xs can be predicted.
func (m *Model) checkInputs(xs linalg.Matrix) error {
	if err := m.ready(); err != nil {
		return err
	}
	if err := checkMatrix(xs); err != nil {
		return err
	}
	if xs.Cols != m.D() {
		return &DataError{Row: -1, Reason: fmt.Sprintf("%d inputs, the model has %d", xs.Cols, m.D())}
	}
	for i := range xs.Rows {
		for j, v := range xs.Row(i) {
			if !gp.Finite(v) {
				return &DataError{Row: i, Column: m.Names[j], Reason: fmt.Sprintf("%v is not a finite number", v)}
			}
			if !(math.Abs((v-m.Scaling.XMean[j])/m.Scaling.XScale[j]) <= gp.MostSpread) {
				return &DataError{Row: i, Column: m.Names[j], Reason: gp.TooFar(v)}
			}
		}
	}
	return nil
}

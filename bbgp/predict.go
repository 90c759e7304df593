package bbgp

import (
	"context"
	"fmt"
	"math"

	"bbgp.dev/bbgp/score"
	"bbgp.dev/internal/gp"
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
	// multiply-adds once, where the model would not do so: in this and later calls
	// with the same engine.
	Dense bool
	// Rigorous asks for bounds that do not rest on random probes or estimates:
	// conjugate gradients with a preconditioner of low rank, where the model has
	// that, and Dense otherwise. Much slower.
	Rigorous bool
	// NoiseScale and NoiseExtra, if not nil, are those of the rows asked for (see Data):
	// SDObs and Laws are then for noise of variance σ_n² d + e, and for σ_n² otherwise.
	NoiseScale, NoiseExtra []float64
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
	// The exact answers lie between these bounds; nil unless SD was asked for.
	MeanLower, MeanUpper, SDLower, SDUpper []float64
	// BoundKind tells what the bounds of the rows rest on, that of the weakest:
	// exact (dense, but for rounding), rigorous, or probable, where each bound of
	// a row fails with probability 1e-6 over the random probes of the model
	// (gauge.go), or rests on an estimate of the smallest eigenvalue (bracket.go).
	BoundKind string
}

// Predict returns means and, if asked for, standard deviations at the rows of
// xs, m×D in the units of the data; e nil means the default engine. It keeps
// what it prepares for later calls with the same engine; one call runs at a
// time. It returns a *DataError for inputs that are not finite.
//
//	mean = c + k*'α,   |error| <= (σ_f² r'K̂⁻¹r)^1/2, r the residual of α
//	var  = σ_f² - k*'K̂⁻¹k*
//
// The variance is bracketed, see variance.go; SD is the middle of its interval.
func (m *Model) Predict(ctx context.Context, e *linalg.Engine, xs linalg.Matrix, opt PredictOptions) (*Prediction,
	error) {
	if err := checkCall(ctx, e); err != nil {
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
	setNumber(&opt.SDTol, 0.05)
	e, err := m.engineOr(e)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	std := linalg.NewMatrix(xs.Rows, xs.Cols)
	m.Scaling.XTo(std, xs)
	if opt.SD && !m.Result.ConstantTarget {
		if err := m.factorIf(ctx, e, opt); err != nil {
			return nil, err
		}
	}
	p, err := m.means(ctx, e, std, opt.MeanTol)
	if err != nil || !opt.SD {
		return p, err
	}
	return p, m.deviations(ctx, e, std, p, opt)
}

// Inputs copies an m×D matrix of inputs, such as a gonum mat.Matrix, for Predict
// and Sample; DataFrom does so for Fit.
func Inputs(m Dense) linalg.Matrix { return DataFrom(m, nil).X }

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
			if !(math.Abs((v-m.Scaling.XMean[j])/m.Scaling.XScale[j]) <= MostSpread) {
				return &DataError{Row: i, Column: m.Names[j], Reason: fmt.Sprintf("%v is too far from the training rows for distances to be computed", v)}
			}
		}
	}
	return nil
}

// engineOr returns e, or the default engine if that is nil.
func (m *Model) engineOr(e *linalg.Engine) (*linalg.Engine, error) {
	if e != nil {
		return e, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.prep != nil {
		return m.prep.e, nil
	}
	return linalg.NewEngine(nil, 0)
}

// factorIf makes the dense factor, and the weights by it, where opt asks for that.
func (m *Model) factorIf(ctx context.Context, e *linalg.Engine, opt PredictOptions) error {
	if !opt.Dense && !opt.Rigorous {
		return nil
	}
	p, err := m.prepare(ctx, e, true)
	if err != nil || p.chol != nil || !opt.Dense && p.pre.NodeIsOne() {
		return err
	}
	return m.factor(ctx, p)
}

// means predicts at standardised rows.
func (m *Model) means(ctx context.Context, e *linalg.Engine, std linalg.Matrix, tol float64) (*Prediction, error) {
	p := &Prediction{Mean: make([]float64, std.Rows)}
	s := &m.Scaling
	if m.Result.ConstantTarget {
		for i := range p.Mean {
			p.Mean[i] = s.YMean + s.YScale*m.Parameters.Mean
		}
		return p, nil
	}
	if tol > 0 && m.meanError > tol || math.IsInf(m.meanError, 1) {
		// Or: a fit that was interrupted left weights of unknown accuracy.
		if tol == 0 {
			tol = meanTol
		}
		if err := m.refineLocked(ctx, e, tol); err != nil {
			return nil, err
		}
	}
	p.MeanError = m.meanError
	pr, err := m.prepare(ctx, e, false)
	if err != nil || std.Rows == 0 {
		return p, err
	}
	out := linalg.Matrix{Rows: std.Rows, Cols: 1, Stride: 1, Data: p.Mean}
	if p.MeanError, err = m.meansTo(ctx, pr, out, std, tol); err != nil {
		return nil, err
	}
	for i, v := range p.Mean {
		p.Mean[i] = s.YMean + s.YScale*(v+m.Parameters.Mean)
	}
	return p, nil
}

// deviations adds standard deviations and bounds to p.
func (m *Model) deviations(ctx context.Context, e *linalg.Engine, std linalg.Matrix, p *Prediction,
	opt PredictOptions) error {
	n := std.Rows
	for _, v := range []*[]float64{&p.SD, &p.SDObs, &p.MeanLower, &p.MeanUpper, &p.SDLower, &p.SDUpper} {
		*v = make([]float64, n)
	}
	if m.Result.ConstantTarget {
		m.certain(p)
		return nil
	}
	pr, err := m.prepare(ctx, e, true)
	if err != nil {
		return err
	}
	v, err := m.variances(ctx, pr, std, opt)
	if err != nil {
		return err
	}
	switch {
	case pr.chol != nil:
		p.BoundKind = "exact"
	case (pr.gauge == nil || opt.Rigorous) && pr.pre.NodeIsOne():
		p.BoundKind = "rigorous"
	default:
		p.BoundKind = "probable"
	}
	s, form := m.Scaling.YScale, max(p.MeanError-m.meanError, 0)
	for i := range n {
		v.width[i] += form
		p.SDLower[i], p.SDUpper[i] = s*math.Sqrt(v.lo[i]), s*math.Sqrt(v.hi[i])
		p.SD[i] = (p.SDLower[i] + p.SDUpper[i]) / 2
		p.MeanLower[i] = p.Mean[i] + s*min(0, v.shift[i]-v.width[i])
		p.MeanUpper[i] = p.Mean[i] + s*max(0, v.shift[i]+v.width[i])
	}
	m.observe(p, opt)
	return nil
}

package bbgp

import (
	"context"
	"fmt"
	"math/rand/v2"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/posterior"
	"bbgp.dev/linalg"
)

// SampleOptions say what Sample draws. The zero value asks for one draw of the
// posterior function.
type SampleOptions struct {
	Draws int // 0 means 1
	Seed  uint64
	Prior bool // draw from the prior, without the data
	// Noise adds noise, of variance σ_n² d + e: draws of observations. NoiseScale and
	// NoiseExtra, if not nil, are d and e of the rows asked for, as in PredictOptions.
	Noise                  bool
	NoiseScale, NoiseExtra []float64
	// Features is the number of random frequencies where the prior cannot be drawn
	// exactly; 0 means 4096, a negative value asks for them at any size.
	Features int
	// Tol bounds the error of the solves, in standard deviations of the target; 0
	// means 1e-3.
	Tol float64
	// Engine computes; nil means that of the last call, or the default one.
	Engine *linalg.Engine
}

// Samples holds joint draws at m rows.
type Samples struct {
	Values linalg.Matrix // m×Draws, in the units of the target
	Exact  bool          // the prior was drawn exactly
	// CovRMS and CovMax are the error of the features' covariance, in σ_f², over
	// random pairs of rows: root mean square and largest; 0 for exact draws.
	CovRMS, CovMax float64
	SolveError     float64 // bound of the solves' error, in standard deviations of the target
}

func (o *SampleOptions) settle() error {
	switch {
	case o.Draws < 0:
		return &OptionError{Option: "draws", Reason: fmt.Sprintf("%d is negative", o.Draws)}
	case !gp.Finite(o.Tol) || o.Tol < 0:
		return &OptionError{Option: "tol", Reason: fmt.Sprintf("%v is not a positive number", o.Tol)}
	}
	setDefault(&o.Draws, 1)
	setDefault(&o.Features, 4096)
	setDefault(&o.Tol, posterior.MeanTol)
	return nil
}

// Sample draws the function, or observations of it, jointly at the rows of xs, m×D
// in the units of the data. It returns a *DataError for inputs that are not finite, an
// *OptionError, or a *MemoryError for what would go beyond Go's limit of memory.
func (m *Model) Sample(ctx context.Context, xs linalg.Matrix, opt SampleOptions) (*Samples, error) {
	if err := checkCall(ctx, opt.Engine); err != nil {
		return nil, err
	}
	if err := m.checkInputs(xs); err != nil {
		return nil, err
	}
	if err := opt.settle(); err != nil {
		return nil, err
	}
	if err := checkNoise(opt.NoiseScale, opt.NoiseExtra, xs.Rows); err != nil {
		return nil, err
	}
	draw := posterior.DrawOptions{Draws: opt.Draws, Seed: opt.Seed, Prior: opt.Prior, Features: opt.Features,
		Tol: opt.Tol}
	if err := cost.Fits("a sample of so many draws or features", m.N(), m.D(),
		m.post.DrawBytes(xs.Rows, draw)); err != nil {
		return nil, err
	}
	s := &Samples{Values: linalg.NewMatrix(xs.Rows, opt.Draws), Exact: true}
	if xs.Rows > 0 && !m.Result.ConstantTarget {
		drawn, err := m.post.Draw(ctx, opt.Engine, m.standardised(xs), draw)
		if err != nil {
			return nil, err
		}
		*s = Samples(*drawn)
	}
	rng := rand.New(rand.NewPCG(opt.Seed, 0x6f627365))
	for i := range xs.Rows {
		for c, v := range s.Values.Row(i) {
			switch {
			case m.Result.ConstantTarget:
				v = m.Parameters.Mean
			case opt.Noise:
				v += m.noiseDraw(rng, at(opt.NoiseScale, i, 1), at(opt.NoiseExtra, i, 0))
			}
			s.Values.Set(i, c, m.Scaling.YMean+m.Scaling.YScale*v)
		}
	}
	return s, nil
}

package bbgp

import (
	"context"
	"fmt"
	"math"
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
// in the units of the data. Where rows are few a draw of the posterior is one of Student's t: its
// deviations from the mean have a factor of their own, see law.go. It returns a *DataError for inputs
// that are not finite and for a model of one row, an *OptionError, or a *MemoryError for what would go
// beyond Go's limit of memory.
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
	if m.Result.ConstantTarget && m.Result.N == 1 && xs.Rows > 0 {
		return nil, &DataError{Row: -1, Reason: "the model is of one row, which does not tell how far off others " +
			"are: there is nothing to draw from"}
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
	l := m.lawyer()
	grow, err := m.widen(ctx, l, s.Values, xs, &opt)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(opt.Seed, 0x6f627365))
	for i := range xs.Rows {
		for c, v := range s.Values.Row(i) {
			switch {
			case m.Result.ConstantTarget:
				v = m.Parameters.Mean
			case opt.Noise:
				v += m.noiseDraw(rng, l, grow[c], at(opt.NoiseScale, i, 1), at(opt.NoiseExtra, i, 0))
			}
			s.Values.Set(i, c, m.Scaling.YMean+m.Scaling.YScale*v)
		}
	}
	return s, nil
}

// widen gives draws the law of an observation where rows are few (law.go): the deviations of draw c from
// the mean are multiplied by grow_c^1/2, grow_c = (n/ν) ν/χ²_ν, one factor for all rows, since what is not
// known is the size of the variances. It returns grow, ones where the law is normal and for the prior.
func (m *Model) widen(ctx context.Context, l *lawyer, draws, xs linalg.Matrix,
	opt *SampleOptions) ([]float64, error) {
	grow := make([]float64, draws.Cols)
	for c := range grow {
		grow[c] = 1
	}
	if l.df == 0 || opt.Prior || m.Result.ConstantTarget || draws.Rows == 0 {
		return grow, nil
	}
	mean, err := m.post.Predict(ctx, opt.Engine, m.standardised(xs), posterior.Options{MeanTol: opt.Tol})
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(opt.Seed, 0x73697a65))
	for c := range grow {
		grow[c] = l.grow * l.df / chiSquare(rng, l.df)
	}
	for i, at := range mean.Mean {
		for c, v := range draws.Row(i) {
			draws.Set(i, c, at+math.Sqrt(grow[c])*(v-at))
		}
	}
	return grow, nil
}

// noiseDraw draws the noise of a row, in standardised units; grow is that of the draw. Noise of Student's t
// has a factor of each row.
func (m *Model) noiseDraw(rng *rand.Rand, l *lawyer, grow, scale, extra float64) float64 {
	v := m.Parameters.Noise * scale
	if df := m.Result.NoiseDF; df > 0 {
		grow = l.grow
		chi := 0.0
		for range int(df) {
			z := rng.NormFloat64()
			chi += z * z
		}
		v /= chi / df
	}
	return math.Sqrt(grow*v+extra/(m.Scaling.YScale*m.Scaling.YScale)) * rng.NormFloat64()
}

// chiSquare draws χ² of ν degrees of freedom, also of a part of one: twice a gamma variable of shape ν/2
// (Marsaglia and Tsang 2000).
func chiSquare(rng *rand.Rand, df float64) float64 {
	shape, small := df/2, 1.0
	if shape < 1 {
		small = math.Pow(rng.Float64(), 1/shape)
		shape++
	}
	d := shape - 1.0/3
	for {
		z := rng.NormFloat64()
		v := 1 + z/(3*math.Sqrt(d))
		if v <= 0 {
			continue
		}
		v *= v * v
		if math.Log(rng.Float64()) < z*z/2+d*(1-v+math.Log(v)) {
			return 2 * d * v * small
		}
	}
}

package bbgp

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// Draws of the function by pathwise conditioning (Wilson et al. 2020, Matheron's
// rule): for a draw f of the prior at training and new rows together and draws e of
// the noise,
//
//	f(X*) + K(X*, X) K̂⁻¹ (y - c - f(X) - e)
//
// is a draw of the posterior at X*, jointly for all rows. The draw of the prior is
// exact, L z with K = LL', for few rows, and a sum of random features (fourier.go)
// otherwise. An error of the features' covariance hardly matters near the data,
// where the correction replaces it.

// exactDrawRows is the number of rows, training and new, up to which the prior is
// drawn exactly: n³ work and 16 n² bytes.
const exactDrawRows = 3000

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
	setNumber(&o.Draws, 1)
	setNumber(&o.Features, 4096)
	setNumber(&o.Tol, meanTol)
	return nil
}

// Sample draws the function, or observations of it, jointly at the rows of xs, m×D
// in the units of the data; e nil means the default engine. It returns a
// *DataError for inputs that are not finite, or an *OptionError.
func (m *Model) Sample(ctx context.Context, e *linalg.Engine, xs linalg.Matrix, opt SampleOptions) (*Samples, error) {
	if err := checkCall(ctx, e); err != nil {
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
	features := 2 * math.Abs(float64(opt.Features)) // drawn where the rows are too many to draw exactly
	values := float64(xs.Rows+m.N()) + features
	if err := fitsMemory("a sample of so many draws or features",
		8*(3*values*float64(opt.Draws)+features*float64(m.D()+2048))); err != nil {
		return nil, err
	}
	e, err := m.engineOr(e)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &Samples{Values: linalg.NewMatrix(xs.Rows, opt.Draws), Exact: true}
	std := linalg.NewMatrix(xs.Rows, xs.Cols)
	m.Scaling.XTo(std, xs)
	if xs.Rows > 0 && !m.Result.ConstantTarget {
		if err := m.draw(ctx, e, std, s, opt); err != nil {
			return nil, err
		}
	}
	rng := rand.New(rand.NewPCG(opt.Seed, 0x6f627365))
	for i := range xs.Rows {
		for c, v := range s.Values.Row(i) {
			v += m.Parameters.Mean
			if opt.Noise && !m.Result.ConstantTarget {
				v += m.noiseDraw(rng, at(opt.NoiseScale, i, 1), at(opt.NoiseExtra, i, 0))
			}
			s.Values.Set(i, c, m.Scaling.YMean+m.Scaling.YScale*v)
		}
	}
	return s, nil
}

// draw sets the values of s, in standardised units and without the mean.
func (m *Model) draw(ctx context.Context, e *linalg.Engine, std linalg.Matrix, s *Samples, opt SampleOptions) error {
	p, err := m.prepare(ctx, e, !opt.Prior)
	if err != nil {
		return err
	}
	n := m.N()
	all := std
	if opt.Prior {
		n = 0
	} else {
		all = stack(m.x, std)
	}
	f := linalg.NewMatrix(all.Rows, opt.Draws)
	rng := rand.New(rand.NewPCG(opt.Seed, 0x64726177)) // the second word is the stream of this use
	if s.Exact = all.Rows <= exactDrawRows && opt.Features > 0; s.Exact {
		err = m.drawExact(ctx, p, all, f, rng)
	} else {
		err = m.drawFeatures(ctx, p, all, f, rng, s, opt)
	}
	if err != nil {
		return err
	}
	s.Values.CopyFrom(f.Sub(n, f.Rows, 0, f.Cols))
	if opt.Prior {
		return nil
	}
	return m.condition(ctx, p, std, f.Sub(0, n, 0, f.Cols), rng, s, opt)
}

// stack returns the rows of a and, after them, of b.
func stack(a, b linalg.Matrix) linalg.Matrix {
	all := linalg.NewMatrix(a.Rows+b.Rows, a.Cols)
	all.Sub(0, a.Rows, 0, a.Cols).CopyFrom(a)
	for i := range b.Rows {
		copy(all.Row(a.Rows+i), b.Row(i))
	}
	return all
}

// drawExact sets f = L z, K = LL' at the rows of x. Pivoting deals with rows that
// repeat.
func (m *Model) drawExact(ctx context.Context, p *prepared, x, f linalg.Matrix, rng *rand.Rand) error {
	op, err := kernelmv.NewOp(p.e, x, m.kernelFor(p), nil)
	if err != nil {
		return err
	}
	l, _, _, err := linalg.PivotedCholesky(ctx, p.e, op, linalg.PivotOptions{MaxRank: x.Rows})
	if err != nil {
		return err
	}
	z := linalg.NewMatrix(l.Cols, f.Cols)
	for i := range z.Data {
		z.Data[i] = rng.NormFloat64()
	}
	p.e.GemmTo(f, 1, l, false, z, false, 0)
	return nil
}

// kernelFor is the kernel with the inputs that do not vary in training out of the
// distance.
func (m *Model) kernelFor(p *prepared) kernelmv.Kernel {
	k := gp.KernelOf(m.Parameters)
	k.Lengthscales = append([]float64{}, k.Lengthscales...)
	for _, j := range p.op.Dropped() {
		k.Lengthscales[j] = math.Inf(1)
	}
	return k
}

// condition adds K(X*, X) K̂⁻¹ (y - c - f - e) to the values, for draws f at the
// training rows, which it overwrites.
func (m *Model) condition(ctx context.Context, p *prepared, std, f linalg.Matrix, rng *rand.Rand, s *Samples,
	opt SampleOptions) error {
	n := m.N()
	for i, noise := range p.op.Noise() {
		for c, v := range f.Row(i) {
			f.Set(i, c, m.y[i]-m.Parameters.Mean-v-math.Sqrt(noise)*rng.NormFloat64())
		}
	}
	w := linalg.NewMatrix(n, f.Cols)
	if p.chol != nil {
		p.chol.SolveTo(w, f)
	} else if err := m.solveDraws(ctx, p, w, f, s, opt.Tol); err != nil {
		return err
	}
	p.op.SetPrecision(kernelmv.F64)
	for i := 0; i < std.Rows; i += varianceBlock {
		j := min(i+varianceBlock, std.Rows)
		out := linalg.NewMatrix(j-i, f.Cols)
		if err := p.op.CrossMulTo(ctx, out, std.Sub(i, j, 0, std.Cols), w); err != nil {
			return err
		}
		for a := range out.Rows {
			row := s.Values.Row(i + a)
			for c, v := range out.Row(a) {
				row[c] += v
			}
		}
	}
	return nil
}

// solveDraws sets w = K̂⁻¹ f by conjugate gradients.
func (m *Model) solveDraws(ctx context.Context, p *prepared, w, f linalg.Matrix, s *Samples, tol float64) error {
	const batch = 32
	n := m.N()
	cg := linalg.NewCG(p.e, n, min(batch, f.Cols))
	for c := 0; c < f.Cols; c += batch {
		to := min(c+batch, f.Cols)
		b, x := f.Sub(0, n, c, to).Clone(), linalg.NewMatrix(n, to-c)
		res, err := cg.Solve(ctx, p.op.With(kernelmv.F64), p.pre, x, b,
			linalg.CGOptions{Tol: tol * math.Sqrt(p.node/m.Parameters.Variance), Verify: true})
		if err != nil {
			return fmt.Errorf("solving for the draws: %w", err)
		}
		for _, rpr := range res.RPR {
			s.SolveError = max(s.SolveError, math.Sqrt(m.Parameters.Variance*rpr/p.node))
		}
		w.Sub(0, n, c, to).CopyFrom(x)
	}
	return nil
}

package posterior

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
	"bbgp.dev/linalg/precond"
)

// Draws of the function by pathwise conditioning (Wilson et al. 2020, Matheron's
// rule): for a draw f of the prior at training and new rows together and draws e of
// the noise,
//
//	f(X*) + K(X*, X) K̂⁻¹ (y - c - f(X) - e)
//
// is a draw of the posterior at X*, jointly for all rows. The draw of the prior is
// exact, L z with K = LL', for few rows, and a sum of random features (features.go)
// otherwise. An error of the features' covariance hardly matters near the data,
// where the correction replaces it.

// exactDrawRows is the number of rows, training and new, up to which the prior is
// drawn exactly: n³ work and 16 n² bytes.
const exactDrawRows = 3000

// DrawOptions say what Draw draws.
type DrawOptions struct {
	Draws int
	Seed  uint64
	Prior bool // without the data
	// Features is the number of random frequencies where the prior cannot be drawn
	// exactly; a negative value asks for them at any size.
	Features int
	Tol      float64 // bound of the error of the solves, in standard deviations of the target
}

// Draws are joint draws at m rows, standardised.
type Draws struct {
	Values linalg.Matrix // m×Draws
	Exact  bool          // the prior was drawn exactly
	// CovRMS and CovMax are the error of the features' covariance, in σ_f², over
	// random pairs of rows: root mean square and largest; 0 for exact draws.
	CovRMS, CovMax float64
	SolveError     float64 // bound of the solves' error, in standard deviations of the target
}

// Draw draws the function at the rows of xs; e nil means the engine of the last call, or
// the default one.
func (p *Posterior) Draw(ctx context.Context, e *linalg.Engine, xs linalg.Matrix, opt DrawOptions) (*Draws, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &Draws{Values: linalg.NewMatrix(xs.Rows, opt.Draws), Exact: true}
	if err := p.draw(ctx, e, xs, s, opt); err != nil {
		return nil, err
	}
	for i := range xs.Rows {
		row := s.Values.Row(i)
		for c := range row {
			row[c] += p.params.Mean
		}
	}
	return s, nil
}

// DrawBytes predicts what Draw takes at so many rows, beside the model: the rows, their prior and the factor or the
// features that it is drawn by, and the dense factor of the model, where that solves for the draws.
func (p *Posterior) DrawBytes(rows int, opt DrawOptions) float64 {
	const row, of = 8 + 44, 16 << 10 // bytes of an input, stacked and packed; and of a feature, in blocks
	solver := 0.0
	if !opt.Prior {
		rows += p.N()
		if p.spec.Dense {
			solver = float64(cost.DenseBytes(p.N()))
		}
	}
	all, draws := float64(rows), float64(opt.Draws)
	bytes := solver + all*(24*draws+float64(row*p.D()))
	if exactly(rows, opt) {
		return bytes + 18*all*all
	}
	return bytes + math.Abs(float64(opt.Features))*(of+float64(16*p.D())+16*draws)
}

// exactly says whether the prior is drawn exactly at so many rows, those of training among them.
func exactly(rows int, opt DrawOptions) bool { return rows <= exactDrawRows && opt.Features > 0 }

// draw sets the values of s, in standardised units and without the mean.
func (p *Posterior) draw(ctx context.Context, e *linalg.Engine, xs linalg.Matrix, s *Draws, opt DrawOptions) error {
	if err := p.prepare(ctx, e, !opt.Prior); err != nil {
		return err
	}
	n := p.N()
	all := xs
	if opt.Prior {
		n = 0
	} else {
		all = stack(p.data.X, xs)
	}
	f := linalg.NewMatrix(all.Rows, opt.Draws)
	rng := rand.New(rand.NewPCG(opt.Seed, 0x64726177)) // the second word is the stream of this use
	var err error
	if s.Exact = exactly(all.Rows, opt); s.Exact {
		err = p.drawExact(ctx, all, f, rng)
	} else {
		err = p.drawFeatures(ctx, all, f, rng, s, opt)
	}
	if err != nil {
		return err
	}
	s.Values.CopyFrom(f.Sub(n, f.Rows, 0, f.Cols))
	if opt.Prior {
		return nil
	}
	return p.condition(ctx, xs, f.Sub(0, n, 0, f.Cols), rng, s, opt)
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
func (p *Posterior) drawExact(ctx context.Context, x, f linalg.Matrix, rng *rand.Rand) error {
	op, err := kernelmv.NewOp(p.e, x, p.kernel(), nil)
	if err != nil {
		return err
	}
	l, _, _, err := precond.PivotedCholesky(ctx, p.e, op, precond.PivotOptions{MaxRank: x.Rows})
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

// kernel is the kernel with the inputs that do not vary in training out of the
// distance.
func (p *Posterior) kernel() kernelmv.Kernel {
	k := gp.KernelOf(p.params)
	k.Lengthscales = append([]float64{}, k.Lengthscales...)
	for _, j := range p.op.Dropped() {
		k.Lengthscales[j] = math.Inf(1)
	}
	return k
}

// condition adds K(X*, X) K̂⁻¹ (y - c - f - e) to the values, for draws f at the
// training rows, which it overwrites.
func (p *Posterior) condition(ctx context.Context, xs, f linalg.Matrix, rng *rand.Rand, s *Draws,
	opt DrawOptions) error {
	n := p.N()
	for i, noise := range p.op.Noise() {
		for c, v := range f.Row(i) {
			f.Set(i, c, p.data.Y[i]-p.params.Mean-v-math.Sqrt(noise)*rng.NormFloat64())
		}
	}
	w := linalg.NewMatrix(n, f.Cols)
	converged := false
	if p.chol == nil {
		var err error
		if converged, err = p.solveDraws(ctx, w, f, s, opt.Tol); err != nil {
			return err
		}
	}
	if !converged && (p.chol != nil || n <= exactDrawRows) {
		if err := p.factor(ctx); err != nil {
			return err
		}
		p.chol.SolveTo(w, f)
		s.SolveError = 0
	}
	p.op.SetPrecision(kernelmv.F64)
	for i := 0; i < xs.Rows; i += varianceBlock {
		j := min(i+varianceBlock, xs.Rows)
		out := linalg.NewMatrix(j-i, f.Cols)
		if err := p.op.CrossMulTo(ctx, out, xs.Sub(i, j, 0, xs.Cols), w); err != nil {
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

// solveDraws sets w = K̂⁻¹ f by conjugate gradients, and says whether they have converged: with no more distinct rows
// than columns of a block they may not begin.
func (p *Posterior) solveDraws(ctx context.Context, w, f linalg.Matrix, s *Draws, tol float64) (bool, error) {
	const batch = 32
	n := p.N()
	cg, converged := krylov.NewCG(p.e, n, min(batch, f.Cols)), true
	for c := 0; c < f.Cols; c += batch {
		to := min(c+batch, f.Cols)
		b, x := f.Sub(0, n, c, to).Clone(), linalg.NewMatrix(n, to-c)
		res, err := cg.Solve(ctx, p.op.With(kernelmv.F64), p.pre, x, b,
			krylov.CGOptions{Tol: tol * math.Sqrt(p.node/p.params.Variance), Verify: true})
		if err != nil {
			return false, fmt.Errorf("solving for the draws: %w", err)
		}
		converged = converged && res.Converged
		for _, rpr := range res.RPR {
			s.SolveError = max(s.SolveError, math.Sqrt(p.params.Variance*rpr/p.node))
		}
		w.Sub(0, n, c, to).CopyFrom(x)
	}
	return converged, nil
}

package posterior

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
)

// Refine solves for the weights K̂α = y - c in float64, from those that are there,
// until the error of every mean is at most tol.
func (p *Posterior) Refine(ctx context.Context, e *linalg.Engine, tol float64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refine(ctx, e, tol)
}

func (p *Posterior) refine(ctx context.Context, e *linalg.Engine, tol float64) error {
	if err := p.prepare(ctx, e, true); err != nil {
		return err
	}
	if p.tried > 0 && p.tried <= tol {
		return nil // rounding allows no more
	}
	return p.improve(ctx, tol)
}

const (
	// hopelessMean is a bound of the error of means, in standard deviations of the target,
	// that says nothing.
	hopelessMean = 1
	// rescueRows is the number of rows up to which a dense factor is made for the weights: it
	// takes n³/3 of the quickest operations, a second for 5000 rows.
	rescueRows = 12000
	// soundMean is an error of means, seen by a solution for it that has converged, that is not worth the
	// factor of more than lookFirst rows: the bound is of the worst of all rows, 1e5 times what is seen
	// on bike (noise 1e-10 σ_f²).
	soundMean = 1e-3
	lookFirst = 3000
)

// Rescue solves for the weights with a dense factor where the preconditioner of the fit has
// led nowhere: the noise is then so small, 1e-12 σ_f² and the like, that conjugate gradients
// turn in rounding. Where even the factor is rounding, or would not fit the memory, what is
// there stays.
func (p *Posterior) Rescue(ctx context.Context, e *linalg.Engine) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.meanError <= hopelessMean || p.N() > rescueRows {
		return nil
	}
	if err := p.prepare(ctx, e, true); err != nil || p.chol != nil {
		return err
	}
	if p.N() > lookFirst {
		seen, err := p.meansSeen(ctx)
		if err != nil || p.leftSound && seen <= soundMean {
			return err
		}
	}
	err := p.factor(ctx)
	p.chol, p.delta = nil, nil // deviations are found as spec says, as from a file
	var memory *gp.MemoryError
	if errors.Is(err, gp.ErrNotFinite) || errors.As(err, &memory) {
		return nil
	}
	return err
}

// The bound of improve is what the worst of all k* may cost, of length σ_f in the eyes of K̂⁻¹:
// where the noise is 1e-9 σ_f², as for bike, it is 1e5 times what a mean at a row like those of
// the training is off by. Residuals that are rounding are random, and their weights
// δ = K̂⁻¹r tell how far a mean is off: by k*'δ. They do not mend it: K̂α is rounded anew.

const (
	lookTol    = 0.1 // of δ, relative
	lookPasses = 24
	lookRows   = 256 // of each kind of rows to look at
)

// residual returns y - c - K̂α in float64, α the weights.
func (p *Posterior) residual(ctx context.Context, weights []float64) (linalg.Matrix, error) {
	r := linalg.NewMatrix(p.N(), 1)
	if err := p.op.With(kernelmv.F64).MulTo(ctx, r, linalg.Column(weights)); err != nil {
		return r, err
	}
	for i, y := range p.data.Y {
		r.Data[i] = y - p.params.Mean - r.Data[i]
	}
	return r, nil
}

// residualWeights returns δ.
func (p *Posterior) residualWeights(ctx context.Context) (linalg.Matrix, error) {
	if p.left != nil {
		return linalg.Column(p.left), nil
	}
	n := p.N()
	pr, x := linalg.NewMatrix(n, 1), linalg.NewMatrix(n, 1)
	r, err := p.residual(ctx, p.weights)
	if err != nil {
		return x, err
	}
	p.pre.SolveTo(pr, r)
	res, err := krylov.NewCG(p.e, n, 1).Solve(ctx, p.op.With(kernelmv.F64), p.pre, x, r,
		krylov.CGOptions{Tol: lookTol * math.Sqrt(max(p.e.Dot(r.Data, pr.Data), 0)), MaxPasses: lookPasses})
	if err != nil && !errors.Is(err, krylov.ErrNotDefinite) {
		return x, err
	}
	p.left, p.leftSound = x.Data, err == nil && res.Converged
	return x, nil
}

// seen estimates what means at the rows of xs are off by, at most: twice the largest |k*'δ|.
func (p *Posterior) seen(ctx context.Context, xs linalg.Matrix) (float64, error) {
	if p.chol != nil {
		return p.meanError, nil
	}
	delta, err := p.residualWeights(ctx)
	if err != nil {
		return 0, err
	}
	out, most := linalg.NewMatrix(xs.Rows, 1), 0.0
	p.op.SetPrecision(kernelmv.F64)
	if err := p.op.CrossMulTo(ctx, out, xs, delta); err != nil {
		return 0, err
	}
	for _, v := range out.Data {
		most = max(most, math.Abs(v))
	}
	return min(2*most, p.meanError), nil
}

// MeansSeen estimates what means at training rows, between them and, at twice their distance
// from the middle, outside of them are off by, at most, in standard deviations of the target.
func (p *Posterior) MeansSeen(ctx context.Context, e *linalg.Engine) (float64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.prepare(ctx, e, p.left == nil); err != nil {
		return 0, err
	}
	return p.meansSeen(ctx)
}

func (p *Posterior) meansSeen(ctx context.Context) (float64, error) {
	n := p.N()
	at := gp.Subset(n, min(n, lookRows), p.spec.Seed^0x6c6f6f6b) // the stream of this use
	k := len(at)
	xs := linalg.NewMatrix(3*k, p.D())
	for i, row := range at {
		a, b := p.data.X.Row(row), p.data.X.Row(at[(i+1)%k])
		for j, v := range a {
			xs.Set(i, j, v)
			xs.Set(k+i, j, (v+b[j])/2)
			xs.Set(2*k+i, j, 2*v) // rows are about 0
		}
	}
	return p.seen(ctx, xs)
}

// solved solves for weights of which nothing is known, as a fit leaves them that was
// interrupted.
func (p *Posterior) solved(ctx context.Context, e *linalg.Engine) error {
	if !math.IsInf(p.meanError, 1) {
		return nil
	}
	return p.refine(ctx, e, MeanTol)
}

// improve solves for the weights by conjugate gradients with what p solves with, and
// takes what is better than those that are there, by a residual computed from them:
//
//	|k*'(α - K̂⁻¹(y-c))| <= (k*'K̂⁻¹k*)^1/2 (r'K̂⁻¹r)^1/2 <= (σ_f² r'P⁻¹r/a)^1/2
//
// With a dense factor P is K̂ but for rounding, and asking for more costs nothing.
func (p *Posterior) improve(ctx context.Context, tol float64) error {
	n, asked := p.N(), tol
	b, x := linalg.NewMatrix(n, 1), linalg.NewMatrix(n, 1)
	for i, y := range p.data.Y {
		b.Data[i] = y - p.params.Mean
	}
	var f linalg.Solver = p.pre
	node := p.node
	if p.chol != nil {
		f, node, tol = p.chol, 1, min(tol, denseTol)
	}
	copy(x.Data, p.weights)
	res, err := krylov.NewCG(p.e, n, 1).Solve(ctx, p.op.With(kernelmv.F64), f, x, b,
		krylov.CGOptions{Tol: tol * math.Sqrt(node/p.params.Variance), Warm: p.weights != nil, Verify: true})
	if err != nil {
		return fmt.Errorf("solving for the weights: %w", err)
	}
	left, err := p.formError(ctx, x)
	if err != nil {
		return err
	}
	// All at once: a call that is interrupted leaves what the next one needs.
	p.weights, p.meanError, p.delta = x.Data, math.Sqrt(p.params.Variance*res.RPR[0]/node)+left, nil
	p.tried, p.probes, p.left = asked, nil, nil // which was measured for the old weights
	for _, r := range p.runners {
		r.source = nil
	}
	return nil
}

// sampledRows is the number of rows of K that are evaluated exactly.
const sampledRows = 240

// formError estimates what the form of the products adds to meanError, 0 for dense ones:
// of E α some rows are evaluated exactly, and r'K̂⁻¹r <= |r|²/noise.
func (p *Posterior) formError(ctx context.Context, alpha linalg.Matrix) (float64, error) {
	if _, h2, err := p.op.Work(ctx, kernelmv.F64); !h2 || err != nil {
		return 0, err
	}
	n := p.N()
	at := gp.Subset(n, min(n, sampledRows), p.spec.Seed^0x726f7773)
	xs, exact, approx := linalg.NewMatrix(len(at), p.D()), linalg.NewMatrix(len(at), 1), linalg.NewMatrix(n, 1)
	for i, row := range at {
		copy(xs.Row(i), p.data.X.Row(row))
	}
	if err := p.op.CrossMulTo(ctx, exact, xs, alpha); err != nil {
		return 0, err
	}
	if err := p.op.With(kernelmv.F64).MulTo(ctx, approx, alpha); err != nil {
		return 0, err
	}
	noise, sum := p.op.Noise(), 0.0
	for i, row := range at {
		e := approx.Data[row] - noise[row]*alpha.Data[row] - exact.Data[i]
		sum += e * e
	}
	size := 2 * math.Sqrt(sum/float64(len(at))*float64(n))
	return math.Sqrt(p.params.Variance/slices.Min(noise)) * size, nil
}

// needDelta makes delta, K̂⁻¹r by the dense factor, r the residual of the weights: means are off by k*'δ.
func (p *Posterior) needDelta(ctx context.Context) error {
	if p.delta != nil {
		return nil
	}
	r, err := p.residual(ctx, p.weights)
	if err != nil {
		return err
	}
	p.chol.SolveTo(r, r)
	p.delta = r.Data
	return nil
}

// checkPairs and checkRows bound the work of checkWeights: half a millisecond for 2000 rows, 2 for many.
const checkPairs, checkRows = 1_000_000, 128

// checkWeights tells whether the weights of a model from a file solve K̂α = y - c in a
// sample of the rows, of all where they are few. With σ_f² r'K̂⁻¹r <= e², e the error
// of the mean that the file promises, and K̂ <= nσ_f² + σ_n²,
//
//	r_i² <= |r|² <= e² (n + σ_n²/σ_f²)
//
// and rounding. e may rest on an estimate of the spectrum: hence ten times that.
func (p *Posterior) checkWeights(ctx context.Context, op *kernelmv.Op) error {
	if !p.unproven || math.IsInf(p.meanError, 1) {
		return nil
	}
	n, sum := p.N(), 0.0
	for _, a := range p.weights {
		sum += math.Abs(a)
	}
	rows := max(min(n, checkPairs/n, checkRows), 1)
	xs, out := linalg.NewMatrix(rows, p.D()), linalg.NewMatrix(rows, 1)
	for k := range rows {
		copy(xs.Row(k), p.data.X.Row(k*n/rows))
	}
	if err := op.CrossMulTo(ctx, out, xs, linalg.Column(p.weights)); err != nil {
		return err
	}
	variance, noise := p.params.Variance, op.Noise()
	for k := range rows {
		i := k * n / rows
		r := p.data.Y[i] - p.params.Mean - out.Data[k] - noise[i]*p.weights[i]
		limit := 10*p.meanError*math.Sqrt(float64(n)+noise[i]/variance) + 1e-6 +
			1e-9*(variance*sum+noise[i]*math.Abs(p.weights[i]))
		if !(math.Abs(r) <= limit) {
			return &gp.FileError{Reason: fmt.Sprintf("damaged: the weights do not belong to the rows and "+
				"parameters: row %d is off by %.3g standard deviations of the target", i+1, r)}
		}
	}
	p.unproven = false
	return nil
}

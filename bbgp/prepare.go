package bbgp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/lanczos"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// A recipe says how to build the preconditioner that predictions use; it is
// stored with the model instead of the preconditioner itself.
type recipe struct {
	Dense      bool    `json:"dense"` // by Cholesky of the whole matrix instead
	Rank       int     `json:"rank"`
	Neighbours int     `json:"neighbours"`
	Seed       uint64  `json:"seed"`
	Node       float64 `json:"node"` // lower end of the spectrum of F⁻¹K̂F⁻ᵀ
}

const (
	// meanTol bounds the error of predicted means after a fit, in standard
	// deviations of the target.
	meanTol  = 1e-3
	denseTol = 1e-9 // of means by a dense factor
	// vecchiaNode is a cautious lower end of the spectrum of F⁻¹K̂F⁻ᵀ with a
	// Vecchia part: on the UCI sets it was 0.03 to 0.34 (method card, 2.1).
	vecchiaNode = 0.01
	// Tolerances of products below n², far finer than evaluations need: each decade costs a
	// tenth, and there is no correction afterwards.
	predictTol32, predictTol64 = 1e-8, 1e-11
)

// recipeOf returns the recipe for a model whose last evaluation was ev.
func recipeOf(opt *Options, ev *evidence.Value) recipe {
	n := int64(len(ev.Alpha))
	fits := opt.budget().HasRoom(4 * 8 * n * n)
	r := recipe{Dense: opt.Method == "exact" || n <= cost.DenseRows && fits && !opt.NoDense, Rank: ev.Rank,
		Neighbours: ev.Neighbours, Seed: opt.Seed, Node: ev.Node}
	if opt.Method != "exact" && opt.Method != "bbgp" { // their ranks mean something else
		r.Rank, r.Neighbours, r.Node = -1, -1, 0
	}
	return r
}

// prepared holds what predictions need beside the model's own arrays.
type prepared struct {
	e    *linalg.Engine
	op   *kernelmv.Op
	pre  *linalg.Precond  // unless dense
	chol *linalg.Cholesky // if dense
	node float64
	// round is what rounding may do to bounds.
	round *rounding
	// delta is K̂⁻¹r, r the residual of the weights, where there is a dense factor.
	delta []float64
	// sharp is the preconditioner for variances, whose many solves pay for a
	// larger rank: on elevators (n = 11121) rank 600 saves 2 of 5 passes.
	sharp *linalg.Precond

	source *kernelmv.Source // of the weights, once enough means were asked for
	means  int              // rows whose mean was asked for

	tried   float64 // least error of means that was solved for
	asked   int     // rows whose variance was asked for
	gauge   *gauge  // once there were enough
	noGauge bool    // it does not converge
}

const sharpRank = 600

// prepare returns the operator and, with solver set, what solves with K̂. It
// keeps them for the next call. The caller holds m.mu.
func (m *Model) prepare(ctx context.Context, e *linalg.Engine, solver bool) (*prepared, error) {
	p := m.prep
	if p == nil || p.e != e {
		op, err := kernelmv.NewOp(e, m.x, gp.KernelOf(m.Parameters), gp.NoiseOf(m.Parameters, m.data()))
		if err != nil {
			return nil, &ParamError{Key: "lengthscales", Reason: err.Error()}
		}
		p = &prepared{e: e, op: op}
		p.op.SetPrecision(kernelmv.F64)
		if err := m.checkWeights(ctx, p); err != nil {
			return nil, err
		}
		p.op.SetForm(kernelmv.FormAuto, predictTol32, predictTol64)
		if p.round, err = m.newRounding(op); err != nil {
			return nil, err
		}
		m.prep = p
	}
	switch {
	case !solver || p.pre != nil || p.chol != nil:
		return p, nil
	case m.recipe.Dense:
		return p, m.factor(ctx, p)
	}
	set := linalg.PrecondOptions{Rank: m.recipe.Rank, Neighbours: m.recipe.Neighbours, Seed: m.recipe.Seed}
	if m.recipe.Rank < 0 {
		set, _ = cost.Precond(m.N(), m.Parameters, p.op.Noise(), kernelmv.F64,
			cost.Request{Rank: -1, Neighbours: -1, Costs: m.Result.Costs})
		set.Seed = m.recipe.Seed
	}
	if err := fitsMemory("the preconditioner for predictions",
		16*float64(m.N())*float64(set.Rank+set.Neighbours)); err != nil {
		return nil, err
	}
	pre, err := linalg.NewPrecond(ctx, e, p.op, p.op.Noise(), set)
	if err != nil {
		return nil, err
	}
	p.pre = pre
	m.recipe.Rank, m.recipe.Neighbours = pre.Rank(), pre.Neighbours()
	switch {
	case pre.NodeIsOne():
		p.node = 1
	case m.recipe.Node > 0:
		p.node = m.recipe.Node
	default:
		p.node = vecchiaNode
	}
	return p, nil
}

// factor makes chol.
func (m *Model) factor(ctx context.Context, p *prepared) error {
	if p.chol != nil {
		return nil
	}
	if err := fitsMemory("the dense factor for predictions", 8*float64(m.N())*float64(m.N())); err != nil {
		return err
	}
	o := &gp.Cholesky{Engine: p.e, Op: p.op, Table: m.data(), A: linalg.NewMatrix(m.N(), m.N())}
	if err := o.Factor(ctx, m.Parameters); err != nil {
		return err
	}
	p.chol = o.Chol
	switch {
	case m.weights == nil:
		return nil
	case m.recipe.Dense: // whose weights a dense factor has found
		return m.measure(ctx, p)
	}
	return m.improve(ctx, p, denseTol)
}

func (m *Model) data() *gp.Table {
	return &gp.Table{X: m.x, Y: m.y, NoiseScale: m.noiseScale, NoiseExtra: m.noiseExtra}
}

// refine solves for the weights K̂α = y - c in float64, from what m.weights
// holds, until the error of every mean is at most tol.
func (m *Model) refine(ctx context.Context, e *linalg.Engine, tol float64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refineLocked(ctx, e, tol)
}

func (m *Model) refineLocked(ctx context.Context, e *linalg.Engine, tol float64) error {
	p, err := m.prepare(ctx, e, true)
	if err != nil {
		return err
	}
	if p.tried > 0 && p.tried <= tol {
		return nil // rounding allows no more
	}
	return m.improve(ctx, p, tol)
}

// improve solves for the weights by conjugate gradients with what p solves with, and
// takes what is better than those that are there, by a residual computed from them:
//
//	|k*'(α - K̂⁻¹(y-c))| <= (k*'K̂⁻¹k*)^1/2 (r'K̂⁻¹r)^1/2 <= (σ_f² r'P⁻¹r/a)^1/2
//
// With a dense factor P is K̂ but for rounding, and asking for more costs nothing.
func (m *Model) improve(ctx context.Context, p *prepared, tol float64) error {
	p.tried, p.gauge, p.source = tol, nil, nil // which was measured for the old weights
	n := m.N()
	b, x := linalg.NewMatrix(n, 1), linalg.NewMatrix(n, 1)
	for i, y := range m.y {
		b.Data[i] = y - m.Parameters.Mean
	}
	var f linalg.Solver = p.pre
	node := p.node
	if p.chol != nil {
		f, node, tol = p.chol, 1, min(tol, denseTol)
	}
	copy(x.Data, m.weights)
	res, err := linalg.NewCG(p.e, n, 1).Solve(ctx, p.op.With(kernelmv.F64), f, x, b,
		linalg.CGOptions{Tol: tol * math.Sqrt(node/m.Parameters.Variance), Warm: m.weights != nil, Verify: true})
	if err != nil {
		return fmt.Errorf("solving for the weights: %w", err)
	}
	m.weights = x.Data
	m.meanError = math.Sqrt(m.Parameters.Variance * res.RPR[0] / node)
	left, err := m.formError(ctx, p, x)
	if m.meanError += left; err != nil {
		return err
	}
	return m.measure(ctx, p)
}

// formError estimates what the form of the products adds to meanError, 0 for dense ones:
// of E α some rows are evaluated exactly, and r'K̂⁻¹r <= |r|²/noise.
func (m *Model) formError(ctx context.Context, p *prepared, alpha linalg.Matrix) (float64, error) {
	if _, h2, err := p.op.Work(ctx, kernelmv.F64); !h2 || err != nil {
		return 0, err
	}
	n := m.N()
	at := gp.Subset(n, min(n, lanczos.SampledRows), m.recipe.Seed^0x726f7773)
	xs, exact, approx := linalg.NewMatrix(len(at), m.D()), linalg.NewMatrix(len(at), 1), linalg.NewMatrix(n, 1)
	for i, row := range at {
		copy(xs.Row(i), m.x.Row(row))
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
	return math.Sqrt(m.Parameters.Variance/slices.Min(noise)) * size, nil
}

// measure sets delta, if there is a dense factor.
func (m *Model) measure(ctx context.Context, p *prepared) error {
	if p.chol == nil {
		return nil
	}
	n := m.N()
	r := linalg.NewMatrix(n, 1)
	alpha := linalg.Matrix{Rows: n, Cols: 1, Stride: 1, Data: m.weights}
	if err := p.op.With(kernelmv.F64).MulTo(ctx, r, alpha); err != nil {
		return err
	}
	for i, y := range m.y {
		r.Data[i] = y - m.Parameters.Mean - r.Data[i]
	}
	p.chol.SolveTo(r, r)
	p.delta = r.Data
	return nil
}

// sharpen makes sharp.
func (m *Model) sharpen(ctx context.Context, p *prepared) error {
	if p.sharp != nil {
		return nil
	}
	p.sharp = p.pre
	rank := max(p.pre.Rank(), min(sharpRank, m.N()/8))
	if !p.pre.NodeIsOne() || rank == p.pre.Rank() {
		return nil
	}
	sharp, err := linalg.NewPrecond(ctx, p.e, p.op, p.op.Noise(),
		linalg.PrecondOptions{Rank: rank, Seed: m.recipe.Seed})
	if err == nil {
		p.sharp = sharp
	}
	return err
}

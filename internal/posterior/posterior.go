package posterior

import (
	"context"
	"math"
	"sync"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/precond"
)

// A Posterior is a Gaussian process given the rows of a table, at fixed parameters. What
// its first answers prepare is kept for later ones, whatever their engines. It may be used
// by several goroutines: one call runs at a time.
type Posterior struct {
	data   *gp.Table
	params gp.Params
	costs  *cost.Costs

	mu        sync.Mutex // guards what follows
	spec      PrecondSpec
	weights   []float64 // α = K̂⁻¹(y - c), n; nil where they are not known at all
	meanError float64   // bound of |error of k*'α|; +Inf when unknown
	unproven  bool      // the weights come from a file and have not been held against the rows
	prepared
}

// A PrecondSpec says how to build the preconditioner that predictions use; it is
// stored with a model instead of the preconditioner itself.
type PrecondSpec struct {
	Dense      bool    `json:"dense"` // by Cholesky of the whole matrix instead
	Rank       int     `json:"rank"`  // negative: chosen when needed, with Neighbours
	Neighbours int     `json:"neighbours"`
	Latents    int     `json:"latents,omitempty"` // instead of both
	Seed       uint64  `json:"seed"`
	Node       float64 `json:"node"` // lower end of the spectrum of F⁻¹K̂F⁻ᵀ, 0 if unknown
}

// Weights are those of the mean, α = K̂⁻¹(y - c), as far as they are known.
type Weights struct {
	Alpha []float64 // n; nil where they are not known at all
	// MeanError bounds |error of k*'α| for every k*; +Inf when it is not known.
	MeanError float64
	// Left is about K̂⁻¹r of their residual r, n; nil if unknown.
	Left []float64
	// Unproven weights come from outside: they are held against the rows before they are used.
	Unproven bool
}

// New returns the process with those parameters given data, both standardised, which
// are kept and must not change. costs choose a preconditioner where spec does not.
func New(data *gp.Table, params gp.Params, spec PrecondSpec, costs *cost.Costs, w Weights) *Posterior {
	p := &Posterior{data: data, params: params.Clone(), costs: costs, spec: spec, weights: w.Alpha,
		meanError: w.MeanError, unproven: w.Unproven}
	p.left, p.leftSound = w.Left, w.Left != nil
	if w.MeanError > MeanTol && !math.IsInf(w.MeanError, 1) { // a fit has gone as far as rounding allows
		p.tried = MeanTol
	}
	return p
}

// Data returns the rows, standardised, which must not be changed.
func (p *Posterior) Data() *gp.Table { return p.data }

// Params returns the parameters, which must not be changed.
func (p *Posterior) Params() gp.Params { return p.params }

// Spec returns what solves for answers, as far as it is chosen.
func (p *Posterior) Spec() PrecondSpec {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spec
}

// Weights returns the weights of the mean, which must not be changed.
func (p *Posterior) Weights() Weights {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Weights{Alpha: p.weights, MeanError: p.meanError, Left: p.left, Unproven: p.unproven}
}

// N returns the number of rows.
func (p *Posterior) N() int { return p.data.X.Rows }

// D returns the number of inputs.
func (p *Posterior) D() int { return p.data.X.Cols }

const (
	// MeanTol bounds the error of means, in standard deviations of the target, where nothing
	// else is asked for.
	MeanTol  = 1e-3
	denseTol = 1e-9 // of means by a dense factor
	// vecchiaNode is a cautious lower end of the spectrum of F⁻¹K̂F⁻ᵀ with a
	// Vecchia part: on the UCI sets it was 0.03 to 0.34.
	vecchiaNode = 0.01
	// Tolerances of products below n², far finer than evaluations need: each decade costs a
	// tenth, and there is no correction afterwards.
	predictTol32, predictTol64 = 1e-8, 1e-11
)

// prepared holds what answers need beside the rows and the weights, whatever engine they
// are computed on.
type prepared struct {
	*runner           // of this call
	runners []*runner // one for each kind of engine that has asked

	node      float64   // of the preconditioner
	round     *rounding // what rounding may do to bounds
	delta     []float64 // see needDelta
	tried     float64   // least error of means that was solved for
	left      []float64 // residualWeights
	leftSound bool      // their solution has converged

	asked    int        // rows whose mean was asked for
	askedSD  int        // rows whose variance was asked for
	probes   *gapProbes // once these were enough
	noProbes bool       // they do not converge
	// What the first iterations for rows that rounding leaves open have told: iterateRounded.
	gained, lost bool
}

// prepare makes the operator and, with solver set, what solves with K̂, and keeps them for
// the next call; e nil means the engine of the last call, or the default one. The caller
// holds p.mu.
func (p *Posterior) prepare(ctx context.Context, e *linalg.Engine, solver bool) error {
	if err := p.use(ctx, e); err != nil {
		return err
	}
	switch {
	case !solver || p.pre != nil || p.chol != nil:
		return nil
	case p.spec.Dense:
		return p.factor(ctx)
	}
	return p.precondition(ctx)
}

// precondition makes pre.
func (p *Posterior) precondition(ctx context.Context) error {
	set := precond.Options{Rank: p.spec.Rank, Neighbours: p.spec.Neighbours, Latents: p.spec.Latents, Seed: p.spec.Seed}
	if p.spec.Rank < 0 {
		set, _ = cost.Precond(p.N(), p.params, p.op.Noise(), kernelmv.F64,
			cost.Request{Rank: -1, Neighbours: -1, Costs: p.costs})
		set.Seed = p.spec.Seed
	}
	bytes := 16 * float64(p.N()) * float64(set.Rank+set.Neighbours)
	if set.Latents > 0 {
		bytes = float64(cost.LatentBytes(p.N(), set.Latents))
	}
	if err := cost.Fits("the preconditioner for predictions", p.N(), p.D(), bytes); err != nil {
		return err
	}
	pre, err := precond.New(ctx, p.e, p.op, p.op.Noise(), set)
	if err != nil {
		return err
	}
	p.pre = pre
	p.spec.Rank, p.spec.Neighbours = pre.Rank(), pre.Neighbours()
	switch {
	case pre.NodeIsOne():
		p.node = 1
	case p.spec.Node > 0:
		p.node = p.spec.Node
	default:
		p.node = vecchiaNode
	}
	return nil
}

// factor makes chol.
func (p *Posterior) factor(ctx context.Context) error {
	if p.chol != nil {
		return nil
	}
	if err := cost.Fits("the dense factor for predictions", p.N(), p.D(), float64(cost.DenseBytes(p.N()))); err != nil {
		return err
	}
	o := &gp.Cholesky{Engine: p.e, Op: p.op, Table: p.data, A: linalg.NewMatrix(p.N(), p.N())}
	if err := o.Factor(ctx, p.params); err != nil {
		return err
	}
	p.chol = o.Chol
	if p.weights == nil || p.spec.Dense { // whose weights a dense factor has found
		return nil
	}
	err := p.improve(ctx, denseTol)
	if err != nil {
		p.chol = nil // the weights are still what they were
	}
	return err
}

// sizes are those in which deviations are found, once P is made.
func (p *Posterior) sizes() cost.Deviations {
	return cost.FindDeviations(p.N(), p.D(), cost.Size{Rank: p.pre.Rank(), Neighbours: p.pre.Neighbours(),
		Latents: p.pre.Latents()})
}

// preconditionVariances makes variancePrecond.
func (p *Posterior) preconditionVariances(ctx context.Context) error {
	if p.variancePrecond != nil {
		return nil
	}
	p.variancePrecond = p.pre
	rank := max(p.pre.Rank(), p.sizes().Rank)
	if !p.pre.NodeIsOne() || rank == p.pre.Rank() {
		return nil
	}
	pre, err := precond.New(ctx, p.e, p.op, p.op.Noise(),
		precond.Options{Rank: rank, Seed: p.spec.Seed})
	if err == nil {
		p.variancePrecond = pre
	}
	return err
}

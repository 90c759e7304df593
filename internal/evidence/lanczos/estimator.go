package lanczos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
)

// The objective of Burt, Artemev and van der Wilk (2021), section 3, in block
// form. With a preconditioner P = F F', probes w_i (signs, in the coordinates
// of A = F⁻¹K̂F⁻ᵀ), one block Lanczos basis T for all of them and for y, and
// v = F⁻ᵀT H⁻¹[R0_y; 0], r = y - c - K̂v,
//
//	L~ = -n/2 log 2π - 1/2 [log det P + (1/s) Σ c_i'log(S'K̂S)c_i
//	                        + 2r'v + v'K̂v + r'P⁻¹r/a],      S = F⁻ᵀT
//
// which is a lower bound of L in expectation, and at most eps below. P, w, T and
// v are not differentiated: they only make the bound tight.

// A Estimator evaluates L~. P and the probes are those of the last
// Rebuild; the work areas serve every call.
type Estimator struct {
	e *linalg.Engine
	d *gp.Table // standardised
	n int

	op       *kernelmv.Op
	pre      preconditioner
	built    gp.Params     // where pre was built
	builtFor request       // and by what
	reason   string        // why pre is as large as it is
	meanInfo float64       // 1'P⁻¹1
	trace    float64       // about tr P⁻¹, see traceP; 0 until that is asked for
	probes   linalg.Matrix // of this rank's rows

	probesReason string // why there are so many

	finer           int       // steps by which tolerances of products have been made finer, or coarser
	float32FailedAt float64   // σ_n²/σ_f² at and below which float32 products have failed
	v               []float64 // of the last evaluation, about K̂⁻¹(y-c): where the next one starts
	first           []float64 // v where the last evaluation has started
	last            *process  // of the last evaluation, if it is there to go on from
	seeded          uint64    // of probes
	seconds         float64   // of the last Rebuild, charged to the next evaluation

	lanczos *krylov.Lanczos
	wide    bool          // its basis is in float64
	start   linalg.Matrix // [probes, F⁻¹(y-c)], of this rank's rows
	most    int           // columns of the basis that are stored; 0: all
	b       bounds
	loewner krylov.LogGrad
	cg      *krylov.CG
	phases  phases
	detail  detail
}

// A detail says how much of the process an estimator keeps.
type detail struct {
	basis64 bool    // the basis in float64
	gradTol float64 // of tr(G H), what gradients may leave out
}

// usual is what trainings take: half of the memory, and a part of the gradients' columns.
var usual = detail{gradTol: 1e-4}

// A request is what a preconditioner follows from, beside the parameters.
type request struct {
	cost.Request
	seed uint64
	prec kernelmv.Precision
}

// A preconditioner is what Rebuild makes.
type preconditioner interface {
	linalg.Preconditioner
	Rank() int
	Neighbours() int
	Latents() int
	NodeIsOne() bool
	Bytes() int64
}

// phases are the seconds of an evaluation.
type phases struct{ product, precond, orth, small, gradient float64 }

func (p phases) report() map[string]float64 {
	return map[string]float64{
		"kernel_products": p.product, "preconditioner": p.precond, "reorthogonalisation": p.orth,
		"small_eigenproblems": p.small, "gradient": p.gradient,
	}
}

// New returns the objective of d, which is standardised. The
// first Evaluate does a Rebuild if none came before.
func New(e *linalg.Engine, d *gp.Table, p gp.Params) (*Estimator, error) {
	return newEstimator(e, d, p, usual)
}

func newEstimator(e *linalg.Engine, d *gp.Table, p gp.Params, keep detail) (*Estimator, error) {
	op, err := kernelmv.NewOp(e, d.X, gp.KernelOf(p), gp.NoiseOf(p, d))
	if err != nil {
		return nil, err
	}
	return &Estimator{e: e, d: d, n: d.X.Rows, op: op, loewner: krylov.LogGrad{Engine: e}, detail: keep}, nil
}

// Rebuild makes a new preconditioner at p, unless the one that is there is the same, and new probes.
func (o *Estimator) Rebuild(ctx context.Context, p gp.Params, opt evidence.Options) error {
	if err := p.Check(o.d.X.Cols); err != nil {
		return err
	}
	start := time.Now()
	o.float32FailedAt = max(o.float32FailedAt, opt.Seen.Float32FailedAt)
	if err := o.op.Reset(gp.KernelOf(p), gp.NoiseOf(p, o.d)); err != nil {
		return err
	}
	o.setForm(p, opt)
	prec := o.likely(o.n, p, opt)
	work, h2, err := o.op.Work(ctx, prec)
	if err != nil {
		return err
	}
	opt.RowWork, opt.H2 = work/float64(o.n), h2
	if h2 {
		opt.Room = cost.RoomOfP(o.n, o.d.X.Cols, opt.Probes, opt.Memory)
	}
	by := request{opt.Request, cmp.Or(opt.PrecondSeed, opt.Seed), prec}
	by.Probes = 0
	if o.pre == nil || by != o.builtFor || !p.SameCovariance(o.built) {
		o.pre, o.lanczos, o.last = nil, nil, nil // the memory of the old ones is for the new one
		pre, reason, err := o.precondition(ctx, p, by.seed, prec, opt)
		if err != nil {
			return fmt.Errorf("preconditioner: %w", err)
		}
		o.pre, o.built, o.builtFor, o.reason = pre, p.Clone(), by, reason
		o.meanInfo = gp.MeanInfo(o.e, o.n, pre.SolveTo)
	}
	o.trace = 0
	// A basis in float32 leaves small eigenvalues of A unsure, and derivatives more so than values.
	if wide := o.detail.basis64 || opt.Reports() && o.n <= gradientRows; wide != o.wide {
		o.wide, o.lanczos, o.last = wide, nil, nil
	}
	var probes int
	probes, o.probesReason = cost.Probes(o.n, cost.ActiveInputs(p), o.pre.Rank(), o.pre.Neighbours(), prec, opt.Request)
	if o.last == nil || opt.Seed != o.seeded || probes != o.probes.Cols {
		lo, hi := o.e.OwnRows(o.n)
		o.setProbes(gp.SignRows(o.n, probes, opt.Seed, lo, hi), opt.Memory)
	}
	o.seeded = opt.Seed
	o.seconds = time.Since(start).Seconds()
	return nil
}

// setProbes takes the columns of w, with E[ww'] = I, of this rank's rows, and leaves the basis what
// the budget has over.
func (o *Estimator) setProbes(w linalg.Matrix, memory int64) {
	o.last = nil
	most := 0
	if memory > 0 {
		rest := memory - cost.ProgramBytes - cost.TableBytes(o.n, o.d.X.Cols) -
			cost.KrylovBytes(o.n, o.d.X.Cols, w.Cols+1, o.size()) - cost.FormBytes(o.n, cost.ActiveInputs(o.built))
		// The basis grows by chunks of asm.Pad columns; none at all is fine.
		if most = int(rest/(4*int64(o.n))) / basisChunk * basisChunk; most <= 0 {
			most = -1
		}
	}
	if o.lanczos == nil || o.start.Cols != w.Cols+1 || o.most != most {
		o.start, o.lanczos = linalg.Matrix{}, nil // their memory is for the new ones
		o.start, o.most = linalg.NewMatrix(w.Rows, w.Cols+1), most
		o.lanczos = krylov.NewLanczos(o.e, o.n, w.Cols+1, krylov.LanczosOptions{Wide: o.wide, MaxCols: most})
	}
	o.probes = w
}

// basisChunk is the number of columns that a basis grows by.
const basisChunk = 96

// Evaluate returns L~ at p, its bounds and, if asked for, its gradient. Products
// run in float32 where that is safe and are corrected by one in float64; where
// the correction is not small, all is done again in float64.
func (o *Estimator) Evaluate(ctx context.Context, p gp.Params, opt evidence.Options) (*evidence.Value, error) {
	if err := p.Check(o.d.X.Cols); err != nil {
		return nil, err
	}
	if opt.Eps <= 0 {
		opt.Eps = 1
	}
	if o.pre == nil {
		if err := o.Rebuild(ctx, p, opt); err != nil {
			return nil, err
		}
	}
	begin := time.Now()
	o.phases = phases{precond: o.seconds}
	o.seconds = 0
	// Lengthscales of FarLength change nothing but the gradient.
	far := p
	p = gp.DropFar(p)
	if err := o.op.Reset(gp.KernelOf(p), gp.NoiseOf(p, o.d)); err != nil {
		return nil, err
	}
	o.setForm(p, opt)
	passes, wasted, turn, before := 0, 0, 0, 0
	run := func(prec kernelmv.Precision) (*evidence.Value, error) {
		r := &process{o: o, ctx: ctx, p: p, far: far, opt: opt, prec: prec, turn: turn}
		ev, err := r.evaluate()
		turn++
		passes += r.passes
		before = r.before
		return ev, err
	}
	prec, unsure, reason, err := o.choosePrecision(ctx, p, opt)
	if err != nil {
		return nil, err
	}
	ev, err := run(prec)
	if prec == kernelmv.F32 && opt.Precision != "f32" && errors.Is(err, evidence.ErrPrecision) {
		o.float32FailedAt = max(o.float32FailedAt, p.Noise/p.Variance)
		wasted, reason = passes, "float32 products were not accurate enough"
		ev, err = run(kernelmv.F64)
	}
	for errors.Is(err, evidence.ErrPrecision) && o.refineForm(ctx, p, opt) {
		wasted = passes
		ev, err = run(kernelmv.F64)
	}
	if errors.Is(err, evidence.ErrPrecision) {
		err = fmt.Errorf("%w: %w", gp.ErrNotFinite, err)
	}
	if err != nil {
		return nil, err
	}
	o.relaxForm(ev, opt)
	ev.Passes, ev.Before, ev.Wasted, ev.Unsure32, ev.PrecisionReason = passes, before, wasted, unsure, reason
	ev.Seconds = time.Since(begin).Seconds()
	ev.SecondsByPhase = o.phases.report()
	return ev, nil
}

// size is that of the preconditioner.
func (o *Estimator) size() cost.Size {
	return cost.Size{Rank: o.pre.Rank(), Neighbours: o.pre.Neighbours(), Latents: o.pre.Latents()}
}

// nodeOne reports whether K̂ >= P is certain at p.
func (o *Estimator) nodeOne(p gp.Params) bool {
	return o.pre.NodeIsOne() && p.SameCovariance(o.built)
}

func (o *Estimator) State() []byte {
	return evidence.FloatState(slices.Concat([]float64{o.float32FailedAt, float64(o.finer)}, o.v, o.first)...)
}

func (o *Estimator) Restore(b []byte) {
	v := evidence.StateFloats(b)
	if more := len(v) - 2; (more == 0 || more == o.n || more == 2*o.n) && evidence.AllFinite(v...) {
		o.float32FailedAt, o.finer, o.v, o.first, o.last = v[0], int(v[1]), slices.Clone(v[2:]), nil, nil
		if more == 2*o.n {
			o.v, o.first = o.v[:o.n:o.n], o.v[o.n:]
		}
	}
}

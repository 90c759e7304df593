package lanczos

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
)

// What follows the last pass. The log determinant has the derivative tr(G dH)
// with G ≈ Y Y', k×R (krylov.LogGrad), so with U = F⁻ᵀT Y, n×R, and u ≈ K̂⁻¹r
//
//	dL~ = -1/2 Σ_r u_r'dK̂ u_r + 1/2 (v+u)'dK̂(v+u) - 1/2 u'dK̂ u,   dL~/dc = Σ_i (v+u)_i
//
// v is off by e = K̂⁻¹r, which the derivative of r'K̂⁻¹r tells to first order, -2 v'dK̂ e. The
// bound r'P⁻¹r/a of r'K̂⁻¹r is above it, but P⁻¹r/a is far from e: (P⁻¹r/a)'K̂(P⁻¹r/a) is up to
// the condition number of A times the bound, and derivatives were wrong by up to 2e4 nats where
// the value was within .5. So u is a step β P⁻¹r of conjugate gradients (ahead).
//
// A float64 product on [U, v] gives r and q for the matrix itself, and, to first
// order, what the float32 products have done to the log determinant:
// tr(G S'(K64 - K32)S) = Σ_r u_r'K̂u_r - y_r'H y_r. A random sample tells first
// whether that matters.

// gradSlack is what float32 may do to a derivative by a logarithm, in eps.
const gradSlack = 0.02

// A solution holds the columns of the final products.
type solution struct {
	y      linalg.Matrix // k×R
	u      linalg.Matrix // n×R
	v      linalg.Matrix // n×1
	own    float64       // v'K̂v by the process, whose part δ of v = v0 + δ has δ'K̂δ = r0'δ
	ku     []float64     // u_r'K̂u_r
	kv     float64       // v'K̂v
	wkv    float64       // u'K̂v
	r, w   linalg.Matrix // residual, and u
	q      float64
	rest   float64 // r'Nr, or r'P⁻¹r/a
	excess float64 // |F⁻¹r + T_t+1 residualCoord|²: of r, what the process has not seen
	fix    float64 // of tr log A
	form   float64 // nats that the form of float64 products may have done to L
	doubt  float64 // nats that float32 products may have done to L beside fix
	shift  float64 // nats by which they make L come out too low beyond the first order,
	unsure float64 // within so much
}

func (r *process) finish(ev *evidence.Value) error {
	o := r.o
	t, err := r.columns()
	if err != nil {
		return err
	}
	err = r.correct(t)
	o.v = append(o.v[:0], t.v.Data...) // also of a run that float64 has to repeat
	if err != nil {
		return err
	}
	b := &o.b
	t.doubt += r.unseen(t) + boundError*t.unsure + r.basisLoss() +
		evidence.RoundingOfProducts(o.op, t.v.Data, o.traceP(), t.q)
	if r.prec == kernelmv.F32 {
		t.doubt += 0x1p-26 * math.Abs(t.q) // a large Q is a sum of large terms
	}
	logs := r.logConst + t.fix - 2*t.shift
	low, high := -0.5*(logs+b.gaussMean+t.q+t.rest), -0.5*(logs+b.radauMean+t.q)
	ev.LML, ev.Lower, ev.Upper = (low+high)/2, low-t.doubt, high+t.doubt
	ev.GradColumns, ev.Alpha, ev.ProductDoubt = t.u.Cols, t.v.Data, t.form
	if !gp.Finite(ev.LML) {
		return fmt.Errorf("%w: value %v", gp.ErrNotFinite, ev.LML)
	}
	if r.opt.Gradient {
		if err := r.settle(t); err != nil {
			return err
		}
		start := time.Now()
		ev.Gradient, err = r.gradient(t)
		o.phases.gradient += time.Since(start).Seconds()
	}
	return err
}

// columns forms U and v.
func (r *process) columns() (*solution, error) {
	o, t := r.o, &solution{}
	h := o.lanczos.H
	k := h.Dim()
	start := time.Now()
	t.y = linalg.NewMatrix(k, 0)
	if r.opt.Gradient || r.prec == kernelmv.F32 || r.h2 {
		var err error
		if t.y, err = o.loewner.FactorTo(h, o.probes.Cols, o.b.low, o.b.high, r.gradTol()); err != nil {
			return nil, fmt.Errorf("%w: %w", evidence.ErrPrecision, err)
		}
	}
	hy := linalg.NewMatrix(t.y.Rows, t.y.Cols)
	h.MulTo(hy, t.y)
	t.ku = linalg.ColumnDots(t.y, hy)
	rank := t.y.Cols
	coef := linalg.NewMatrix(k, rank+1)
	for i := range k {
		copy(coef.Row(i), t.y.Row(i))
		coef.Set(i, rank, o.b.coord[i])
	}
	o.phases.small += time.Since(start).Seconds()
	start = time.Now()
	all := linalg.NewMatrix(o.n, rank+1)
	width := o.probes.Cols + 1
	if err := o.lanczos.MulBasisTo(r.ctx, all, coef); err != nil {
		return nil, err
	}
	r.passes += o.lanczos.Replayed()
	r.products += o.lanczos.Replayed() * width
	if o.lanczos.Replayed() == 0 { // passes made again are in the times of the process
		o.phases.orth += time.Since(start).Seconds()
	}
	start = time.Now()
	o.pre.FInvTransTo(all, all)
	o.phases.precond += time.Since(start).Seconds()
	t.u, t.v = linalg.NewMatrix(o.n, rank), linalg.NewMatrix(o.n, 1)
	for i := range o.n {
		row := all.Row(i)
		copy(t.u.Row(i), row)
		t.v.Data[i] = row[rank]
	}
	t.own = o.b.quadLow - o.b.known
	if r.v0.Rows > 0 {
		t.own += 2*o.e.Dot(t.v.Data, r.kv0.Data) + o.e.Dot(r.v0.Data, r.kv0.Data)
		o.e.Axpy(1, r.v0.Data, t.v.Data)
	}
	return t, nil
}

// correct evaluates the quadratic term and the effect of float32 products on the
// log determinant with K̂ in float64.
func (r *process) correct(t *solution) error {
	o := r.o
	t.r, t.w = linalg.NewMatrix(o.n, 1), linalg.NewMatrix(o.n, 1)
	if err := r.sample(t); err != nil {
		return err
	}
	if err := r.refine(t); err != nil {
		return err
	}
	if r.own != kernelmv.F64 && (r.coarse(t) || 0.5*(t.rest+t.excess/o.b.node) > r.opt.Eps) {
		// Also where float32 was asked for: nothing bounds what it has done.
		return evidence.ErrPrecision
	}
	return nil
}

// exactly sets dst = K̂ src in float64.
func (r *process) exactly(dst, src linalg.Matrix) error {
	start := time.Now()
	err := r.o.op.With(kernelmv.F64).MulTo(r.ctx, dst, src)
	r.o.phases.product += time.Since(start).Seconds()
	r.products += src.Cols
	return err
}

// unseen is what the part of r that the process has not seen may add to the bias:
// (F⁻¹r)'A⁻¹(F⁻¹r)/2, by the triangle inequality.
func (r *process) unseen(t *solution) float64 {
	node := r.o.b.node
	return 0.5 * (t.excess/node + 2*math.Sqrt(max(t.rest, 0)*t.excess/node))
}

// refine repairs v where rounding in the basis or in float32 products has left a
// residual that the process did not see and that the bounds have no room for:
// K̂ δ = r is solved as far as needed by the inverse that the process knows, or by
// conjugate gradients, and v + δ is judged by a float64 product. The known inverse
// takes A to be I where the process has not been, which holds with neighbours and latents.
func (r *process) refine(t *solution) error {
	o := r.o
	bad, room := t.rest+t.excess/o.b.node, max(2*r.opt.Eps-(o.b.gaussMean-o.b.radauMean), r.opt.Eps/4)
	if t.rest+2*r.unseen(t) <= room {
		return nil
	}
	known := o.pre.Neighbours() > 0 || o.pre.Latents() > 0
	for try := 0; bad > room && try < 8; try++ {
		var step, left linalg.Matrix
		var err error
		if step, known = r.knownStep(t, known); !known {
			step, left, err = r.cgStep(t, max(0.8*room, bad/1e4))
		}
		if errors.Is(err, krylov.ErrNotDefinite) {
			return nil // the caller sees the residual
		}
		if err != nil {
			return err
		}
		// Float32 products give K̂δ to δ'Eδ, mostly nothing.
		wrong := 0.5 * r.worstError() * o.e.Dot(step.Data, step.Data)
		if r.own != kernelmv.F64 && !known && wrong <= r.opt.Eps/20 {
			t.doubt += wrong
		} else if left, err = r.residualOf(t, step); err != nil {
			return err
		}
		r.advance(t, step, left)
		if slow := t.rest > bad/2; slow && !known {
			return nil
		} else if slow {
			known = false
		}
		bad = t.rest
	}
	return nil
}

// knownStep returns F⁻ᵀ(T H⁻¹T' + I - TT')F⁻¹r, if it may and the basis is there.
func (r *process) knownStep(t *solution, may bool) (linalg.Matrix, bool) {
	o, step := r.o, linalg.NewMatrix(r.o.n, 1)
	if !may {
		return step, false
	}
	defer addSince(time.Now(), &o.phases.orth)
	white := linalg.NewMatrix(o.n, 1)
	o.pre.FInvTo(white, t.r)
	if !o.lanczos.InverseTo(step, white, &o.b.ldl) {
		return step, false
	}
	o.pre.FInvTransTo(step, step)
	return step, true
}

// cgStep solves K̂ δ = r in the precision of the process until r'P⁻¹r/a is at most
// rest, and returns what is left of r besides.
func (r *process) cgStep(t *solution, rest float64) (step, left linalg.Matrix, err error) {
	o := r.o
	step, left = linalg.NewMatrix(o.n, 1), t.r.Clone()
	if o.cg == nil {
		o.cg = krylov.NewCG(o.e, o.n, 1)
	}
	defer addSince(time.Now(), &o.phases.product)
	res, err := o.cg.Solve(r.ctx, r.op, o.pre, step, t.r,
		krylov.CGOptions{Tol: math.Sqrt(o.b.node * rest), MaxPasses: 40,
			OnPass: func(_ int, _, now linalg.Matrix, _ []float64) bool { left.CopyFrom(now); return false }})
	r.products += res.Passes
	return step, left, err
}

// residualOf returns r - K̂δ, K̂ in float64, or by a product of the process where that does.
func (r *process) residualOf(t *solution, step linalg.Matrix) (linalg.Matrix, error) {
	left := linalg.NewMatrix(r.o.n, 1)
	done, err := r.roughly(t, left, step)
	if !done && err == nil {
		err = r.exactly(left, step)
	}
	for i, v := range left.Data {
		left.Data[i] = t.r.Data[i] - v
	}
	return left, err
}

// addSince adds the seconds since start to sum.
func addSince(start time.Time, sum *float64) { *sum += time.Since(start).Seconds() }

// residual forms r, q, u = Nr and what of r the process has not seen, from kv = K̂v.
func (r *process) residual(t *solution, kv linalg.Matrix) {
	o := r.o
	t.kv = 0
	for i, y := range r.resid.Data {
		t.r.Data[i] = y - kv.At(i, 0)
		t.kv += kv.At(i, 0) * t.v.Data[i]
	}
	t.q = 2*o.e.Dot(t.r.Data, t.v.Data) + t.kv
	start := time.Now()
	white, other := linalg.NewMatrix(o.n, 1), linalg.NewMatrix(o.n, 1)
	o.pre.FInvTo(white, t.r)
	o.lanczos.NextTo(other, o.b.residualCoord)
	o.e.Axpy(1, white.Data, other.Data)
	o.phases.precond += time.Since(start).Seconds()
	t.rest, t.excess = o.b.rest, o.e.Dot(other.Data, other.Data)
	if all := o.e.Dot(white.Data, white.Data) / o.b.node; all <= t.rest+2*r.unseen(t) {
		t.rest, t.excess = all, 0
	}
	r.ahead(t, white)
}

// ahead takes u = β P⁻¹r, with white = F⁻¹r.
func (r *process) ahead(t *solution, white linalg.Matrix) {
	o, beta := r.o, r.o.b.stepAhead(r.o.lanczos.H)
	start := time.Now()
	square := o.e.Dot(white.Data, white.Data)
	o.pre.FInvTransTo(t.w, white)
	o.phases.precond += time.Since(start).Seconds()
	for i := range t.w.Data {
		t.w.Data[i] *= beta
	}
	t.wkv = o.e.Dot(t.w.Data, r.resid.Data) - beta*square
}

// advance takes v + δ for v, with left = r - K̂δ: q grows by δ'(r + left), and
// v'K̂v by 2δ'K̂v + δ'K̂δ.
func (r *process) advance(t *solution, step, left linalg.Matrix) {
	o := r.o
	for i, d := range step.Data {
		own, rest := t.r.Data[i], left.Data[i]
		t.q += d * (own + rest)
		t.kv += d * (2*r.resid.Data[i] - own - rest)
	}
	o.e.Axpy(1, step.Data, t.v.Data)
	t.r.CopyFrom(left)
	start := time.Now()
	white := linalg.NewMatrix(o.n, 1)
	o.pre.FInvTo(white, t.r)
	o.phases.precond += time.Since(start).Seconds()
	t.rest, t.excess = o.e.Dot(white.Data, white.Data)/o.b.node, 0
	r.ahead(t, white)
}

// gradient returns dL~ by the natural parameters.
func (r *process) gradient(t *solution) (*evidence.Gradient, error) {
	o, rank := r.o, t.u.Cols
	cols, weight := linalg.NewMatrix(o.n, rank+2), make([]float64, rank+2)
	for c := range rank {
		weight[c] = -0.5
	}
	weight[rank], weight[rank+1] = 0.5, -0.5
	noise := o.op.Noise()
	g := &evidence.Gradient{Lengthscales: make([]float64, o.d.X.Cols)}
	own := 0.0 // Σ_i noise_i M_ii
	for i := range o.n {
		row := cols.Row(i)
		copy(row, t.u.Row(i))
		v, w := t.v.Data[i], t.w.Data[i]
		row[rank], row[rank+1] = v+w, w
		diag := 0.0
		for c, x := range row {
			diag += weight[c] * x * x
		}
		own += noise[i] * diag
		if o.d.NoiseScale != nil {
			diag *= o.d.NoiseScale[i]
		}
		g.Noise += diag
		g.Mean += v + w
	}
	// (v+u)'K̂(v+u) - u'K̂u = v'K̂v + 2 u'K̂v
	form := t.kv + 2*t.wkv
	for _, s := range t.ku {
		form -= s
	}
	g.Variance = (0.5*form - own) / r.p.Variance
	prec := r.own
	away := !slices.Equal(r.far.Lengthscales, r.p.Lengthscales)
	if away && r.h2 && r.p.Kernel != "matern12" {
		return g, r.inactiveGradient(g, cols, weight)
	}
	if away {
		if err := o.op.Reset(gp.KernelOf(r.far), noise); err != nil {
			return nil, err
		}
	}
	slack := r.gradSlack()
	if prec == kernelmv.F32 && o.op.GradError(cols, weight, slack) > slack {
		prec = kernelmv.F64
		if r.h2 {
			prec = kernelmv.Coarse
		}
	}
	o.op.SetGradPrecision(prec)
	o.op.SetGradSlack(slack)
	if err := o.op.GradTo(r.ctx, g.Lengthscales, cols, weight); err != nil {
		return nil, err
	}
	g.Natural(r.far)
	return g, nil
}

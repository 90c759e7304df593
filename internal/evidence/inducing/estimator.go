package inducing

import (
	"context"
	"fmt"
	"math"
	"time"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
	"bbgp.dev/linalg/precond"
)

// The variational bounds with m inducing points among the training rows:
//
//	SGPR (Titsias 2009, eq. 9)     log N(y; c, P) - t/2
//	CGLB (Artemev et al. 2021)     -n/2 log 2π - 1/2 [log det P + n log(1 + t/n)] - q/2
//
// with P = Q + D, Q = K_fu K_uu⁻¹ K_uf, D the diagonal noise, t = tr D⁻¹(K - Q)
// and q = 2r'v + v'K̂v + r'P⁻¹r >= (y-c)'K̂⁻¹(y-c), r = y - c - K̂v, v by
// preconditioned conjugate gradients. Both are below the log marginal
// likelihood at every θ and for every choice of inducing rows.
//
// In A = L_u⁻¹ K_uf (m×n), K_uu = L_u L_u', B = I + A D⁻¹ A':
//
//	log det P = Σ log D_i + log det B,   P⁻¹ = D⁻¹ - D⁻¹A' B⁻¹ A D⁻¹,
//	t = Σ_i (K_ii - |a_i|²)/D_i.
//
// The gradient goes through P with the inducing rows fixed. With u = P⁻¹r and
// τ = 1 (SGPR, where r = y - c) or 1/(1 + t/n) (CGLB),
//
//	∂/∂K_uf = L_u⁻ᵀ [(τI - B⁻¹) A D⁻¹ + (Au) u']  =: L_u⁻ᵀ (T A D⁻¹ + (Au) u'),
//	∂/∂K_uu = 1/2 L_u⁻ᵀ [I - B⁻¹ - (Au)(Au)' - τ(B - I)] L_u⁻¹,
//	∂/∂D_i  = -(P⁻¹)_ii/2 + u_i²/2 + τ (K_ii - Q_ii)/(2 D_i²),
//	∂/∂K_ii = -τ/(2 D_i),    ∂/∂c = Σ u_i
//
// and CGLB adds 1/2 [(v+u)' dK̂ (v+u) - u' dK̂ u] and Σ v_i.

// jitterShare times σ_f² is added to the diagonal of K_uu.
const jitterShare = 1e-8

// A Estimator evaluates SGPR or, with conjugate set, CGLB.
type Estimator struct {
	e         *linalg.Engine
	op        *kernelmv.Op
	d         *gp.Table // standardised
	rank      int
	conjugate bool

	pivots []int32
	cg     *krylov.CG
	v      linalg.Matrix // of the last evaluation, the start of the next
}

// New returns SGPR or CGLB with at most rank inducing rows.
func New(e *linalg.Engine, d *gp.Table, p gp.Params, rank int, conjugate bool) (*Estimator, error) {
	op, err := kernelmv.NewOp(e, d.X, gp.KernelOf(p), gp.NoiseOf(p, d))
	if err != nil {
		return nil, err
	}
	op.SetPrecision(kernelmv.F64)
	n := d.X.Rows
	s := &Estimator{e: e, op: op, d: d, rank: min(rank, n), conjugate: conjugate, v: linalg.NewMatrix(n, 1)}
	if conjugate {
		s.cg = krylov.NewCG(e, n, 1)
	}
	return s, nil
}

// Rebuild takes the greedy pivots of K at p as inducing rows.
func (s *Estimator) Rebuild(ctx context.Context, p gp.Params, _ evidence.Options) error {
	if err := s.op.Reset(gp.KernelOf(gp.DropFar(p)), gp.NoiseOf(p, s.d)); err != nil {
		return err
	}
	_, pivots, _, err := precond.PivotedCholesky(ctx, s.e, s.op, precond.PivotOptions{MaxRank: s.rank, Greedy: true})
	if err != nil {
		return err
	}
	s.pivots = s.pivots[:0]
	for _, i := range pivots {
		s.pivots = append(s.pivots, int32(i))
	}
	return nil
}

// Evaluate returns the bound as LML and Lower; Upper is +Inf, for nothing
// bounds the likelihood from above. Alpha solves with K̂ (CGLB) or P (SGPR).
func (s *Estimator) Evaluate(ctx context.Context, p gp.Params, opt evidence.Options) (*evidence.Value, error) {
	start := time.Now()
	n := s.d.X.Rows
	if err := s.op.Reset(gp.KernelOf(gp.DropFar(p)), gp.NoiseOf(p, s.d)); err != nil {
		return nil, err
	}
	f, err := s.factor(ctx, p)
	if err != nil {
		return nil, err
	}
	r := linalg.NewMatrix(n, 1)
	for i, y := range s.d.Y {
		r.Data[i] = y - p.Mean
	}
	u := linalg.NewMatrix(n, 1)
	ev := &evidence.Value{Rank: len(s.pivots), Precision: "f64", BoundKind: "rigorous", Upper: math.Inf(1)}
	if s.conjugate {
		err = s.boundConjugate(ctx, ev, f, r, u, opt)
	} else {
		f.SolveTo(u, r)
		ev.Alpha = u.Data
		ev.LML = -0.5 * (f.LogDet() + f.trace + s.e.Dot(r.Data, u.Data))
	}
	if err != nil {
		return nil, err
	}
	ev.LML -= 0.5 * float64(n) * math.Log(2*math.Pi)
	inverse := 0.0 // >= tr P⁻¹
	for _, v := range f.d {
		inverse += 1 / v
	}
	ev.Lower = ev.LML - evidence.RoundingOfProducts(s.op, ev.Alpha, inverse, ev.LML)
	if !gp.Finite(ev.LML) {
		return nil, fmt.Errorf("%w: value %v", gp.ErrNotFinite, ev.LML)
	}
	if opt.Gradient {
		if ev.Gradient, err = s.gradient(ctx, p, f, u.Data); err != nil {
			return nil, err
		}
	}
	ev.Seconds = time.Since(start).Seconds()
	return ev, nil
}

// boundConjugate solves for v until r'P⁻¹r <= 2 eps, r becoming the residual
// and u = P⁻¹r, and sets the value but for the constant.
func (s *Estimator) boundConjugate(ctx context.Context, ev *evidence.Value, f *sparseFactors, r, u linalg.Matrix,
	opt evidence.Options) error {
	n := s.d.X.Rows
	b := r.Clone()
	res, err := s.cg.Solve(ctx, s.op, f, s.v, b, krylov.CGOptions{Tol: math.Sqrt(2 * opt.Eps), Warm: true})
	if err != nil {
		return err
	}
	kv := linalg.NewMatrix(n, 1)
	if err := s.op.MulTo(ctx, kv, s.v); err != nil {
		return err
	}
	for i := range n {
		r.Data[i] = b.Data[i] - kv.Data[i]
	}
	f.SolveTo(u, r)
	quad := 2*s.e.Dot(r.Data, s.v.Data) + s.e.Dot(s.v.Data, kv.Data) + s.e.Dot(r.Data, u.Data)
	ev.Passes, ev.Products = res.Passes+1, res.Passes+1
	ev.Alpha = append([]float64(nil), s.v.Data...)
	ev.LML = -0.5 * (f.LogDet() + float64(n)*math.Log1p(f.trace/float64(n)) + quad)
	return nil
}

// gradient returns the derivatives of the bound, with u and v held fixed.
func (s *Estimator) gradient(ctx context.Context, p gp.Params,
	f *sparseFactors, u []float64) (*evidence.Gradient, error) {
	if err := s.op.Reset(gp.KernelOf(p), s.op.Noise()); err != nil { // with what may come back
		return nil, err
	}
	n := s.d.X.Rows
	tau := 1.0
	if s.conjugate {
		tau = 1 / (1 + f.trace/float64(n))
	}
	guf, guu := s.blockGradients(f, tau, u)
	g := &evidence.Gradient{Lengthscales: make([]float64, len(p.Lengthscales))}
	logL := make([]float64, len(p.Lengthscales))
	mk, err := s.op.CrossGradTo(ctx, g.Lengthscales, s.pivots, guf)
	if err != nil {
		return nil, err
	}
	square := linalg.NewMatrix(len(s.pivots), n) // guu in the columns of the inducing rows
	for k := range s.pivots {
		mk += guu.At(k, k) * jitterShare * p.Variance
		for l, c := range s.pivots {
			square.Set(k, int(c), guu.At(k, l))
		}
	}
	mu, err := s.op.CrossGradTo(ctx, logL, s.pivots, square)
	if err != nil {
		return nil, err
	}
	mk += mu
	for j := range logL {
		g.Lengthscales[j] += logL[j]
	}
	mk += s.diagonalGradient(g, p, f, tau, u)
	if s.conjugate {
		quad, err := s.quadGradient(ctx, logL, u, f.d)
		if err != nil {
			return nil, err
		}
		mk += quad
		for j := range logL {
			g.Lengthscales[j] += logL[j]
		}
	}
	g.Variance = mk / p.Variance
	g.Natural(p)
	return g, nil
}

// diagonalGradient adds what comes through D, K_ii and the mean to g and
// returns its part of the derivative by log σ_f².
func (s *Estimator) diagonalGradient(g *evidence.Gradient, p gp.Params,
	f *sparseFactors, tau float64, u []float64) float64 {
	mk := 0.0
	pinv := f.inverseDiagonal(s.e)
	for i := range u {
		di := -pinv[i]/2 + u[i]*u[i]/2 + tau*f.resid[i]/(2*f.d[i]*f.d[i])
		if s.conjugate {
			v := s.v.Data[i]
			di += ((v+u[i])*(v+u[i]) - u[i]*u[i]) / 2
			g.Mean += v
		}
		g.Mean += u[i]
		mk -= tau * p.Variance / (2 * f.d[i])
		if s.d.NoiseScale != nil {
			di *= s.d.NoiseScale[i]
		}
		g.Noise += di
	}
	return mk
}

// blockGradients returns ∂/∂K_uf and ∂/∂K_uu.
func (s *Estimator) blockGradients(f *sparseFactors, tau float64, u []float64) (guf, guu linalg.Matrix) {
	m, n := f.a.Rows, f.a.Cols
	au := linalg.NewMatrix(m, 1)
	s.e.GemmTo(au, 1, f.a, false, linalg.Column(u), false, 0)
	guu, guf = linalg.NewMatrix(m, m), linalg.NewMatrix(m, n)
	mid := linalg.NewMatrix(m, m) // τI - B⁻¹
	for k := range m {
		for l := range m {
			b, id := f.b.At(k, l), 0.0
			if k == l {
				id = 1
			}
			mid.Set(k, l, tau*id-f.binv.At(k, l))
			guu.Set(k, l, 0.5*(id-f.binv.At(k, l)-au.Data[k]*au.Data[l]-tau*(b-id)))
		}
	}
	f.lu.SolveLTransTo(guu, guu)
	for k := range m { // L_u⁻ᵀ X L_u⁻¹ of a symmetric X: transpose and solve again
		for l := range k {
			a, b := guu.At(k, l), guu.At(l, k)
			guu.Set(k, l, b)
			guu.Set(l, k, a)
		}
	}
	f.lu.SolveLTransTo(guu, guu)
	f.lu.SolveLTransTo(mid, mid)
	s.e.GemmTo(guf, 1, mid, false, f.ad, false, 0)
	f.lu.SolveLTransTo(au, au)
	for k := range m {
		s.e.Axpy(au.Data[k], u, guf.Row(k))
	}
	return guf, guu
}

// quadGradient sets dst[d] to the derivative by log l_d of
// 1/2 [(v+u)'K(v+u) - u'Ku] and returns the value of that.
func (s *Estimator) quadGradient(ctx context.Context, dst, u, noise []float64) (float64, error) {
	n := len(u)
	w, kw := linalg.NewMatrix(n, 2), linalg.NewMatrix(n, 2)
	for i, x := range u {
		w.Set(i, 0, s.v.Data[i]+x)
		w.Set(i, 1, x)
	}
	g := []float64{0.5, -0.5}
	if err := s.op.GradTo(ctx, dst, w, g); err != nil {
		return 0, err
	}
	if err := s.op.MulTo(ctx, kw, w); err != nil {
		return 0, err
	}
	sum := 0.0
	for i := range n {
		for c, gc := range g {
			x := w.At(i, c)
			sum += gc * x * (kw.At(i, c) - noise[i]*x)
		}
	}
	return sum, nil
}

func (s *Estimator) State() []byte { return evidence.FloatState(s.v.Data...) }

func (s *Estimator) Restore(b []byte) {
	if v := evidence.StateFloats(b); len(v) == len(s.v.Data) && evidence.AllFinite(v...) {
		copy(s.v.Data, v)
	}
}

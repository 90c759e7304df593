package bbgp

import (
	"context"
	"fmt"
	"math"
	"time"

	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// The exact objective, by dense Cholesky, O(n³) time. With α = K̂⁻¹(y - c) and
// M = α α' - K̂⁻¹ (Rasmussen and Williams 2006, eq. 5.9)
//
//	L = -n/2 log 2π - 1/2 log det K̂ - 1/2 (y-c)'α
//	∂L/∂θ = 1/2 tr(M ∂K̂/∂θ),  ∂L/∂c = Σ_i α_i
//
// Two n×n matrices suffice: one for K̂ and its factor, one for M.

// An exactObjective evaluates L exactly. Its work areas serve every call.
type exactObjective struct {
	*gp.Cholesky
	m linalg.Matrix

	// freeMean puts the best c, 1'K̂⁻¹y / 1'K̂⁻¹1, in place of that of the parameters;
	// mean is the one of the last evaluation.
	freeMean bool
	mean     float64
}

func newExactObjective(e *linalg.Engine, d *gp.Table, p Params) (*exactObjective, error) {
	dense, err := gp.NewCholesky(e, d, p)
	if err != nil {
		return nil, err
	}
	return &exactObjective{Cholesky: dense}, nil
}

// Rebuild does nothing: there is nothing auxiliary in an exact evaluation.
func (o *exactObjective) Rebuild(context.Context, Params, EvalOptions) error { return nil }

// Evaluate returns L and, if asked for, its gradient. It fails with an error
// that wraps ErrNotFinite where K̂ is not positive definite in float64. Reject
// is ignored: the value comes at once.
func (o *exactObjective) Evaluate(ctx context.Context, p Params, opt EvalOptions) (*Evaluation, error) {
	start := time.Now()
	if err := o.Factor(ctx, p); err != nil {
		return nil, err
	}
	n := o.Table.X.Rows
	r := linalg.NewMatrix(n, 1)
	for i, y := range o.Table.Y {
		r.Data[i] = y - p.Mean
	}
	alpha := linalg.NewMatrix(n, 1)
	o.Chol.SolveTo(alpha, r)
	if o.mean = p.Mean; o.freeMean {
		o.mean += o.centre(r, alpha)
	}
	quad := o.Engine.Dot(r.Data, alpha.Data)
	lml := -0.5 * (float64(n)*math.Log(2*math.Pi) + o.Chol.LogDet() + quad)
	if !gp.Finite(lml) {
		return nil, fmt.Errorf("%w: value %v", ErrNotFinite, lml)
	}
	off := roundingOf(o.Op, o.Engine.Dot(alpha.Data, alpha.Data), o.traceInverse(), quad)
	ev := &Evaluation{LML: lml, Lower: lml - off, Upper: lml + off, Alpha: alpha.Data, Rank: n, Precision: "f64", BoundKind: "exact"}
	if opt.Gradient {
		g, err := o.gradient(ctx, p, alpha.Data, quad)
		if err != nil {
			return nil, err
		}
		ev.Gradient = g
		ev.MeanInfo = gp.MeanInfo(o.Engine, n, o.Chol.SolveTo)
	}
	ev.Seconds = time.Since(start).Seconds()
	return ev, nil
}

// centre takes the best constant from r, n×1, and what it is in alpha = K̂⁻¹r, and returns it.
func (o *exactObjective) centre(r, alpha linalg.Matrix) float64 {
	u := linalg.NewMatrix(r.Rows, 1)
	for i := range u.Data {
		u.Data[i] = 1
	}
	o.Chol.SolveTo(u, u)
	info, sum := 0.0, 0.0
	for i, v := range u.Data {
		info += v
		sum += alpha.Data[i]
	}
	if !(info > 0) {
		return 0
	}
	shift := sum / info
	for i, v := range u.Data {
		r.Data[i] -= shift
		alpha.Data[i] -= shift * v
	}
	return shift
}

// traceInverse estimates tr K̂⁻¹ by one sign vector.
func (o *exactObjective) traceInverse() float64 {
	z := gp.SignProbes(o.Table.X.Rows, 1, 0)
	x := linalg.NewMatrix(z.Rows, 1)
	o.Chol.SolveTo(x, z)
	return o.Engine.Dot(x.Data, z.Data)
}

// gradient returns ∂L/∂θ at p, where last belongs to p, alpha = K̂⁻¹(y-c) and quad = Q.
func (o *exactObjective) gradient(ctx context.Context, p Params, alpha []float64, quad float64) (*Gradient, error) {
	n := len(alpha)
	if o.m.Rows != n {
		o.m = linalg.NewMatrix(n, n)
	}
	done := o.Engine.Par.Until(ctx)
	o.Chol.InverseTo(o.m)
	done()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.Engine.Par.For(n, func(_, i int) {
		row := o.m.Row(i)
		for j, v := range row {
			row[j] = math.FMA(alpha[i], alpha[j], -v)
		}
	})
	g := &Gradient{Lengthscales: make([]float64, len(p.Lengthscales))}
	if _, err := o.Op.DenseGradTo(ctx, g.Lengthscales, o.m); err != nil {
		return nil, err
	}
	// tr(M K) = tr(M K̂) - tr(M D), the first of which is Q - n: the sum over all entries
	// would lose more where the noise is small.
	form := quad - float64(n)
	for i, v := range o.Op.Noise() {
		form -= v * o.m.At(i, i)
	}
	g.Variance = 0.5 * form / p.Variance
	for j, l := range p.Lengthscales {
		g.Lengthscales[j] *= 0.5 / l // by log l → by l; 0 at +Inf
	}
	for i, a := range alpha {
		g.Mean += a
		s := 0.5 * o.m.At(i, i)
		if o.Table.NoiseScale != nil {
			s *= o.Table.NoiseScale[i]
		}
		g.Noise += s
	}
	return g, nil
}

package evidence

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

// An Exact evaluates L exactly. Its work areas serve every call.
type Exact struct {
	*gp.Cholesky
	M linalg.Matrix

	// FreeMean puts the best c, 1'K̂⁻¹y / 1'K̂⁻¹1, in place of that of the parameters;
	// mean is the one of the last evaluation.
	FreeMean bool
	Mean     float64
}

func NewExact(e *linalg.Engine, d *gp.Table, p gp.Params) (*Exact, error) {
	dense, err := gp.NewCholesky(e, d, p)
	if err != nil {
		return nil, err
	}
	return &Exact{Cholesky: dense}, nil
}

// Rebuild does nothing: there is nothing auxiliary in an exact evaluation.
func (o *Exact) Rebuild(context.Context, gp.Params, Options) error { return nil }

// Evaluate returns L and, if asked for, its gradient. It fails with an error
// that wraps ErrNotFinite where K̂ is not positive definite in float64. The value comes
// at once; where Reject refuses it there is no gradient, two thirds of the work.
func (o *Exact) Evaluate(ctx context.Context, p gp.Params, opt Options) (*Value, error) {
	start := time.Now()
	if err := o.Factor(ctx, gp.DropFar(p)); err != nil {
		return nil, err
	}
	defer o.Engine.Par.Until(ctx)() // what the end of ctx leaves incomplete is thrown away
	n := o.Table.X.Rows
	r := linalg.NewMatrix(n, 1)
	for i, y := range o.Table.Y {
		r.Data[i] = y - p.Mean
	}
	alpha, ofOnes, trace := o.solutions(r)
	o.Mean = p.Mean
	if o.FreeMean {
		o.Mean += centre(r, alpha, ofOnes)
	}
	quad := o.Engine.Dot(r.Data, alpha.Data)
	lml := -0.5 * (float64(n)*math.Log(2*math.Pi) + o.Chol.LogDet() + quad)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !gp.Finite(lml) {
		return nil, fmt.Errorf("%w: value %v", gp.ErrNotFinite, lml)
	}
	off := RoundingOf(o.Op, alpha.Data, trace, quad)
	ev := &Value{LML: lml, Lower: lml - off, Upper: lml + off, Alpha: alpha.Data,
		Rank: n, Precision: "f64", BoundKind: "exact"}
	if opt.Gradient && (opt.Reject == nil || !opt.Reject(ev.Upper)) {
		g, err := o.gradient(ctx, p, alpha.Data, quad)
		if err != nil {
			return nil, err
		}
		ev.Gradient = g
		ev.MeanInfo = gp.MeanInfo(o.Engine, n, func(dst, _ linalg.Matrix) { dst.CopyFrom(ofOnes) })
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ev.Seconds = time.Since(start).Seconds()
	return ev, nil
}

// solutions returns K̂⁻¹ of r and of ones, n×1, and an estimate of tr K̂⁻¹ by one sign vector.
// It solves for all of them at once, which takes as long as for one.
func (o *Exact) solutions(r linalg.Matrix) (alpha, ofOnes linalg.Matrix, trace float64) {
	n := r.Rows
	x, z := linalg.NewMatrix(n, 3), gp.SignProbes(n, 1, 0)
	for i := range n {
		copy(x.Row(i), []float64{r.Data[i], 1, z.Data[i]})
	}
	o.Chol.SolveTo(x, x)
	alpha, ofOnes = x.Sub(0, n, 0, 1).Clone(), x.Sub(0, n, 1, 2).Clone()
	return alpha, ofOnes, o.Engine.Dot(x.Sub(0, n, 2, 3).Clone().Data, z.Data)
}

// centre takes the best constant from r, n×1, and what it is in alpha = K̂⁻¹r, and returns it;
// u = K̂⁻¹1.
func centre(r, alpha, u linalg.Matrix) float64 {
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

// gradient returns ∂L/∂θ at p, where last belongs to p, alpha = K̂⁻¹(y-c) and quad = Q.
func (o *Exact) gradient(ctx context.Context, p gp.Params, alpha []float64, quad float64) (*Gradient, error) {
	n := len(alpha)
	if o.M.Rows != n {
		o.M = linalg.NewMatrix(n, n)
	}
	o.Chol.InverseTo(o.M)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.Engine.Par.For(n, func(_, i int) {
		row := o.M.Row(i)
		for j, v := range row {
			row[j] = math.FMA(alpha[i], alpha[j], -v)
		}
	})
	if err := o.Op.Reset(gp.KernelOf(p), o.Op.Noise()); err != nil { // with what may come back
		return nil, err
	}
	g := &Gradient{Lengthscales: make([]float64, len(p.Lengthscales))}
	if _, err := o.Op.DenseGradTo(ctx, g.Lengthscales, o.M); err != nil {
		return nil, err
	}
	// tr(M K) = tr(M K̂) - tr(M D), the first of which is Q - n: the sum over all entries
	// would lose more where the noise is small.
	form := quad - float64(n)
	for i, v := range o.Op.Noise() {
		form -= v * o.M.At(i, i)
	}
	g.Variance = 0.5 * form / p.Variance
	for j, l := range p.Lengthscales {
		g.Lengthscales[j] *= 0.5 / l // by log l → by l; 0 at +Inf
	}
	for i, a := range alpha {
		g.Mean += a
		s := 0.5 * o.M.At(i, i)
		if o.Table.NoiseScale != nil {
			s *= o.Table.NoiseScale[i]
		}
		g.Noise += s
	}
	return g, nil
}

package inducing

import (
	"context"
	"math"

	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// sparseFactors hold P = Q + D of one point in the notation of estimator.go; they
// are the preconditioner of CGLB's conjugate gradients.
type sparseFactors struct {
	e       *linalg.Engine
	d       []float64        // D_i
	a, ad   linalg.Matrix    // A and A D⁻¹, m×n
	lu      *linalg.Cholesky // of K_uu
	b, binv linalg.Matrix    // B and B⁻¹, m×m
	lb      *linalg.Cholesky // of B
	trace   float64          // t
	resid   []float64        // K_ii - Q_ii
	logDet  float64
}

// factor forms the factors at p; the operator is already there.
func (s *Estimator) factor(ctx context.Context, p gp.Params) (*sparseFactors, error) {
	n, m := s.d.X.Rows, len(s.pivots)
	f := &sparseFactors{e: s.e, d: gp.NoiseOf(p, s.d), a: linalg.NewMatrix(m, n), ad: linalg.NewMatrix(m, n),
		resid: make([]float64, n)}
	if err := s.op.RowsTo(ctx, f.a, s.pivots); err != nil {
		return nil, err
	}
	kuu := linalg.NewMatrix(m, m)
	for k := range m {
		for l, c := range s.pivots {
			kuu.Set(k, l, f.a.At(k, int(c)))
		}
		kuu.Set(k, k, kuu.At(k, k)+jitterShare*p.Variance)
	}
	var err error
	if f.lu, err = s.e.NewCholesky(kuu); err != nil {
		return nil, err
	}
	f.lu.SolveLTo(f.a, f.a)
	for i := range n {
		f.resid[i] = p.Variance
	}
	for k := range m {
		out := f.ad.Row(k)
		for i, v := range f.a.Row(k) {
			out[i] = v / f.d[i]
			f.resid[i] -= v * v
		}
	}
	f.b = linalg.NewMatrix(m, m)
	s.e.GemmTo(f.b, 1, f.a, false, f.ad, true, 0)
	for k := range m {
		f.b.Set(k, k, f.b.At(k, k)+1)
	}
	if f.lb, err = s.e.NewCholesky(f.b.Clone()); err != nil {
		return nil, err
	}
	f.binv = linalg.NewMatrix(m, m)
	f.lb.InverseTo(f.binv)
	f.logDet = f.lb.LogDet()
	for i, r := range f.resid {
		f.trace += r / f.d[i]
		f.logDet += math.Log(f.d[i])
	}
	return f, ctx.Err()
}

// Dim returns n.
func (f *sparseFactors) Dim() int { return len(f.d) }

// LogDet returns log det P.
func (f *sparseFactors) LogDet() float64 { return f.logDet }

// SolveTo sets dst = P⁻¹ src, n×p; dst may be src.
func (f *sparseFactors) SolveTo(dst, src linalg.Matrix) {
	small := linalg.NewMatrix(f.a.Rows, src.Cols)
	f.e.GemmTo(small, 1, f.ad, false, src, false, 0)
	f.lb.SolveTo(small, small)
	for i := range dst.Rows {
		for c, x := range src.Row(i) {
			dst.Set(i, c, x/f.d[i])
		}
	}
	f.e.GemmTo(dst, -1, f.ad, true, small, false, 1)
}

// inverseDiagonal returns (P⁻¹)_ii = 1/D_i - [A'B⁻¹A]_ii / D_i².
func (f *sparseFactors) inverseDiagonal(e *linalg.Engine) []float64 {
	c := linalg.NewMatrix(f.a.Rows, f.a.Cols)
	e.GemmTo(c, 1, f.binv, false, f.ad, false, 0)
	diag := make([]float64, len(f.d))
	for i, d := range f.d {
		diag[i] = 1 / d
	}
	for k := range c.Rows {
		ad := f.ad.Row(k)
		for i, x := range c.Row(k) {
			diag[i] -= x * ad[i]
		}
	}
	return diag
}

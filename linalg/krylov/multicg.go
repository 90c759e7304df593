package krylov

import (
	"context"
	"math"

	"bbgp.dev/linalg"
)

// MultiCGOptions holds the settings of MultiCG.
type MultiCGOptions struct {
	// Tol ends the solve when the mean over the columns of ‖r‖/‖b‖ is at most Tol.
	Tol float64
	// MinPasses products are done whatever the residuals are.
	MinPasses int
	// MaxPasses ends the solve after so many products; 0 means 10 n.
	MaxPasses int
	// Weight, if not nil, scales the increment that pass j (from 0) adds to X:
	// a Russian-roulette estimate has 1/P(J > j) there and MaxPasses = J.
	Weight func(j int) float64
}

// A MultiCGResult is the outcome of MultiCG for p columns.
type MultiCGResult struct {
	// X is A^-1 B, n×p.
	X linalg.Matrix
	// Tri holds the Lanczos matrix of each column, whose start vector is b/‖b‖.
	Tri []*BlockTri
	// Norm2 holds ‖b‖² of each column.
	Norm2  []float64
	Passes int
}

// MultiCG solves A X = B, A = F^-1 Khat F^-T, by conjugate gradients with a
// process of its own for every column, as the mBCG of Gardner et al. (2018):
// no common basis, no re-orthogonalisation. B is n×p, in whitened coordinates.
// The Lanczos matrices come from the coefficients of CG: with steps α_j, β_j,
//
//	T_jj = 1/α_j + β_{j-1}/α_{j-1},   T_{j,j+1} = √β_j/α_j.
func MultiCG(ctx context.Context, e *linalg.Engine, op linalg.SymOp, f linalg.Preconditioner, b linalg.Matrix,
	opt MultiCGOptions) (*MultiCGResult, error) {
	n, p := b.Rows, b.Cols
	if op.Dim() != n || f.Dim() != n {
		panic("krylov: MultiCG: shapes differ")
	}
	s := &multiCG{e: e, op: op, f: f, r: b.Clone(), d: b.Clone(), q: linalg.NewMatrix(n, p), t: linalg.NewMatrix(n, p)}
	s.rr, s.alpha, s.beta = make([]float64, p), make([]float64, p), make([]float64, p)
	res := &MultiCGResult{X: linalg.NewMatrix(n, p), Norm2: make([]float64, p)}
	s.columnDots(res.Norm2, b, b)
	copy(s.rr, res.Norm2)
	for range p {
		res.Tri = append(res.Tri, NewBlockTri(linalg.Column([]float64{1})))
	}
	limit := opt.MaxPasses
	if limit == 0 {
		limit = 10 * n
	}
	for j := 0; j < limit && (j < opt.MinPasses || !s.converged(res.Norm2, opt.Tol)); j++ {
		weight := 1.0
		if opt.Weight != nil {
			weight = opt.Weight(j)
		}
		if err := s.step(ctx, res, weight); err != nil {
			return nil, err
		}
	}
	return res, nil
}

type multiCG struct {
	e               *linalg.Engine
	op              linalg.SymOp
	f               linalg.Preconditioner
	r, d, q, t      linalg.Matrix
	rr, alpha, beta []float64 // of the last step, per column
}

// converged compares the mean relative residual with tol.
func (s *multiCG) converged(norm2 []float64, tol float64) bool {
	sum, count := 0.0, 0
	for c, b := range norm2 {
		if b > 0 {
			sum += math.Sqrt(s.rr[c] / b)
			count++
		}
	}
	return count == 0 || sum <= tol*float64(count)
}

// step does one pass. A column whose residual has vanished stays as it is.
func (s *multiCG) step(ctx context.Context, res *MultiCGResult, weight float64) error {
	s.f.FInvTransTo(s.t, s.d)
	if err := s.op.MulTo(ctx, s.q, s.t); err != nil {
		return err
	}
	s.f.FInvTo(s.q, s.q)
	res.Passes++
	p := s.d.Cols
	dq, rr := make([]float64, p), make([]float64, p)
	s.columnDots(dq, s.d, s.q)
	step, live := make([]float64, p), make([]bool, p)
	for c := range p {
		if live[c] = s.rr[c] > 1e-28*res.Norm2[c] && dq[c] > 0; live[c] {
			step[c] = s.rr[c] / dq[c]
		}
	}
	for i := range s.d.Rows {
		d, q, r, x := s.d.Row(i), s.q.Row(i), s.r.Row(i), res.X.Row(i)
		for c, a := range step {
			x[c] += weight * a * d[c]
			r[c] -= a * q[c]
		}
	}
	s.columnDots(rr, s.r, s.r)
	for c, a := range step {
		if !live[c] {
			rr[c] = 0
			continue
		}
		beta := rr[c] / s.rr[c]
		diag := 1 / a
		if s.alpha[c] > 0 {
			diag += s.beta[c] / s.alpha[c]
		}
		one := func(v float64) linalg.Matrix { return linalg.Column([]float64{v}) }
		res.Tri[c].Push(one(diag), one(math.Sqrt(beta)/a))
		s.alpha[c], s.beta[c] = a, beta
	}
	copy(s.rr, rr)
	for i := range s.d.Rows {
		d, r := s.d.Row(i), s.r.Row(i)
		for c := range p {
			if live[c] {
				d[c] = r[c] + s.beta[c]*d[c]
			} else {
				d[c] = 0
			}
		}
	}
	return nil
}

// columnDots sets dst[c] = x_c'y_c.
func (s *multiCG) columnDots(dst []float64, x, y linalg.Matrix) {
	g := linalg.NewMatrix(x.Cols, x.Cols)
	s.e.GramTo(g, x, y)
	for c := range dst {
		dst[c] = g.At(c, c)
	}
}

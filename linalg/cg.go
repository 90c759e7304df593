package linalg

import (
	"context"
	"fmt"
	"math"
)

// CGOptions holds the settings of a solve.
type CGOptions struct {
	// Tol ends the solve when r'P^-1 r <= Tol² for every column.
	Tol float64
	// Warm takes x as the starting point; otherwise it is 0.
	Warm bool
	// Verify checks the end by a residual computed from x, and goes on from there
	// if it does not hold; one product more.
	Verify bool
	// MaxPasses stops the solve; 0 means no cap.
	MaxPasses int
	// OnPass, if not nil, sees the iterate, its residual and r'P^-1 r per column
	// after each pass, to form bounds; true ends the solve.
	OnPass func(pass int, x, r Matrix, rpr []float64) bool
}

// A CGResult says how a solve ended.
type CGResult struct {
	Passes    int // products with Khat
	Converged bool
	// Stagnated: the residual computed from x stayed above Tol through restarts,
	// which is what rounding of the products allows.
	Stagnated bool
	RPR       []float64 // r'P^-1 r of each column at the end
}

// A CG is preconditioned block conjugate gradients for Khat X = B, in float64,
// in the breakdown-free form of Ji and Li (2017): the search directions of a
// pass are made orthonormal and those without a new direction are left out, so
// equal, dependent or zero right-hand sides are no trouble. Columns that have
// converged stop to bring directions. It holds 6 n×p blocks.
type CG struct {
	e      *Engine
	n, p   int
	orth   *orthWork
	bufs   [6][]float64
	small  [3][]float64
	active []int
	rpr    []float64
}

// NewCG returns the work areas for n×n systems with up to p right-hand sides.
func NewCG(e *Engine, n, p int) *CG {
	if n < 1 || p < 1 {
		panic("linalg: NewCG: n and p must be positive")
	}
	s := &CG{e: e, n: n, p: p, orth: newOrthWork(e, p), rpr: make([]float64, p), active: make([]int, 0, p)}
	for i := range s.bufs {
		s.bufs[i] = make([]float64, n*p)
	}
	for i := range s.small {
		s.small[i] = make([]float64, p*p)
	}
	return s
}

// Solve sets x ≈ Khat^-1 b, both n×q with q at most p; they do not overlap.
func (s *CG) Solve(ctx context.Context, op SymOp, f Solver, x, b Matrix, opt CGOptions) (CGResult, error) {
	q := b.Cols
	if op.Dim() != s.n || f.Dim() != s.n || x.Rows != s.n || b.Rows != s.n || x.Cols != q || q > s.p || q < 1 {
		panic("linalg: CG.Solve: shapes differ")
	}
	r, z := view(s.bufs[0], s.n, q), view(s.bufs[1], s.n, q)
	res := CGResult{RPR: s.rpr[:q]}
	if !opt.Warm {
		x.Zero()
		r.CopyFrom(b)
	} else if err := s.residual(ctx, op, r, x, b, &res); err != nil {
		return res, err
	}
	last := math.Inf(1)
	for {
		s.precondition(f, z, r)
		stop, err := s.run(ctx, op, f, x, r, z, opt, &res)
		if err != nil || stop || !res.Converged || !opt.Verify || res.Passes == 0 {
			return res, err
		}
		if err := s.residual(ctx, op, r, x, b, &res); err != nil {
			return res, err
		}
		s.precondition(f, z, r)
		worst := 0.0
		for _, v := range s.rpr[:q] {
			worst = max(worst, v)
		}
		if worst <= opt.Tol*opt.Tol {
			return res, nil
		}
		if res.Converged = false; worst > last/2 {
			res.Stagnated = true
			return res, nil
		}
		last = worst
	}
}

// residual sets r = b - Khat x.
func (s *CG) residual(ctx context.Context, op SymOp, r, x, b Matrix, res *CGResult) error {
	if err := op.MulTo(ctx, r, x); err != nil {
		return err
	}
	res.Passes++
	for i := range s.n {
		row := r.Row(i)
		for j, v := range b.Row(i) {
			row[j] = v - row[j]
		}
	}
	return nil
}

// precondition sets z = P^-1 r and the r'P^-1 r of its columns.
func (s *CG) precondition(f Solver, z, r Matrix) {
	f.SolveTo(z, r)
	g := view(s.small[2], r.Cols, r.Cols)
	s.e.GramTo(g, r, z)
	for j := range r.Cols {
		s.rpr[j] = max(g.At(j, j), 0)
	}
}

// run iterates until every column has converged or opt.OnPass ends it (stop).
func (s *CG) run(ctx context.Context, op SymOp, f Solver, x, r, z Matrix, opt CGOptions, res *CGResult) (stop bool, err error) {
	dir := Matrix{Rows: s.n} // orthonormal search directions, n×m
	var mul, chol Matrix     // Khat dir, and the Cholesky factor of dir'Khat dir
	for {
		s.active = s.active[:0]
		for j, v := range s.rpr[:r.Cols] {
			if !(v <= opt.Tol*opt.Tol) {
				s.active = append(s.active, j)
			}
		}
		if res.Converged = len(s.active) == 0; res.Converged {
			return false, nil
		}
		if opt.MaxPasses > 0 && res.Passes >= opt.MaxPasses {
			return true, nil
		}
		dir = s.directions(z, dir, mul, chol)
		if dir.Cols == 0 {
			return false, ErrNotDefinite
		}
		mul = view(s.bufs[4], s.n, dir.Cols)
		if err := op.MulTo(ctx, mul, dir); err != nil {
			return false, err
		}
		res.Passes++
		chol = view(s.small[0], dir.Cols, dir.Cols)
		s.e.GramTo(chol, dir, mul)
		if bad := cholSmall(chol, 0); bad != nil { // of a search direction
			return false, fmt.Errorf("%w: %w", ErrNotDefinite, bad)
		}
		c := view(s.small[1], dir.Cols, r.Cols)
		s.e.GramTo(c, dir, r)
		solveLower(chol, c, 0)
		solveLowerTrans(chol, c, 0)
		s.e.MulSubTo(r, mul, c)
		s.e.GemmTo(x, 1, dir, false, c, false, 1)
		s.precondition(f, z, r)
		if opt.OnPass != nil && opt.OnPass(res.Passes, x, r, s.rpr[:r.Cols]) {
			return true, nil
		}
	}
}

// directions returns an orthonormal basis of the active columns of z, made
// conjugate to the directions dir of the last pass.
func (s *CG) directions(z, dir, mul, chol Matrix) Matrix {
	a := len(s.active)
	w := view(s.bufs[2], s.n, a)
	for i := range s.n {
		row, src := w.Row(i), z.Row(i)
		for c, j := range s.active {
			row[c] = src[j]
		}
	}
	if dir.Cols > 0 {
		c := view(s.small[1], dir.Cols, a)
		s.e.GramTo(c, mul, w)
		solveLower(chol, c, 0)
		solveLowerTrans(chol, c, 0)
		s.e.MulSubTo(w, dir, c)
	}
	q := view(s.bufs[3], s.n, a)
	rank := s.orth.run(q, view(s.small[2], a, a), w, 0)
	// Compact, so that the product sees no unused column.
	out := view(s.bufs[5], s.n, rank)
	for i := range s.n {
		copy(out.Row(i), q.Row(i)[:rank])
	}
	return out
}

package krylov

import (
	"context"
	"errors"
	"fmt"
	"math"

	"bbgp.dev/linalg"
)

// CGOptions holds the settings of a solve.
type CGOptions struct {
	// Tol ends the solve when r'P^-1 r <= Tol² for every column.
	Tol float64
	// Warm takes x as the starting point; otherwise it is 0.
	Warm bool
	// Verify checks the end by a residual computed from x, and goes on from there
	// if it does not hold; one product more. Of every column, x is in the end the best
	// by residuals so computed, the start included: rounding that makes iterates worse
	// spoils nothing.
	Verify bool
	// MaxPasses stops the solve; 0 means no cap.
	MaxPasses int
	// OnPass, if not nil, sees the iterate, its residual and r'P^-1 r per column
	// after each pass, to form bounds; true ends the solve.
	OnPass func(pass int, x, r linalg.Matrix, rpr []float64) bool
}

// A CGResult says how a solve ended.
type CGResult struct {
	Passes    int // products with Khat
	Converged bool
	// Stagnated: the residual computed from x stayed above Tol through restarts,
	// which is what rounding of the products allows.
	Stagnated bool
	RPR       []float64 // r'P^-1 r of each column of x; with Verify, of a residual computed from it
}

// A CG is preconditioned block conjugate gradients for Khat X = B, in float64,
// in the breakdown-free form of Ji and Li (2017): the search directions of a
// pass are made orthonormal and those without a new direction are left out, so
// equal, dependent or zero right-hand sides are no trouble. Columns that have
// converged stop to bring directions. It holds 6 n×p blocks, 7 with Verify.
type CG struct {
	e      *linalg.Engine
	n, p   int
	orth   *orthWork
	bufs   [6][]float64
	small  [3][]float64
	active []int
	rpr    []float64
	best   []float64 // n×p, of Verify
}

// NewCG returns the work areas for n×n systems with up to p right-hand sides.
func NewCG(e *linalg.Engine, n, p int) *CG {
	if n < 1 || p < 1 {
		panic("krylov: NewCG: n and p must be positive")
	}
	e.Check()
	s := &CG{e: e, n: n, p: p, orth: newOrthWork(e, p, false), rpr: make([]float64, p), active: make([]int, 0, p)}
	for i := range s.bufs {
		s.bufs[i] = make([]float64, n*p)
	}
	for i := range s.small {
		s.small[i] = make([]float64, p*p)
	}
	return s
}

// Solve sets x ≈ Khat^-1 b, both n×q with q at most p; they do not overlap. f nil stands
// for Identity(n).
func (s *CG) Solve(ctx context.Context, op linalg.SymOp, f linalg.Solver, x, b linalg.Matrix, opt CGOptions) (CGResult,
	error) {
	q := b.Cols
	x.Check()
	b.Check()
	if f == nil {
		f = linalg.Identity(s.n)
	}
	if op.Dim() != s.n || f.Dim() != s.n || x.Rows != s.n || b.Rows != s.n || x.Cols != q || q > s.p || q < 1 {
		panic("krylov: CG.Solve: shapes differ")
	}
	r, z := view(s.bufs[0], s.n, q), view(s.bufs[1], s.n, q)
	res := CGResult{RPR: s.rpr[:q]}
	if !opt.Warm {
		x.Zero()
		r.CopyFrom(b)
	} else if err := s.residual(ctx, op, r, x, b, &res); err != nil {
		return res, err
	}
	s.precondition(f, z, r)
	var err error
	if opt.Verify {
		err = s.verified(ctx, op, f, x, b, r, z, opt, &res)
	} else {
		_, err = s.run(ctx, op, f, x, r, z, opt, &res)
	}
	return res, err
}

// patience is the number of restarts in a row that may bring nothing: where rounding
// rules, residuals computed from x go up and down by orders of magnitude.
const patience = 2

// verified runs from x with residual r until a residual computed from x is within the
// tolerance, or restarts do not help any more. It leaves the best x.
func (s *CG) verified(ctx context.Context, op linalg.SymOp, f linalg.Solver, x, b, r, z linalg.Matrix, opt CGOptions,
	res *CGResult) error {
	kept := s.keep(x.Cols)
	for idle, stop := 0, false; ; {
		done, helped := kept.take(x, r, s.rpr, opt.Tol*opt.Tol)
		idle++
		if helped {
			idle = 0
		}
		res.Converged, res.Stagnated = done, !done && idle >= patience
		if done || res.Stagnated || stop {
			break
		}
		var err error
		// A matrix that is not definite is one whose rounding shows: what is reached stands.
		if stop, err = s.run(ctx, op, f, x, r, z, opt, res); err != nil && !errors.Is(err, ErrNotDefinite) {
			return err
		}
		if err := s.residual(ctx, op, r, x, b, res); err != nil {
			return err
		}
		s.precondition(f, z, r)
	}
	x.CopyFrom(kept.x)
	for j, v := range kept.rpr {
		s.rpr[j] = v
		if math.IsInf(v, 1) {
			return fmt.Errorf("%w: a residual is not a number", ErrNotDefinite)
		}
	}
	return nil
}

// A keeper holds the best columns so far, with r'P^-1 r and r'r. The first bounds the
// error in every functional, but its rounding hides errors of smooth functionals,
// which are as large as r itself: a column is better whose product of both is smaller
// while neither is much larger.
type keeper struct {
	x       linalg.Matrix
	rpr, rr []float64
}

func (s *CG) keep(q int) *keeper {
	if s.best == nil {
		s.best = make([]float64, s.n*s.p)
	}
	k := &keeper{view(s.best, s.n, q), make([]float64, q), make([]float64, q)}
	for j := range q {
		k.rpr[j], k.rr[j] = math.Inf(1), math.Inf(1)
	}
	return k
}

// take keeps the columns of x that are better, and says whether all are within the
// tolerance, and whether the product of one that is not has been halved.
func (k *keeper) take(x, r linalg.Matrix, rpr []float64, tol2 float64) (done, helped bool) {
	const scatter = 1.5 // of norms that are rounding
	done = true
	for j := range x.Cols {
		rr := 0.0
		for i := range r.Rows {
			rr += r.At(i, j) * r.At(i, j)
		}
		was := k.rpr[j] * k.rr[j]
		better := rpr[j]*rr < was && rpr[j] <= scatter*k.rpr[j] && rr <= scatter*k.rr[j]
		if better || rpr[j] <= tol2 && rpr[j] < k.rpr[j] {
			helped = helped || !(rpr[j]*rr > was/2)
			k.rpr[j], k.rr[j] = rpr[j], rr
			for i := range x.Rows {
				k.x.Set(i, j, x.At(i, j))
			}
		}
		done = done && k.rpr[j] <= tol2
	}
	return done, helped
}

// residual sets r = b - Khat x.
func (s *CG) residual(ctx context.Context, op linalg.SymOp, r, x, b linalg.Matrix, res *CGResult) error {
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
func (s *CG) precondition(f linalg.Solver, z, r linalg.Matrix) {
	f.SolveTo(z, r)
	g := view(s.small[2], r.Cols, r.Cols)
	s.e.GramTo(g, r, z)
	for j := range r.Cols {
		s.rpr[j] = max(g.At(j, j), 0)
	}
}

// run iterates until every column has converged or opt.OnPass ends it (stop).
func (s *CG) run(ctx context.Context, op linalg.SymOp, f linalg.Solver, x, r, z linalg.Matrix, opt CGOptions,
	res *CGResult) (stop bool, err error) {
	dir := linalg.Matrix{Rows: s.n} // orthonormal search directions, n×m
	var mul, chol linalg.Matrix     // Khat dir, and the Cholesky factor of dir'Khat dir
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
func (s *CG) directions(z, dir, mul, chol linalg.Matrix) linalg.Matrix {
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
	rank := s.orth.run(q, view(s.small[2], a, a), w, s.n, 0)
	// Compact, so that the product sees no unused column.
	out := view(s.bufs[5], s.n, rank)
	for i := range s.n {
		copy(out.Row(i), q.Row(i)[:rank])
	}
	return out
}

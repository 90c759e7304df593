package krylov

import (
	"errors"
	"fmt"
	"math"

	"bbgp.dev/linalg"
)

// Quadrature of log on a block Lanczos process (Golub and Meurant 1994; block
// forms: Golub and Meurant 2010, chapter 4). With c_i = [R0 e_i; 0],
//
//	Gauss         c_i' log(H) c_i                         >= w_i' log(A) w_i
//	Gauss-Radau   c_i' log(H_a) c_i, H_a = H extended by  <= w_i' log(A) w_i
//	              the diagonal block a I + B_t E_t'(H - a I)^-1 E_t B_t'
//
// for a node a at or below the smallest eigenvalue of A: the even derivatives
// of log are negative and the odd ones positive, which fixes the sides.

// ErrNotDefinite says that H, or H - aI, is not positive definite, so that the
// quadrature does not exist. In exact arithmetic it means that A or A - aI is
// not; in float32 products noise does the same when Khat is nearly singular.
var ErrNotDefinite = errors.New("the Lanczos matrix is not positive definite")

// A Quad holds the work areas of the quadrature. The zero value is ready.
type Quad struct {
	eig  bandEig
	ldl  BlockLDL
	ext  linalg.Matrix
	m    linalg.Matrix
	Low  float64 // smallest eigenvalue found by the last call
	High float64 // largest
	// Square is the mean over the columns of c_i' log(H)² c_i. Twice that is an
	// upper bound, in expectation, of the variance of w'log(A)w over sign vectors w.
	// Fourth is that of c_i' log(H)⁴ c_i.
	Square, Fourth float64
	// Frobenius is |log H|_F². After GaussTo |log A|_F² is at least as large: the
	// eigenvalues of H interlace those of A, above 1 from below, below 1 from above.
	Frobenius float64
}

// GaussTo sets dst[i] = c_i' log(H) c_i for the columns of R0, i < len(dst). The
// extreme eigenvalues of H, its Ritz values, are in q.Low and q.High.
func (q *Quad) GaussTo(dst []float64, h *BlockTri) error {
	q.eig.load(h, linalg.Matrix{})
	return q.sum(dst, h)
}

// RadauTo sets dst[i] to the Gauss-Radau value with the node a. Where H is
// exact (no coupling left) it equals Gauss.
func (q *Quad) RadauTo(dst []float64, h *BlockTri, node float64) error {
	p := h.Coupling().Rows
	if p == 0 {
		return q.GaussTo(dst, h)
	}
	if !q.ldl.Reset(h, node) {
		return q.ldl.Err()
	}
	if cap(q.ext.Data) < p*p {
		q.ext.Data = make([]float64, p*p)
	}
	q.ext = linalg.Matrix{Rows: p, Cols: p, Stride: p, Data: q.ext.Data[:p*p]}
	q.ldl.SchurTo(q.ext)
	for i := range p {
		q.ext.Data[i*p+i] += node
	}
	q.eig.load(h, q.ext)
	return q.sum(dst, h)
}

// NodeOne is the node for A >= I, where high is the largest Ritz value: a little
// below 1, since float32 storage of the basis lowers Ritz values by up to 1e-7 of
// the largest. Any node below the spectrum is valid.
func NodeOne(high float64) float64 { return max(0.5, 1-1e-6-1e-7*high) }

// ErrorTo bounds the rest of a quadratic form. Let zero be the factorisation of H
// and tail = B_t E_t'H^-1 c, so that the part c'A^-1 c - c'H^-1 c that Gauss misses
// is the form of A^-1 at the residual T_t+1 tail. Gauss-Radau with the node of the
// last RadauTo bounds it from above, for 1/x has the sides of log reversed:
//
//	dst = M^-1 tail,  M = a I + B_t E_t'((H - aI)^-1 - H^-1) E_t B_t',  bound = tail'dst
//
// It never exceeds |tail|²/a. ErrorTo reports false where M is not positive
// definite, which only rounding can cause.
func (q *Quad) ErrorTo(dst, tail []float64, zero *BlockLDL) bool {
	p := q.ext.Rows
	if len(dst) != p || len(tail) != p {
		panic("krylov: Quad.ErrorTo: wrong length")
	}
	if cap(q.m.Data) < p*p {
		q.m.Data = make([]float64, p*p)
	}
	q.m = view(q.m.Data[:p*p], p, p)
	zero.SchurTo(q.m)
	for i, v := range q.ext.Data[:p*p] {
		q.m.Data[i] = v - q.m.Data[i]
	}
	if cholSmall(q.m, 0) != nil {
		return false
	}
	copy(dst, tail)
	x := linalg.Column(dst[:p])
	solveLower(q.m, x, 0)
	solveLowerTrans(q.m, x, 0)
	return true
}

func (q *Quad) sum(dst []float64, h *BlockTri) error {
	if len(dst) > h.R0.Cols {
		panic("krylov: Quad: more values than start columns")
	}
	if !q.eig.solve() {
		return ErrNotDefinite
	}
	clear(dst)
	q.Low, q.High, q.Square, q.Fourth, q.Frobenius = math.Inf(1), math.Inf(-1), 0, 0, 0
	for a, lam := range q.eig.d[:q.eig.k] {
		q.Low, q.High = min(q.Low, lam), max(q.High, lam)
		if !(lam > 0) {
			return fmt.Errorf("%w: eigenvalue %d is %g", ErrNotDefinite, a, lam)
		}
		w, ln := q.eig.z[a*q.eig.p:(a+1)*q.eig.p], math.Log(lam)
		for i := range dst {
			s := 0.0
			for l, x := range w {
				s += float64(x * h.R0.Data[l*h.R0.Stride+i])
			}
			dst[i] += ln * s * s
			square := ln * ln * s * s / float64(len(dst))
			q.Square += square
			q.Fourth += ln * ln * square
		}
		q.Frobenius += ln * ln
	}
	return nil
}

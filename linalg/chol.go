package linalg

import (
	"fmt"
	"math"
)

// A NotPDError says that a matrix is not positive definite to working
// precision: elimination met a pivot that is not positive.
type NotPDError struct {
	Pivot int     // row of the pivot, from 0
	Value float64 // what is left of the diagonal element there, <= 0 or NaN
}

func (e *NotPDError) Error() string {
	return fmt.Sprintf("matrix is not positive definite: pivot %d is %g", e.Pivot, e.Value)
}

// A Cholesky is the factor L of a symmetric positive definite n×n matrix A = L L'.
type Cholesky struct {
	e *Engine
	l Matrix
}

// NewCholesky factors a, of which it reads and overwrites the lower triangle
// (with L) and leaves the rest. The result keeps a. The error is a *NotPDError;
// a is partly overwritten then.
//
// Recursive: L11 from A11, L21 = A21 L11^-T, L22 from A22 - L21 L21'; n³/3
// multiply-adds, nearly all of them in SyrkTo and GemmTo.
func (e *Engine) NewCholesky(a Matrix) (*Cholesky, error) {
	a.Check()
	if a.Rows != a.Cols {
		panic("linalg: NewCholesky: not square")
	}
	if err := e.factor(a, 0); err != nil {
		return nil, err
	}
	return &Cholesky{e: e, l: a}, nil
}

func (e *Engine) factor(a Matrix, offset int) error {
	if a.Rows <= triUnit {
		return factorLeaf(a, offset)
	}
	h := triSplit(a.Rows)
	a11, a21, a22 := cut(a, h)
	if err := e.factor(a11, offset); err != nil {
		return err
	}
	e.SolveRight(a21, a11, true)
	e.SyrkTo(a22, -1, a21, false, 1)
	return e.factor(a22, offset+h)
}

// factorLeaf factors a column after column; the products of a column are
// subtracted from all that follows at once, which are independent operations.
func factorLeaf(a Matrix, offset int) error {
	for j := range a.Rows {
		d := a.At(j, j)
		if !(d > 0) || math.IsInf(d, 1) {
			return &NotPDError{Pivot: offset + j, Value: d}
		}
		d = math.Sqrt(d)
		a.Set(j, j, d)
		var col [triUnit]float64
		for i := j + 1; i < a.Rows; i++ {
			row := a.Row(i)[j : i+1]
			v := row[0] / d
			row[0], col[i-j] = v, v
			for k, u := range col[1 : i-j+1] {
				row[1+k] -= v * u
			}
		}
	}
	return nil
}

// Dim returns n.
func (c *Cholesky) Dim() int { return c.l.Rows }

// Factor returns the matrix whose lower triangle is L; what stands above the
// diagonal is not part of it.
func (c *Cholesky) Factor() Matrix { return c.l }

// LogDet returns log det A = 2 Σ log L_ii.
func (c *Cholesky) LogDet() float64 {
	s := 0.0
	for i := range c.l.Rows {
		s += math.Log(c.l.At(i, i))
	}
	return 2 * s
}

// SolveTo sets dst = A^-1 src, n×q; dst may be src.
func (c *Cholesky) SolveTo(dst, src Matrix) {
	c.SolveLTo(dst, src)
	c.e.SolveLeft(c.l, true, dst)
}

// SolveLTo sets dst = L^-1 src, n×q; dst may be src.
func (c *Cholesky) SolveLTo(dst, src Matrix) {
	dst.CopyFrom(src)
	c.e.SolveLeft(c.l, false, dst)
}

// SolveLTransTo sets dst = L^-T src, n×q; dst may be src.
func (c *Cholesky) SolveLTransTo(dst, src Matrix) {
	dst.CopyFrom(src)
	c.e.SolveLeft(c.l, true, dst)
}

// InverseTo sets dst = A^-1, n×n, both triangles, by L^-1 and L^-T L^-1 in
// place. dst may be the matrix that was factored: c is of no use afterwards.
func (c *Cholesky) InverseTo(dst Matrix) {
	dst.Check()
	if dst.Rows != c.l.Rows || dst.Cols != c.l.Cols {
		panic("linalg: InverseTo: shapes do not fit")
	}
	par := c.e.Par
	par.ForRows(dst.Rows, func(i int) { copy(dst.Row(i)[:i+1], c.l.Row(i)) })
	c.e.InvertLower(dst)
	c.e.squareLower(dst)
	par.For((dst.Rows+mirrorBlock-1)/mirrorBlock, func(_, b int) { dst.mirrorRows(b) })
}

// On returns the factor on e: the numbers are shared, the work areas are not, so that both may be used at the same
// time. Over ranks, both engines have the same Comm.
func (c *Cholesky) On(e *Engine) *Cholesky { return &Cholesky{e: e, l: c.l} }

package linalg

import "bbgp.dev/linalg/internal/room"

// Triangular systems and triangular products, by recursion: a triangle is cut
// in two, [L11 0; L21 L22], the square between goes through GemmTo, and
// triangles of order triLeaf are left to leaf.go. Substitution, not products
// with inverted blocks, keeps the backward error independent of the condition
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 8.1).

// A side tells whether a triangle stands on the left of b, as in L^-1 b, or on
// its right. A right-hand side is a column of b then, or a row.
type side uint8

const (
	onLeft side = iota
	onRight
)

// triSplit is where a triangle of order n is cut.
func triSplit(n int) int {
	if n > triLeaf {
		return room.RoundUp(n/2, triLeaf)
	}
	return room.RoundUp(n/2, triUnit)
}

func cut(l Matrix, h int) (l11, l21, l22 Matrix) {
	n := l.Rows
	return l.Sub(0, h, 0, h), l.Sub(h, n, 0, h), l.Sub(h, n, h, n)
}

// parts cuts the unknowns of every right-hand side at h.
func (s side) parts(b Matrix, h int) (first, second Matrix) {
	if s == onLeft {
		return b.Sub(0, h, 0, b.Cols), b.Sub(h, b.Rows, 0, b.Cols)
	}
	return b.Sub(0, b.Rows, 0, h), b.Sub(0, b.Rows, h, b.Cols)
}

// addProduct adds alpha op(a) src to dst, both seen from the left.
func (e *Engine) addProduct(s side, dst Matrix, alpha float64, a Matrix, trans bool, src Matrix) {
	if s == onLeft {
		e.GemmTo(dst, alpha, a, trans, src, false, 1)
	} else {
		e.GemmTo(dst, alpha, src, false, a, !trans, 1)
	}
}

// SolveLeft overwrites b (n×q) with L^-1 b, or L^-T b if trans. L is the lower
// triangle of l (n×n), which does not overlap b; the rest of l is not read.
// 1/L_ii is taken, so a diagonal element below 2^-1023 gives Inf or NaN.
func (e *Engine) SolveLeft(l Matrix, trans bool, b Matrix) {
	check(l, b)
	if l.Rows != l.Cols || b.Rows != l.Rows {
		panic("linalg: SolveLeft: shapes do not fit")
	}
	e.solve(onLeft, l, trans, b)
}

// SolveRight overwrites b (q×n) with b L^-1, or b L^-T if trans. L is the lower
// triangle of l, as for SolveLeft.
func (e *Engine) SolveRight(b, l Matrix, trans bool) {
	check(l, b)
	if l.Rows != l.Cols || b.Cols != l.Rows {
		panic("linalg: SolveRight: shapes do not fit")
	}
	e.solve(onRight, l, !trans, b) // (b L^-T)' = L^-1 b'
}

// solve overwrites b with L^-1 b, or L^-T b if trans; on the right with the
// transpose of what that makes of b'.
func (e *Engine) solve(s side, l Matrix, trans bool, b Matrix) {
	if b.Rows == 0 || b.Cols == 0 {
		return
	}
	if l.Rows <= triLeaf {
		t := e.tri()
		t.run(t.solve, s, l, trans, b)
		return
	}
	h := triSplit(l.Rows)
	l11, l21, l22 := cut(l, h)
	b1, b2 := s.parts(b, h)
	if trans {
		e.solve(s, l22, true, b2)
		e.addProduct(s, b1, -1, l21, true, b2)
		e.solve(s, l11, true, b1)
		return
	}
	e.solve(s, l11, false, b1)
	e.addProduct(s, b2, -1, l21, false, b1)
	e.solve(s, l22, false, b2)
}

// mulLeftTrans overwrites b (n×q) with L' b.
func (e *Engine) mulLeftTrans(l, b Matrix) {
	if b.Rows == 0 || b.Cols == 0 {
		return
	}
	if l.Rows <= triLeaf {
		t := e.tri()
		t.run(t.mul, onLeft, l, true, b)
		return
	}
	h := triSplit(l.Rows)
	l11, l21, l22 := cut(l, h)
	b1, b2 := onLeft.parts(b, h)
	e.mulLeftTrans(l11, b1)
	e.addProduct(onLeft, b1, 1, l21, true, b2)
	e.mulLeftTrans(l22, b2)
}

// wholeLeaf is the order up to which a triangle is inverted or squared as if it
// were a full matrix: three times the work, in one product.
const wholeLeaf = 96

// InvertLower overwrites the lower triangle of l (n×n) with that of L^-1, n³/3 multiply-adds. What is above the
// diagonal is not read and stays as it is.
func (e *Engine) InvertLower(l Matrix) {
	n := l.Rows
	l.Check()
	if l.Cols != n {
		panic("linalg: InvertLower: not square")
	}
	if n <= wholeLeaf {
		x := NewMatrix(n, n)
		for i := range n {
			x.Set(i, i, 1)
		}
		e.solve(onLeft, l, false, x)
		copyLower(l, x)
		return
	}
	l11, l21, l22 := cut(l, triSplit(n))
	e.solve(onLeft, l22, false, l21)
	e.Par.ForRows(l21.Rows, func(i int) { l21.Sub(i, i+1, 0, l21.Cols).scale(-1, gemmFull) })
	e.SolveRight(l21, l11, false)
	e.InvertLower(l11)
	e.InvertLower(l22)
}

// squareLower overwrites the lower triangle of l with that of L'L.
func (e *Engine) squareLower(l Matrix) {
	n := l.Rows
	if n <= wholeLeaf {
		x := NewMatrix(n, n)
		copyLower(x, l)
		e.SyrkTo(l, 1, x, true, 0)
		return
	}
	l11, l21, l22 := cut(l, triSplit(n))
	e.squareLower(l11)
	e.SyrkTo(l11, 1, l21, true, 1)
	e.mulLeftTrans(l22, l21)
	e.squareLower(l22)
}

// copyLower copies the lower triangle of src.
func copyLower(dst, src Matrix) {
	for i := range dst.Rows {
		copy(dst.Row(i)[:i+1], src.Row(i)[:i+1])
	}
}

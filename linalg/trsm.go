package linalg

import "bbgp.dev/asm"

// Triangular systems and triangular products, by recursion: a triangle is cut
// in two, [L11 0; L21 L22], the square between goes through GemmTo, and only
// triangles of order triLeaf are solved row by row. Substitution, not products
// with inverted blocks, keeps the backward error independent of the condition
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 8.1).
const (
	triLeaf  = 96 // a common multiple of MR and NR: blocks start on whole micro-tiles
	triChunk = asm.Pad
	triUnit  = asm.RowUnit // rows that are eliminated one by one
	// scalarLeaf is the order up to which a triangle is factored, inverted or
	// squared in plain Go.
	scalarLeaf = 48
)

// A triJob is the state of a leaf. A worker solves for triChunk right-hand
// sides at a time, in a copy [triLeaf][triChunk] whose vectors run across them.
// Its work areas take threads·triLeaf·(triChunk + triUnit)·8 bytes.
type triJob struct {
	e     *Engine
	l, b  Matrix
	trans bool
	x     [][]float64 // for each worker [triLeaf][triChunk]
	coef  [][]float64 // for each worker [triLeaf][triUnit]

	left, right, mul func(worker, i int)
}

func (e *Engine) tri() *triJob {
	if e.leaf == nil {
		threads := e.Par.Threads()
		t := &triJob{e: e, x: make([][]float64, threads), coef: make([][]float64, threads)}
		for w := range threads {
			t.x[w], t.coef[w] = make([]float64, triLeaf*triChunk), make([]float64, triLeaf*triUnit)
		}
		t.left, t.right, t.mul = t.solveColumns, t.solveRows, t.mulColumns
		e.leaf = t
	}
	return e.leaf
}

// triSplit is where a triangle of order n > scalarLeaf is cut.
func triSplit(n int) int {
	if n > triLeaf {
		return roundUp(n/2, triLeaf)
	}
	return scalarLeaf
}

func cut(l Matrix, h int) (l11, l21, l22 Matrix) {
	n := l.Rows
	return l.Sub(0, h, 0, h), l.Sub(h, n, 0, h), l.Sub(h, n, h, n)
}

func cutRows(b Matrix, h int) (top, bottom Matrix) {
	return b.Sub(0, h, 0, b.Cols), b.Sub(h, b.Rows, 0, b.Cols)
}

func cutCols(b Matrix, h int) (left, right Matrix) {
	return b.Sub(0, b.Rows, 0, h), b.Sub(0, b.Rows, h, b.Cols)
}

// SolveLeft overwrites b (n×q) with L^-1 b, or L^-T b if trans. L is the lower
// triangle of l (n×n), which does not overlap b; the rest of l is not read.
// A zero on the diagonal gives Inf or NaN.
func (e *Engine) SolveLeft(l Matrix, trans bool, b Matrix) {
	if l.Rows != l.Cols || b.Rows != l.Rows {
		panic("linalg: SolveLeft: shapes do not fit")
	}
	if l.Rows == 0 || b.Cols == 0 {
		return
	}
	if l.Rows <= triLeaf {
		e.tri().run(l, b, trans, e.leaf.left, b.Cols)
		return
	}
	h := triSplit(l.Rows)
	l11, l21, l22 := cut(l, h)
	b1, b2 := cutRows(b, h)
	if trans {
		e.SolveLeft(l22, true, b2)
		e.GemmTo(b1, -1, l21, true, b2, false, 1)
		e.SolveLeft(l11, true, b1)
		return
	}
	e.SolveLeft(l11, false, b1)
	e.GemmTo(b2, -1, l21, false, b1, false, 1)
	e.SolveLeft(l22, false, b2)
}

// SolveRight overwrites b (q×n) with b L^-1, or b L^-T if trans. L is the lower
// triangle of l, as for SolveLeft.
func (e *Engine) SolveRight(b, l Matrix, trans bool) {
	if l.Rows != l.Cols || b.Cols != l.Rows {
		panic("linalg: SolveRight: shapes do not fit")
	}
	if l.Rows == 0 || b.Rows == 0 {
		return
	}
	if l.Rows <= triLeaf {
		e.tri().run(l, b, trans, e.leaf.right, b.Rows)
		return
	}
	h := triSplit(l.Rows)
	l11, l21, l22 := cut(l, h)
	b1, b2 := cutCols(b, h)
	if trans {
		e.SolveRight(b1, l11, true)
		e.GemmTo(b2, -1, b1, false, l21, true, 1)
		e.SolveRight(b2, l22, true)
		return
	}
	e.SolveRight(b2, l22, false)
	e.GemmTo(b1, -1, b2, false, l21, false, 1)
	e.SolveRight(b1, l11, false)
}

// mulLeftTrans overwrites b (n×q) with L' b.
func (e *Engine) mulLeftTrans(l, b Matrix) {
	if l.Rows <= triLeaf {
		e.tri().run(l, b, true, e.leaf.mul, b.Cols)
		return
	}
	h := triSplit(l.Rows)
	l11, l21, l22 := cut(l, h)
	b1, b2 := cutRows(b, h)
	e.mulLeftTrans(l11, b1)
	e.GemmTo(b1, 1, l21, true, b2, false, 1)
	e.mulLeftTrans(l22, b2)
}

// invertLower overwrites the lower triangle of l with that of L^-1.
func (e *Engine) invertLower(l Matrix) {
	if n := l.Rows; n > scalarLeaf {
		l11, l21, l22 := cut(l, triSplit(n))
		e.SolveLeft(l22, false, l21)
		l21.scale(-1, gemmFull)
		e.SolveRight(l21, l11, false)
		e.invertLower(l11)
		e.invertLower(l22)
		return
	}
	for j := range l.Rows {
		d := 1 / l.At(j, j)
		l.Set(j, j, d)
		for i := j + 1; i < l.Rows; i++ {
			// Column j of L^-1, from the columns after j, which are still those of L.
			s := l.At(i, j) * d
			for k := j + 1; k < i; k++ {
				s += l.At(i, k) * l.At(k, j)
			}
			l.Set(i, j, -s/l.At(i, i))
		}
	}
}

// squareLower overwrites the lower triangle of l with that of L'L.
func (e *Engine) squareLower(l Matrix) {
	if n := l.Rows; n > scalarLeaf {
		l11, l21, l22 := cut(l, triSplit(n))
		e.squareLower(l11)
		e.SyrkTo(l11, 1, l21, true, 1)
		e.mulLeftTrans(l22, l21)
		e.squareLower(l22)
		return
	}
	for i := range l.Rows {
		for j := range i + 1 {
			s := 0.0
			for k := i; k < l.Rows; k++ {
				s += l.At(k, i) * l.At(k, j)
			}
			l.Set(i, j, s)
		}
	}
}

// run shares q right-hand sides out to the threads.
func (t *triJob) run(l, b Matrix, trans bool, body func(worker, i int), q int) {
	t.l, t.b, t.trans = l, b, trans
	t.e.Par.For((q+triChunk-1)/triChunk, body)
	t.l, t.b = Matrix{}, Matrix{}
}

// solveColumns solves for one chunk of the columns of b.
func (t *triJob) solveColumns(worker, i int) {
	b := t.b.Sub(0, t.b.Rows, i*triChunk, min((i+1)*triChunk, t.b.Cols))
	x := t.x[worker]
	clear(x)
	for r := range b.Rows {
		copy(x[r*triChunk:], b.Row(r))
	}
	t.eliminate(worker, t.trans)
	for r := range b.Rows {
		copy(b.Row(r), x[r*triChunk:])
	}
}

// solveRows solves for one chunk of the rows of b: X L' = B is L X' = B'.
func (t *triJob) solveRows(worker, i int) {
	b := t.b.Sub(i*triChunk, min((i+1)*triChunk, t.b.Rows), 0, t.b.Cols)
	x := t.x[worker]
	if b.Rows < triChunk || b.Cols%triUnit != 0 {
		clear(x)
	}
	packAcross(x[:b.Cols*triChunk], b, 0, b.Rows, 0, b.Cols)
	t.eliminate(worker, !t.trans)
	unpackAcross(b, x, triChunk)
}

// eliminate overwrites the worker's x with L^-1 x, or L^-T x: units of rows in
// turn, each less the product with the units before it, then solved by itself.
func (t *triJob) eliminate(worker int, trans bool) {
	n, x, coef := t.l.Rows, t.x[worker], t.coef[worker]
	units := (n + triUnit - 1) / triUnit
	for u := range units {
		if trans {
			u = units - 1 - u
		}
		r0, r1 := u*triUnit, min((u+1)*triUnit, n)
		from, to := 0, r0 // the rows that are solved
		if trans {
			from, to = r0+triUnit, units*triUnit
		}
		if from < to {
			t.coefficients(coef, from, to, r0, r1, trans)
			t.e.Impl.F64.AccJ(x[r0*triChunk:][:triUnit*triChunk], x[from*triChunk:to*triChunk], coef, to-from, triChunk, triUnit)
		}
		if trans {
			for r := r1 - 1; r >= r0; r-- {
				for k := r + 1; k < r1; k++ {
					t.e.Impl.Axpy(-t.l.At(k, r), row(x, k), row(x, r))
				}
				divide(row(x, r), t.l.At(r, r))
			}
			continue
		}
		for r := r0; r < r1; r++ {
			lr := t.l.Row(r)
			for k := r0; k < r; k++ {
				t.e.Impl.Axpy(-lr[k], row(x, k), row(x, r))
			}
			divide(row(x, r), lr[r])
		}
	}
}

func row(x []float64, r int) []float64 { return x[r*triChunk:][:triChunk] }

// coefficients sets coef[k-from][c] = -L[r0+c][k], or -L[k][r0+c] if trans, 0
// beyond the end of L.
func (t *triJob) coefficients(coef []float64, from, to, r0, r1 int, trans bool) {
	for k := from; k < to; k++ {
		out := coef[(k-from)*triUnit:][:triUnit]
		clear(out)
		if k >= t.l.Rows {
			continue
		}
		for r := r0; r < r1; r++ {
			if trans {
				out[r-r0] = -t.l.At(k, r)
			} else {
				out[r-r0] = -t.l.At(r, k)
			}
		}
	}
}

func divide(x []float64, d float64) {
	for j := range x {
		x[j] /= d
	}
}

// mulColumns multiplies one chunk of the columns of b by L'.
func (t *triJob) mulColumns(_, i int) {
	b := t.b.Sub(0, t.b.Rows, i*triChunk, min((i+1)*triChunk, t.b.Cols))
	for r := range b.Rows {
		x, d := b.Row(r), t.l.At(r, r)
		for j := range x {
			x[j] *= d
		}
		for k := r + 1; k < b.Rows; k++ {
			t.e.Impl.Axpy(t.l.At(k, r), b.Row(k), x)
		}
	}
}

package linalg

// Triangular systems and triangular products, by recursion: a triangle is cut
// in two, [L11 0; L21 L22], the square between goes through GemmTo, and only
// triangles of order triLeaf are solved row by row. Substitution, not products
// with inverted blocks, keeps the backward error independent of the condition
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 8.1).
const (
	triLeaf  = 48 // a common multiple of MR and NR: blocks start on whole micro-tiles
	triChunk = 96 // right-hand sides that one worker solves at a time, in L1
)

// A triJob is the state of a leaf, and its work area of threads·triLeaf·triChunk·8 bytes.
type triJob struct {
	e     *Engine
	l, b  Matrix
	trans bool
	buf   [][]float64

	left, right, mul func(worker, i int)
}

func (e *Engine) tri() *triJob {
	if e.leaf == nil {
		t := &triJob{e: e, buf: make([][]float64, e.Par.Threads())}
		for w := range t.buf {
			t.buf[w] = make([]float64, triLeaf*triChunk)
		}
		t.left, t.right, t.mul = t.solveColumns, t.solveRows, t.mulColumns
		e.leaf = t
	}
	return e.leaf
}

// triSplit is where a triangle of order n > triLeaf is cut.
func triSplit(n int) int { return roundUp(n/2, triLeaf) }

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
	if n := l.Rows; n > triLeaf {
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
	if n := l.Rows; n > triLeaf {
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
func (t *triJob) solveColumns(_, i int) {
	b := t.b.Sub(0, t.b.Rows, i*triChunk, min((i+1)*triChunk, t.b.Cols))
	if !t.trans {
		t.substitute(b)
		return
	}
	for r := b.Rows - 1; r >= 0; r-- {
		x := b.Row(r)
		for k := r + 1; k < b.Rows; k++ {
			t.e.Impl.Axpy(-t.l.At(k, r), b.Row(k), x)
		}
		divide(x, t.l.At(r, r))
	}
}

func (t *triJob) substitute(b Matrix) {
	for r := range b.Rows {
		x, row := b.Row(r), t.l.Row(r)
		for k := range r {
			t.e.Impl.Axpy(-row[k], b.Row(k), x)
		}
		divide(x, row[r])
	}
}

func divide(x []float64, d float64) {
	for j := range x {
		x[j] /= d
	}
}

// solveRows solves for one chunk of the rows of b, in a transposed copy: the
// vectors then run across rows.
func (t *triJob) solveRows(worker, i int) {
	b := t.b.Sub(i*triChunk, min((i+1)*triChunk, t.b.Rows), 0, t.b.Cols)
	x := Matrix{Rows: b.Cols, Cols: b.Rows, Stride: triChunk, Data: t.buf[worker]}
	for r := range b.Rows {
		for j, v := range b.Row(r) {
			x.Data[j*triChunk+r] = v
		}
	}
	if t.trans {
		t.substitute(x) // X L' = B is L X' = B'
	} else {
		for r := x.Rows - 1; r >= 0; r-- {
			for k := r + 1; k < x.Rows; k++ {
				t.e.Impl.Axpy(-t.l.At(k, r), x.Row(k), x.Row(r))
			}
			divide(x.Row(r), t.l.At(r, r))
		}
	}
	for r := range b.Rows {
		row := b.Row(r)
		for j := range row {
			row[j] = x.Data[j*triChunk+r]
		}
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

package linalg

import (
	"bbgp.dev/asm"
	"bbgp.dev/linalg/internal/room"
)

const (
	triUnit  = asm.TriUnit  // unknowns that are eliminated one by one
	triChunk = asm.GemmCols // right-hand sides that a worker takes at a time
	triLeaf  = 240          // a common multiple of triUnit and gemmMR
)

// A triJob solves with, or multiplies by, a triangle of order at most triLeaf. A
// worker takes triChunk right-hand sides at a time in a copy [n][triChunk], which
// is B and C of the micro-kernel alike. The coefficients, its A, are packed
// before, unit by unit of the rows.
//
// Work areas: about triLeaf·(triLeaf/2 + 2 triUnit + threads·triChunk)·8 bytes.
type triJob struct {
	e     *Engine
	s     side
	l, b  Matrix
	trans bool
	n     int         // order of l, rounded up to whole units
	coef  []float64   // as packSolve or packMul leave them
	x     [][]float64 // for each worker [n][triChunk]
	tile  [][]float64 // for each worker, a micro-tile

	solve, mul triSteps
}

// triSteps are the two loops of a job, bound once: a loop allocates nothing.
type triSteps struct {
	pack  func(worker, unit int)
	chunk func(worker, i int)
}

func (e *Engine) tri() *triJob {
	if e.leaf == nil {
		threads := e.Par.Threads()
		t := &triJob{e: e, x: make([][]float64, threads), tile: make([][]float64, threads)}
		for w := range threads {
			t.x[w], t.tile[w] = make([]float64, triLeaf*triChunk), make([]float64, gemmMR*triChunk)
		}
		t.solve, t.mul = triSteps{t.packSolve, t.solveChunk}, triSteps{t.packMul, t.mulChunk}
		e.leaf = t
	}
	return e.leaf
}

// run shares the right-hand sides out to the threads.
func (t *triJob) run(steps triSteps, s side, l Matrix, trans bool, b Matrix) {
	t.s, t.l, t.trans, t.b = s, l, trans, b
	t.n = room.RoundUp(l.Rows, triUnit)
	units := t.n / triUnit
	t.coef = room.Reserve(t.coef, max(unitAt(units), panelAt(t.n/gemmMR)))
	t.e.Par.For(units, steps.pack)
	t.e.Par.For((s.count(b)+triChunk-1)/triChunk, steps.chunk)
	t.l, t.b = Matrix{}, Matrix{}
}

// count is the number of right-hand sides.
func (s side) count(b Matrix) int {
	if s == onLeft {
		return b.Cols
	}
	return b.Rows
}

// load copies right-hand sides from j on to x, with zeros for those beyond the
// end and for unknowns beyond the order of the triangle.
func (t *triJob) load(x []float64, j int) {
	width, n := min(triChunk, t.s.count(t.b)-j), t.l.Rows
	if t.s == onLeft {
		packAlong(x[:n*triChunk], gemmNR, t.b, j, width, 0, n)
	} else {
		packAcross(&t.e.Impl.F64, x[:n*triChunk], t.b, j, width, 0, n)
	}
	clear(x[n*triChunk : t.n*triChunk])
}

// store is the inverse of load.
func (t *triJob) store(x []float64, j int) {
	end := min(j+triChunk, t.s.count(t.b))
	if t.s == onRight {
		unpackAcross(&t.e.Impl.F64, t.b.Sub(j, end, 0, t.b.Cols), x, triChunk)
		return
	}
	for r := range t.b.Rows {
		copy(t.b.Row(r)[j:end], x[r*triChunk:])
	}
}

// unitRow is the first row of the unit that is solved after u others.
func (t *triJob) unitRow(u int) int {
	if t.trans {
		return t.n - (u+1)*triUnit
	}
	return u * triUnit
}

// unitAt is where the coefficients of that unit begin: those of its terms in the
// unknowns solved before, [triUnit/gemmMR][u·triUnit][gemmMR], and its triangle.
func unitAt(u int) int { return triUnit * triUnit * (u * (u + 1) / 2) }

// packSolve packs the coefficients of a unit.
func (t *triJob) packSolve(_, u int) {
	r0, depth, out := t.unitRow(u), u*triUnit, t.coef[unitAt(u):]
	for r := r0; depth > 0 && r < r0+triUnit; r += gemmMR {
		dst, width := out[:depth*gemmMR], min(gemmMR, t.l.Rows-r)
		switch {
		case width <= 0:
			clear(dst)
		case t.trans:
			t.packColumns(dst, r, r0+triUnit)
		default:
			packAcross(&t.e.Impl.F64, dst, t.l, r, width, 0, depth)
		}
		out = out[len(dst):]
	}
	t.packTriangle(out, r0)
}

// packTriangle packs the triangle of the unit at row r0 for asm.TriSolve. The
// rows beyond the order of l are those of the identity.
func (t *triJob) packTriangle(out []float64, r0 int) {
	for i := range triUnit {
		row, ri := out[i*triUnit:][:triUnit], r0+i
		if t.trans {
			ri = r0 + triUnit - 1 - i
		}
		row[i] = 1
		if ri < t.l.Rows {
			row[i] = 1 / t.l.At(ri, ri)
		}
		for k := i + 1; k < triUnit; k++ {
			lower, col := r0+k, ri
			if t.trans {
				lower, col = ri, r0+triUnit-1-k
			}
			row[k] = 0
			if lower < t.l.Rows {
				row[k] = t.l.At(lower, col)
			}
		}
	}
}

// packColumns packs columns r .. r+gemmMR-1 of l from row k0 on, with zeros
// beyond its end.
func (t *triJob) packColumns(dst []float64, r, k0 int) {
	have := max(0, t.l.Rows-k0) * gemmMR
	if have > 0 {
		packAlong(dst[:have], gemmMR, t.l, r, min(gemmMR, t.l.Rows-r), k0, have/gemmMR)
	}
	clear(dst[have:])
}

// solveChunk solves for one chunk of right-hand sides.
func (t *triJob) solveChunk(worker, i int) {
	x := t.x[worker]
	t.load(x, i*triChunk)
	for u := range t.n / triUnit {
		r0, depth, coef := t.unitRow(u), u*triUnit, t.coef[unitAt(u):]
		at, stride, solved := r0*triChunk, triChunk, x
		if t.trans {
			at, stride, solved = (r0+triUnit-1)*triChunk, -triChunk, x[(r0+triUnit)*triChunk:]
		}
		for r := r0; depth > 0 && r < r0+triUnit; r += gemmMR {
			t.e.Impl.F64.Gemm(x[r*triChunk:], triChunk, -1, coef, solved, depth, true)
			coef = coef[depth*gemmMR:]
		}
		t.e.Impl.TriSolve(x, at, stride, coef)
	}
	t.store(x, i*triChunk)
}

// panelAt is where the coefficients of the product's panel of gemmMR rows begin
// that has count panels after it: [(count+1)·gemmMR][gemmMR].
func panelAt(count int) int { return gemmMR * gemmMR * (count * (count + 1) / 2) }

// packMul packs L' for a unit of rows.
func (t *triJob) packMul(_, u int) {
	for r := u * triUnit; r < (u+1)*triUnit; r += gemmMR {
		dst := t.coef[panelAt((t.n-r)/gemmMR-1):][:(t.n-r)*gemmMR]
		if r >= t.l.Rows {
			clear(dst)
			continue
		}
		t.packColumns(dst, r, r)
		for k := range gemmMR { // L'[r+i][r+k] = 0 for i > k
			clear(dst[k*gemmMR+k+1 : (k+1)*gemmMR])
		}
	}
}

// mulChunk multiplies one chunk of right-hand sides. A panel needs only the rows
// from its first on, which are still the old ones.
func (t *triJob) mulChunk(worker, i int) {
	x, tile := t.x[worker], t.tile[worker]
	t.load(x, i*triChunk)
	for r := 0; r < t.n; r += gemmMR {
		t.e.Impl.F64.Gemm(tile, triChunk, 1, t.coef[panelAt((t.n-r)/gemmMR-1):], x[r*triChunk:], t.n-r, false)
		copy(x[r*triChunk:], tile)
	}
	t.store(x, i*triChunk)
}

package precond

import (
	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/internal/room"
)

// vecchiaRows is the number of rows of W in one call of a routine, and the unit
// of work.
const vecchiaRows = 64

// A vecchiaApply holds what a product with W needs beside W: the dense block in
// groups of asm.SparseCols columns, a tile for each worker, and the loop
// bodies, made once so that a product allocates nothing.
type vecchiaApply struct {
	v        *Vecchia
	dst, src linalg.Matrix
	block    []float64 // [group][n][SparseCols], on one rank alone
	x        []float64 // the same of the groups from..to-1 that are packed
	from, to int
	tiles    []float64 // [worker][vecchiaRows][SparseCols]

	sums  []float64 // [worker][rows of a group][SparseCols], over ranks
	index []int32   // [worker][vecchiaRows], too

	pack, gather, scatter, gatherCols func(worker, i int)
}

func (a *vecchiaApply) init(v *Vecchia) {
	a.v = v
	a.tiles = make([]float64, v.e.Par.Threads()*vecchiaRows*asm.SparseCols)
	a.index = make([]int32, v.e.Par.Threads()*vecchiaRows)
	a.pack, a.gather, a.scatter, a.gatherCols = a.packRows, a.gatherRows, a.scatterGroup, a.gatherColumns
}

// begin makes room for a product; it returns the number of column groups. One rank alone has all of them at hand,
// others one at a time, in the memory of gathers.
func (a *vecchiaApply) begin(dst, src linalg.Matrix) int {
	groups := (src.Cols + asm.SparseCols - 1) / asm.SparseCols
	if need := groups * a.v.near.n * asm.SparseCols; len(a.block) < need && a.v.e.Ranks() == 1 {
		a.block = make([]float64, need)
	}
	a.dst, a.src = dst, src
	return groups
}

// end forgets what a product was of.
func (a *vecchiaApply) end() {
	a.dst, a.src, a.x, a.from, a.to = linalg.Matrix{}, linalg.Matrix{}, nil, 0, 0
}

func (v *Vecchia) check(dst, src linalg.Matrix) {
	if n := v.near.n; dst.Rows != n || src.Rows != n || dst.Cols != src.Cols {
		panic("precond: Vecchia: shapes differ")
	}
}

// own is this rank's rows of m, n×p.
func (v *Vecchia) own(m linalg.Matrix) linalg.Matrix { return m.Sub(v.near.lo, v.near.hi, 0, m.Cols) }

// complete gathers the rows of m.
func (v *Vecchia) complete(m linalg.Matrix) {
	v.e.CompleteRows(m, linalg.Groups(v.near.n), linalg.GroupRows(v.near.n))
}

// MulTo sets dst = W src, where dst and src are n×p and do not overlap: rows of
// src in the original order, of dst in that of the rows of W. It allocates nothing
// once a block of this width has been seen.
func (v *Vecchia) MulTo(dst, src linalg.Matrix) {
	v.check(dst, src)
	v.rowsTo(v.own(dst), src, false)
	v.complete(dst)
}

// rowsTo sets dst to this rank's rows of W src; src has all rows or, by rows, this rank's.
func (v *Vecchia) rowsTo(dst, src linalg.Matrix, byRows bool) {
	a := &v.apply
	for groups := a.begin(dst, src); a.to < groups; {
		a.packNext(groups, byRows)
		v.e.Par.For((dst.Rows+vecchiaRows-1)/vecchiaRows, a.gather)
	}
	a.end()
}

// MulTransTo sets dst = W'src, where dst and src are n×p and do not overlap:
// rows of src in the order of the rows of W, of dst in the original one. Column
// groups are the unit of work, so that W need not be stored a second time; over
// ranks it is, and rows of dst are.
func (v *Vecchia) MulTransTo(dst, src linalg.Matrix) {
	v.check(dst, src)
	v.transRowsTo(v.own(dst), src, false)
	v.complete(dst)
}

// transRowsTo sets dst to this rank's rows of W'src; src has all rows or, by rows, this rank's.
func (v *Vecchia) transRowsTo(dst, src linalg.Matrix, byRows bool) {
	a := &v.apply
	groups := a.begin(dst, src)
	if v.e.Ranks() == 1 {
		v.e.Par.For(groups, a.scatter)
	} else {
		a.sums = room.Reserve(a.sums, v.e.Par.Threads()*linalg.GroupRows(v.near.n)*asm.SparseCols)
		for a.to < groups {
			a.packNext(groups, byRows)
			v.e.Par.For(len(v.cols), a.gatherCols)
		}
	}
	a.end()
}

// packNext packs all rows of the next groups of columns of src, gathering them where each rank has its own.
func (a *vecchiaApply) packNext(groups int, byRows bool) {
	v, n := a.v, a.v.near.n
	a.from, a.to = a.to, groups
	if v.e.Ranks() == 1 {
		a.x = a.block
	} else {
		a.to = a.from + 1
		if byRows {
			c0, c1 := a.columns(a.from)
			a.x = v.e.GatheredRows(a.src.Sub(0, a.src.Rows, c0, c1), n, asm.SparseCols).Data
			return
		}
		a.x = v.e.Room(n * asm.SparseCols)
	}
	v.e.Par.For((n+vecchiaRows-1)/vecchiaRows, a.pack)
}

// packed are the rows of group g, one of those that are packed.
func (a *vecchiaApply) packed(g int) []float64 {
	size := a.v.near.n * asm.SparseCols
	return a.x[(g-a.from)*size:][:size]
}

// columns returns the range of columns of group g.
func (a *vecchiaApply) columns(g int) (int, int) {
	return g * asm.SparseCols, min((g+1)*asm.SparseCols, a.src.Cols)
}

// load copies rows i0..i1-1 of columns c0..c1-1 of m to dst, rows of SparseCols.
func load(dst []float64, m linalg.Matrix, i0, i1, c0, c1 int) {
	for i := i0; i < i1; i++ {
		out := dst[(i-i0)*asm.SparseCols:][:asm.SparseCols]
		k := copy(out, m.Data[i*m.Stride+c0:i*m.Stride+c1])
		clear(out[k:])
	}
}

// store is the inverse of load.
func store(m linalg.Matrix, src []float64, i0, i1, c0, c1 int) {
	for i := i0; i < i1; i++ {
		copy(m.Data[i*m.Stride+c0:i*m.Stride+c1], src[(i-i0)*asm.SparseCols:])
	}
}

func (a *vecchiaApply) packRows(_, unit int) {
	i0, i1 := unit*vecchiaRows, min((unit+1)*vecchiaRows, a.v.near.n)
	for g := a.from; g < a.to; g++ {
		c0, c1 := a.columns(g)
		load(a.packed(g)[i0*asm.SparseCols:], a.src, i0, i1, c0, c1)
	}
}

func (a *vecchiaApply) gatherRows(worker, unit int) {
	v, width := a.v, a.v.near.width
	i0, i1 := unit*vecchiaRows, min((unit+1)*vecchiaRows, a.dst.Rows)
	tile := a.tile(worker)
	for g := a.from; g < a.to; g++ {
		c0, c1 := a.columns(g)
		v.e.Impl.GatherRows(tile, v.w[i0*width:], v.near.rows[i0*width:], a.packed(g), i1-i0, width)
		store(a.dst, tile, i0, i1, c0, c1)
	}
}

func (a *vecchiaApply) scatterGroup(worker, g int) {
	v, n, width := a.v, a.v.near.n, a.v.near.width
	tile := a.tile(worker)
	c0, c1 := a.columns(g)
	y := a.block[g*n*asm.SparseCols : (g+1)*n*asm.SparseCols]
	clear(y)
	for i0 := 0; i0 < n; i0 += vecchiaRows {
		i1 := min(i0+vecchiaRows, n)
		load(tile, a.src, i0, i1, c0, c1)
		v.e.Impl.ScatterRows(y, v.w[i0*width:], v.near.rows[i0*width:], tile, i1-i0, width)
	}
	store(a.dst, y, 0, n, c0, c1)
}

func (a *vecchiaApply) tile(worker int) []float64 {
	const size = vecchiaRows * asm.SparseCols
	return a.tiles[worker*size : (worker+1)*size]
}

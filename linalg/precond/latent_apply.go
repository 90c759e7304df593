package precond

import (
	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/internal/dissect"
	"bbgp.dev/linalg/internal/room"
)

// A latentApply holds what products with a latent need beside it, and the bodies of their loops.
type latentApply struct {
	l            *latent
	wIndex       [cellRows + 1][]int32 // of a cell of so many rows, the columns of the entries of W
	uIndex       []int32               // and of U
	firsts       []int                 // of each rank, the first row of F's ordering
	src, dst     linalg.Matrix
	whiten, back bool // W before, W' behind

	q      int       // columns with padding, whole groups of asm.SparseCols
	tall   []float64 // [row in F's ordering][q]
	parts  []float64 // U' of each cell, [group][cell][near][SparseCols]
	sums   []float64 // of the latents, [position][q]
	blocks []float64 // of each worker, blocks of a cell: four of so many rows

	before, gather, after func(worker, i int)
}

// cellsAtOnce is the number of cells that a worker takes at a time, latentsAtOnce that of latents.
const cellsAtOnce, latentsAtOnce = 16, 256

func (a *latentApply) init(l *latent) {
	a.l = l
	for rows := 1; rows <= cellRows; rows++ {
		a.wIndex[rows] = columnsOf(rows, widthOf(rows), rows)
	}
	a.uIndex = columnsOf(cellRows, l.nearWidth, l.near)
	cells := len(l.starts) - 1
	batches := (cells + batchCells - 1) / batchCells
	for r := range l.e.Ranks() + 1 {
		a.firsts = append(a.firsts, l.starts[min(batches*r/l.e.Ranks()*batchCells, cells)])
	}
	a.blocks = make([]float64, l.e.Par.Threads()*4*blockRows*asm.SparseCols)
	a.before, a.gather, a.after = a.beforeCells, a.gatherLatents, a.afterCells
}

// blockRows are the rows of a block of a cell.
const blockRows = max(cellRows, cellNear)

// columnsOf are the columns of the entries of rows of so many entries, of which so many count.
func columnsOf(rows, width, count int) []int32 {
	index := make([]int32, rows*width)
	for i := range index {
		if j := i % width; j < count {
			index[i] = int32(j)
		}
	}
	return index
}

func (a *latentApply) bytes() int64 {
	return int64(8 * (len(a.tall) + len(a.parts) + len(a.sums) + len(a.blocks)))
}

// run sets dst = (I - U Y U') src, with W before and W' behind where asked for; middle multiplies by Y.
func (a *latentApply) run(dst, src linalg.Matrix, whiten, back bool, middle func()) {
	l, e := a.l, a.l.e
	if src.Cols == 0 {
		return
	}
	cells := len(l.starts) - 1
	a.src, a.dst, a.whiten, a.back = src, dst, whiten, back
	a.q = room.RoundUp(src.Cols, asm.SparseCols)
	a.tall = room.Reserve(a.tall, (l.starts[l.hi]-l.starts[l.lo])*a.q)
	a.parts, a.sums = room.Reserve(a.parts, cells*l.near*a.q), room.Reserve(a.sums, l.m*a.q)
	e.Par.For((l.hi-l.lo+cellsAtOnce-1)/cellsAtOnce, a.before)
	part := cells * l.near * asm.SparseCols
	for g := 0; g*asm.SparseCols < a.q; g++ {
		e.Complete(a.parts[g*part:(g+1)*part], (cells+batchCells-1)/batchCells, batchCells*l.near*asm.SparseCols)
	}
	e.Par.For((l.m+latentsAtOnce-1)/latentsAtOnce, a.gather)
	middle()
	e.Par.For((l.hi-l.lo+cellsAtOnce-1)/cellsAtOnce, a.after)
	order := l.order
	if !back {
		order = nil
	}
	e.CompleteRuns(dst, order, a.firsts)
	a.src, a.dst = linalg.Matrix{}, linalg.Matrix{}
}

// fInvTo sets dst = F⁻¹ src.
func (l *latent) fInvTo(dst, src linalg.Matrix) {
	l.apply.run(dst, src, true, false, func() {
		l.pair.Forward(dissect.S, l.apply.sums, l.apply.q)
		l.pair.Backward(dissect.Sum, l.apply.sums, l.apply.q)
	})
}

// fInvTransTo sets dst = F'⁻¹ src.
func (l *latent) fInvTransTo(dst, src linalg.Matrix) {
	l.apply.run(dst, src, false, true, func() {
		l.pair.Forward(dissect.Sum, l.apply.sums, l.apply.q)
		l.pair.Backward(dissect.S, l.apply.sums, l.apply.q)
	})
}

// solveTo sets dst = P⁻¹ src.
func (l *latent) solveTo(dst, src linalg.Matrix) {
	l.apply.run(dst, src, true, true, func() {
		l.pair.Forward(dissect.S, l.apply.sums, l.apply.q)
		l.pair.Backward(dissect.S, l.apply.sums, l.apply.q)
	})
}

// block returns work area i of a worker.
func (a *latentApply) block(worker, i int) []float64 {
	const size = blockRows * asm.SparseCols
	return a.blocks[(4*worker+i)*size:][:size]
}

// beforeCells makes the rows of tall, and U' of them, for some cells.
func (a *latentApply) beforeCells(worker, i int) {
	const C = asm.SparseCols
	l, im := a.l, a.l.e.Impl
	x, t := a.block(worker, 0), a.block(worker, 1)
	cells := len(l.starts) - 1
	for c := l.lo + i*cellsAtOnce; c < min(l.lo+(i+1)*cellsAtOnce, l.hi); c++ {
		w, u := l.factors(c)
		rows := len(l.cell(c))
		for g := range a.q / C {
			a.load(x, c, g)
			if a.whiten {
				im.GatherRows(t, w, a.wIndex[rows], x, rows, widthOf(rows))
			} else {
				copy(t, x)
			}
			for k := range rows {
				copy(a.row(l.starts[c] + k)[g*C:(g+1)*C], t[k*C:])
			}
			part := a.parts[(g*cells+c)*l.near*C:][:l.near*C]
			clear(part)
			im.ScatterRows(part, u, a.uIndex, t, rows, l.nearWidth)
		}
	}
}

// factors returns W and U of a cell.
func (l *latent) factors(c int) (w, u []float64) {
	rows := len(l.cell(c))
	return l.w[l.at[c-l.lo]:][:rows*widthOf(rows)],
		l.u[(l.starts[c]-l.starts[l.lo])*l.nearWidth:][:rows*l.nearWidth]
}

// row is a row of tall.
func (a *latentApply) row(at int) []float64 { return a.tall[(at-a.l.starts[a.l.lo])*a.q:][:a.q] }

// load copies the rows of a cell, of a group of columns of src.
func (a *latentApply) load(x []float64, c, g int) {
	const C = asm.SparseCols
	l := a.l
	from, to := g*C, min((g+1)*C, a.src.Cols)
	for k := range l.cell(c) {
		r := l.starts[c] + k
		if a.whiten {
			r = int(l.order[r])
		}
		out := x[k*C:][:C]
		clear(out[copy(out, a.src.Data[r*a.src.Stride+from:r*a.src.Stride+to]):])
	}
}

// gatherLatents adds up what the cells have for some of the latents, in the order of the cells.
func (a *latentApply) gatherLatents(_, i int) {
	const C = asm.SparseCols
	l := a.l
	cells := len(l.starts) - 1
	for p := i * latentsAtOnce; p < min((i+1)*latentsAtOnce, l.m); p++ {
		from := int32(0)
		if p > 0 {
			from = l.ends[p-1]
		}
		for g := range a.q / C {
			sum := (*[C]float64)(a.sums[p*a.q+g*C:])
			*sum = [C]float64{}
			for _, k := range l.lists[from:l.ends[p]] {
				part := (*[C]float64)(a.parts[(g*cells*l.near+int(k))*C:])
				for c, v := range part {
					sum[c] += v
				}
			}
		}
	}
}

// afterCells subtracts U times what the latents have, and multiplies by W' where that is asked for.
func (a *latentApply) afterCells(worker, i int) {
	const C = asm.SparseCols
	l, im, tree := a.l, a.l.e.Impl, a.l.pair.Tree()
	x, t, y := a.block(worker, 0), a.block(worker, 1), a.block(worker, 2)
	for c := l.lo + i*cellsAtOnce; c < min(l.lo+(i+1)*cellsAtOnce, l.hi); c++ {
		w, u := l.factors(c)
		rows := len(l.cell(c))
		for g := range a.q / C {
			for k, p := range tree.Clique(c) {
				copy(x[k*C:(k+1)*C], a.sums[int(p)*a.q+g*C:])
			}
			im.GatherRows(t, u, a.uIndex, x, rows, l.nearWidth)
			for k := range rows {
				out := t[k*C:][:C]
				for j, v := range a.row(l.starts[c] + k)[g*C:][:C] {
					out[j] = v - out[j]
				}
			}
			out := t
			if a.back {
				clear(y)
				im.ScatterRows(y, w, a.wIndex[rows], t, rows, widthOf(rows))
				out = y
			}
			a.store(out, c, g)
		}
	}
}

// store copies the rows of a cell, of a group of columns, to dst.
func (a *latentApply) store(x []float64, c, g int) {
	const C = asm.SparseCols
	l := a.l
	from, to := g*C, min((g+1)*C, a.dst.Cols)
	for k := range l.cell(c) {
		r := l.starts[c] + k
		if a.back {
			r = int(l.order[r])
		}
		copy(a.dst.Data[r*a.dst.Stride+from:r*a.dst.Stride+to], x[k*C:])
	}
}

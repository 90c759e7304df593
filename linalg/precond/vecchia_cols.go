package precond

import (
	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// sparseCols are the columns of W that belong to a group of rows of R, entry by entry, by the rows of W. So each sum of
// W'x has its terms in the order of MulTransTo on one rank.
type sparseCols struct {
	w []float64
	i []int32 // row of R within the group
	q []int32 // row of W
}

// transpose gives each rank the columns of W of its rows of R: all rows of W pass by, a group at a time.
func (v *Vecchia) transpose() {
	e, near := v.e, v.near
	if e.Ranks() == 1 {
		return
	}
	size := linalg.GroupRows(near.n)
	from, to := e.Share(linalg.Groups(near.n))
	v.cols = make([]sparseCols, to-from)
	w, rows := make([]float64, size*near.width), make([]float64, size*near.width)
	for q0, rank := 0, 0; q0 < near.n; q0 += size {
		for q0 >= e.FirstRow(rank+1, near.n) {
			rank++
		}
		count := min(size, near.n-q0) * near.width
		if rank == e.Rank() {
			at := (q0 - near.lo) * near.width
			copy(w, v.w[at:at+count])
			for k, r := range near.rows[at : at+count] {
				rows[k] = float64(r)
			}
		}
		e.From(rank, w[:count])
		e.From(rank, rows[:count])
		for k, r := range rows[:count] {
			i, first := int(r), k/near.width*near.width
			if i < near.lo || i >= near.hi || k > first && r == rows[first] { // the latter where neighbours are few
				continue
			}
			c := &v.cols[i/size-from]
			c.w, c.i, c.q = append(c.w, w[k]), append(c.i, int32(i%size)), append(c.q, int32(q0+k/near.width))
		}
	}
}

// gatherColumns makes the rows of dst of a group, for a group of its columns.
func (a *vecchiaApply) gatherColumns(worker, task int) {
	v, n, size := a.v, a.v.near.n, linalg.GroupRows(a.v.near.n)
	group, g := task%len(a.v.cols), task/len(a.v.cols)
	c, lo := &v.cols[group], v.near.lo+group*size
	hi := min(lo+size, n)
	x := a.block[g*n*asm.SparseCols : (g+1)*n*asm.SparseCols]
	y := a.sums[worker*size*asm.SparseCols:][:(hi-lo)*asm.SparseCols]
	clear(y)
	tile := a.tile(worker)
	for k := 0; k < len(c.w); k += vecchiaRows {
		end := min(k+vecchiaRows, len(c.w))
		for t, q := range c.q[k:end] {
			copy(tile[t*asm.SparseCols:][:asm.SparseCols], x[int(q)*asm.SparseCols:])
		}
		v.e.Impl.ScatterRows(y, c.w[k:end], c.i[k:end], tile, end-k, 1)
	}
	c0, c1 := a.columns(g)
	store(a.dst.Sub(lo, hi, 0, a.dst.Cols), y, 0, hi-lo, c0, c1)
}

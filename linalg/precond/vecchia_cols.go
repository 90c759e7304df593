package precond

import (
	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// sparseCols are the columns of W that belong to a group of rows of R, one after the other: starts[i]..starts[i+1]-1
// are the entries in that of row i of the group, by the rows of W. So each sum of W'x has its terms in the order of
// MulTransTo on one rank.
type sparseCols struct {
	w      []float64
	q      []int32 // row of W
	starts []int32
}

func (c *sparseCols) bytes() int { return 12*len(c.w) + 4*len(c.starts) }

// transpose gives each rank the columns of W of its rows of R: all rows of W pass by, a group at a time.
func (v *Vecchia) transpose() {
	e, near := v.e, v.near
	if e.Ranks() == 1 {
		return
	}
	size := linalg.GroupRows(near.n)
	from, to := e.Share(linalg.Groups(near.n))
	v.cols = make([]sparseCols, to-from)
	for k := range v.cols {
		v.cols[k].starts = make([]int32, min(size, near.hi-near.lo-k*size)+1)
	}
	// Twice: entries are counted, and then put where they belong.
	v.eachEntry(false, func(i int, _ float64, _ int32) { v.cols[i/size].starts[i%size+1]++ })
	for k := range v.cols {
		c := &v.cols[k]
		for i := range c.starts[1:] {
			c.starts[i+1] += c.starts[i]
		}
		count := c.starts[len(c.starts)-1]
		c.w, c.q = make([]float64, count), make([]int32, count)
	}
	v.eachEntry(true, func(i int, w float64, q int32) {
		c := &v.cols[i/size]
		at := &c.starts[i%size] // it ends where the next column begins
		c.w[*at], c.q[*at] = w, q
		*at++
	})
	for _, c := range v.cols {
		copy(c.starts[1:], c.starts)
		c.starts[0] = 0
	}
}

// eachEntry calls do for the entries of W in the columns of this rank's rows of R, counted from the first of these, in
// the order of the rows of W; without weights all of these are 0.
func (v *Vecchia) eachEntry(weights bool, do func(i int, w float64, q int32)) {
	e, near := v.e, v.near
	size := linalg.GroupRows(near.n)
	w, rows := make([]float64, size*near.width), make([]float64, size*near.width)
	for q0, rank := 0, 0; q0 < near.n; q0 += size {
		for q0 >= e.FirstRow(rank+1, near.n) {
			rank++
		}
		count := min(size, near.n-q0) * near.width
		if rank == e.Rank() {
			at := (q0 - near.lo) * near.width
			if weights {
				copy(w, v.w[at:at+count])
			}
			for k, r := range near.rows[at : at+count] {
				rows[k] = float64(r)
			}
		}
		if weights {
			e.From(rank, w[:count])
		}
		e.From(rank, rows[:count])
		for k, r := range rows[:count] {
			i, first := int(r), k/near.width*near.width
			if i < near.lo || i >= near.hi || k > first && r == rows[first] { // the latter where neighbours are few
				continue
			}
			do(i-near.lo, w[k], int32(q0+k/near.width))
		}
	}
}

// gatherColumns makes the rows of dst of a group, for the columns that are packed.
func (a *vecchiaApply) gatherColumns(worker, group int) {
	v, size := a.v, linalg.GroupRows(a.v.near.n)
	c, lo := &v.cols[group], group*size
	rows := len(c.starts) - 1
	x := a.packed(a.from)
	y := a.sums[worker*size*asm.SparseCols:][:rows*asm.SparseCols]
	clear(y)
	tile, index := a.tile(worker), a.index[worker*vecchiaRows:][:vecchiaRows]
	row := int32(0)
	for k := 0; k < len(c.w); k += vecchiaRows {
		end := min(k+vecchiaRows, len(c.w))
		for t, q := range c.q[k:end] {
			for int(c.starts[row+1]) <= k+t {
				row++
			}
			index[t] = row
			copy(tile[t*asm.SparseCols:][:asm.SparseCols], x[int(q)*asm.SparseCols:])
		}
		v.e.Impl.ScatterRows(y, c.w[k:end], index[:end-k], tile, end-k, 1)
	}
	c0, c1 := a.columns(a.from)
	store(a.dst.Sub(lo, lo+rows, 0, a.dst.Cols), y, 0, rows, c0, c1)
}

package kernelmv

import (
	"context"
	"math"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

const (
	maxCols   = 64 // columns of one product
	maxGroup  = 32 // columns that AccJ and AccI take at once
	fusedCols = 2  // up to here one loop does everything
)

// A product multiplies K by V in tiles of T. V is kept twice, as the routines
// want it, and cut into groups of columns so that the parts of V and Y that go
// with a tile stay in the fastest cache. Y is kept in two parts: for the I
// side yi, for the J side yj, both float64; they are added at the end.
type product[T asm.Float] struct {
	tileWalk[T]
	vi, vj  []T       // [group][n][width], [group][tile][width][cols]
	yi      []float64 // [group][n][width]
	scratch []tileScratch[T]

	dst, src  linalg.Matrix
	blockMax  []float64        // [superblock][maxCols]
	invert    [maxCols]float64 // V is multiplied by these powers of two,
	factor    [maxCols]float64 // and Y by s2 over them
	maxBody   func(worker, b int)
	packBody  func(worker, b int)
	storeBody func(worker, b int)
}

// tileScratch is the work area of one worker.
type tileScratch[T asm.Float] struct {
	tile []T
	yi   []float64 // for routines whose yi is not wanted
	yj   []T       // or yj, of another rank's block
}

// newProduct returns a product for o; packing is done by the first mulTo.
func newProduct[T asm.Float](o *Op, kit *asm.Kit[T]) *product[T] {
	t := &product[T]{}
	t.tileWalk = newTileWalk(o, kit, t.addTile)
	t.blockMax = make([]float64, o.sched.count*maxCols)
	t.scratch = make([]tileScratch[T], o.engine.Par.Threads())
	t.maxBody, t.packBody, t.pairBody, t.storeBody = t.findMax, t.pack, t.pair, t.store
	return t
}

// mulTo sets dst = K̂ src for at most maxCols columns.
func (t *product[T]) mulTo(ctx context.Context, dst, src linalg.Matrix) error {
	if src.Cols == 0 {
		return ctx.Err()
	}
	o, par := t.op, t.op.engine.Par
	if !t.fresh {
		t.grid.pack(o, t.kit)
		t.fresh = true
	}
	t.dst, t.src = dst, src
	t.layOut(src.Cols)
	par.For(o.sched.count, t.maxBody)
	t.setScale()
	par.For(o.sched.count, t.packBody)
	err := o.sched.run(ctx, par, t.pairBody)
	if err == nil {
		groups, blocks := o.sched.groups()
		o.engine.ForShareTo(groups, blocks, o.sched.count, t.storeBody)
		o.completeRows(dst)
	}
	t.dst, t.src = linalg.Matrix{}, linalg.Matrix{}
	return err
}

// layOut sets the groups for p columns and makes room.
func (t *product[T]) layOut(p int) {
	t.groups = (p + maxGroup - 1) / maxGroup
	t.width = padTo((p+t.groups-1)/t.groups, asm.ColUnit)
	if p <= fusedCols {
		t.width = p
	}
	size := t.groups * t.width * t.op.sched.padded
	t.vi, t.vj = grow(t.vi, size), grow(t.vj, size)
	t.yi = grow(t.yi, size)
	t.makeRoom()
	for w := range t.scratch {
		s := &t.scratch[w]
		s.tile = grow(s.tile, t.kit.TileRows*t.kit.TileCols)
		s.yi, s.yj = grow(s.yi, t.kit.TileRows*fusedCols), grow(s.yj, t.kit.TileCols*fusedCols)
	}
}

// findMax finds the largest |V| of every column over a superblock.
func (t *product[T]) findMax(_, b int) {
	out := t.blockMax[b*maxCols : (b+1)*maxCols]
	clear(out)
	from, to := t.op.sched.span(b)
	for i := from; i < min(to, t.src.Rows); i++ {
		for c, v := range t.src.Row(i) {
			out[c] = max(out[c], math.Abs(v))
		}
	}
}

// setScale chooses a power of two for every column, so that V rounded to
// float32 neither overflows nor loses bits to subnormals.
func (t *product[T]) setScale() {
	for c := range t.src.Cols {
		var largest float64
		for b := range t.op.sched.count {
			largest = max(largest, t.blockMax[b*maxCols+c])
		}
		unit := unitOf(largest)
		t.invert[c], t.factor[c] = 1/unit, t.op.kernel.Variance*unit
	}
}

// pack packs the rows of V of a superblock and clears its rows of Y.
func (t *product[T]) pack(_, b int) {
	from, to := t.op.sched.span(b)
	w, n := t.width, t.op.sched.padded
	for g := range t.groups {
		clear(t.yi[g*n*w+from*w : g*n*w+to*w])
		clear(t.yj[g*n*w+from*w : g*n*w+to*w])
	}
	for j0 := from; j0 < to; {
		_, cols := t.grid.tileOf(j0)
		for q := j0; q < j0+cols; q++ {
			t.packRow(q, j0, cols)
		}
		j0 += cols
	}
}

// packRow packs position q of V, which is in the tile of columns from j0.
func (t *product[T]) packRow(q, j0, cols int) {
	var row []float64 // none for padding: V is 0 there
	if q < t.src.Rows {
		row = t.src.Row(t.op.row(q))
	}
	w, n := t.width, t.op.sched.padded
	for g := range t.groups {
		vi, vj := t.vi[(g*n+q)*w:(g*n+q+1)*w], t.vj[(g*n+j0)*w+q-j0:]
		for c := range vi {
			var v T
			if k := g*w + c; k < len(row) {
				v = T(row[k] * t.invert[k])
			}
			vi[c], vj[c*cols] = v, v
		}
	}
}

// addTile adds a tile to yi and to the sum of its columns, as far as they are wanted. The square on the diagonal is
// evaluated in full and used for yj alone.
func (t *product[T]) addTile(worker int, at place) {
	f, n, w, s := t.op.kernel.Family, t.op.sched.padded, t.width, &t.scratch[worker]
	i, j, rows, cols := at.i, at.j, at.rows, at.cols
	wantI, wantJ := at.own.i && !at.diagonal, at.own.j
	buf := s.tile[:rows*cols]
	t.grid.radii(t.kit, f, buf, i, rows, j, cols)
	if w <= fusedCols {
		yi, yj := t.yi[i*w:(i+rows)*w], t.sum(worker, 0, j, cols)
		if !wantI {
			yi = s.yi[:rows*w]
		}
		if !wantJ {
			yj = s.yj[:cols*w]
		}
		t.kit.FusedRadii(f, t.grid.dim, yi, yj, buf, t.vi[i*w:(i+rows)*w], t.vj[j*w:(j+cols)*w], rows, cols, w)
		return
	}
	t.kit.CovRadii(f, t.grid.dim, buf, rows, cols)
	for g := range t.groups {
		at := g * n
		if wantJ {
			t.kit.AccJ(t.sum(worker, g, j, cols), buf, t.vi[(at+i)*w:(at+i+rows)*w], rows, cols, w)
		}
		if wantI {
			t.kit.AccI(t.yi[(at+i)*w:(at+i+rows)*w], buf, t.vj[(at+j)*w:(at+j+cols)*w], rows, cols, w)
		}
	}
}

// store writes the rows of dst that belong to a superblock.
func (t *product[T]) store(_, b int) {
	from, to := t.op.sched.span(b)
	for j0 := from; j0 < to; {
		_, cols := t.grid.tileOf(j0)
		for q := j0; q < min(j0+cols, t.src.Rows); q++ {
			t.storeRow(q, j0, cols)
		}
		j0 += cols
	}
}

// storeRow writes the row of dst at position q.
func (t *product[T]) storeRow(q, j0, cols int) {
	o, n, w := t.op, t.op.sched.padded, t.width
	i := o.row(q)
	dst, src, noise := t.dst.Row(i), t.src.Row(i), o.noise[i]
	for g := range t.groups {
		first := g * w
		yi, yj := t.yi[(g*n+q)*w:], t.yj[(g*n+j0)*w+q-j0:]
		for c := range min(w, len(dst)-first) {
			k := first + c
			dst[k] = t.factor[k]*(yi[c]+yj[c*cols]) + noise*src[k]
		}
	}
}

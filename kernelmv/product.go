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
// side yi, for the J side yj; they are added at the end. A pair of superblocks adds
// one term to each sum: Y does not depend on who evaluates which pair, and when.
type product[T asm.Float] struct {
	tileWalk[T]
	vi, vj []T  // [group][n][width], [group][tile][width][cols]
	yi, yj bins // the same layouts
	cutter cutter
	parts  int         // of the bins: two where T is float64
	spare  [][]float64 // of each worker: for routines whose yi is not wanted

	dst, own  linalg.Matrix // rows of Y and V from first on
	src       linalg.Matrix // all rows of V; by rows only until it is packed
	first     int
	blockMax  []float64        // [superblock][maxCols]
	invert    [maxCols]float64 // V is multiplied by these powers of two,
	factor    [maxCols]float64 // and Y by s2 over them
	maxBody   func(worker, b int)
	packBody  func(worker, b int)
	storeBody func(worker, b int)
	counts    []int // [from][to]: numbers that ranks send each other
}

// newProduct returns a product for o; packing is done by the first mulTo.
func newProduct[T asm.Float](o *Op, kit *asm.Kit[T]) *product[T] {
	t := &product[T]{}
	t.tileWalk = newTileWalk(o, kit, t)
	t.parts = 1
	if t.widen == nil {
		t.parts = 2
	}
	t.cutter = newCutter(o.engine.Impl, o.sched.padded, o.sched.count+1, t.parts)
	t.blockMax = make([]float64, o.sched.count*maxCols)
	t.spare = make([][]float64, o.engine.Par.Threads())
	t.maxBody, t.packBody, t.pairBody, t.storeBody = t.findMax, t.pack, t.pair, t.store
	return t
}

// mulTo sets dst = K̂ src for at most maxCols columns, or by rows to this rank's rows of it.
func (t *product[T]) mulTo(ctx context.Context, dst, src linalg.Matrix, byRows bool) error {
	if src.Cols == 0 {
		return ctx.Err()
	}
	o, par := t.op, t.op.engine.Par
	if !t.fresh {
		t.grid.pack(o, t.kit)
		t.fresh = true
	}
	t.dst, t.own, t.src, t.first = dst, src, src, 0
	if byRows {
		t.first, _ = o.engine.OwnRows(o.Dim())
		t.src = o.engine.GatheredRows(src, o.Dim(), src.Cols)
	}
	t.layOut(src.Cols)
	par.For(o.sched.count, t.maxBody)
	t.setScale()
	par.For(o.sched.count, t.packBody)
	err := o.sched.run(ctx, par, 8*t.parts*t.groups*t.width, t.pairBody)
	if err == nil {
		t.exchangeSums()
		groups, blocks := o.sched.groups()
		o.engine.ForShareTo(groups, blocks, o.sched.count, t.storeBody)
		if !byRows {
			o.completeRows(dst)
		}
	}
	t.dst, t.own, t.src = linalg.Matrix{}, linalg.Matrix{}, linalg.Matrix{}
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
	t.yi.makeRoom(size, t.parts)
	t.yj.makeRoom(size, t.parts)
	t.makeRoom(t.groups * t.width)
	for w := range t.spare {
		t.spare[w] = grow(t.spare[w], t.kit.TileRows*fusedCols)
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
		t.yi.clear(g*n*w+from*w, g*n*w+to*w)
		t.yj.clear(g*n*w+from*w, g*n*w+to*w)
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

// addTile adds a tile to the sums of its rows and columns. The square on the diagonal is
// evaluated in full and used for its columns alone.
func (t *product[T]) addTile(worker int, at place) {
	f, n, w, s := t.op.kernel.Family, t.op.sched.padded, t.width, &t.workers[worker]
	i, j, rows, cols, block := at.i, at.j, at.rows, at.cols, t.op.sched.block
	buf := s.tile[:rows*cols]
	t.grid.radii(t.kit, f, buf, i, rows, j, cols)
	if w <= fusedCols {
		yi := s.yi[i%block*w : (i%block+rows)*w]
		if at.diagonal {
			yi = t.spare[worker][:rows*w]
		}
		t.kit.FusedRadii(f, t.grid.dim, yi, t.sumOf(s, 0, cols), buf, t.vi[i*w:(i+rows)*w], t.vj[j*w:(j+cols)*w],
			rows, cols, w)
		return
	}
	t.kit.CovRadii(f, t.grid.dim, buf, rows, cols)
	high := len(s.yi) / (t.groups * w) // rows of a superblock
	for g := range t.groups {
		from := g * n
		t.kit.AccJ(t.sumOf(s, g, cols), buf, t.vi[(from+i)*w:(from+i+rows)*w], rows, cols, w)
		if !at.diagonal {
			yi := (g*high + i%block) * w
			t.kit.AccI(s.yi[yi:yi+rows*w], buf, t.vj[(from+j)*w:(from+j+cols)*w], rows, cols, w)
		}
	}
}

// endColumn adds the worker's sums of a column of tiles to yj.
func (t *product[T]) endColumn(worker, j, cols int) {
	n, w, lock := t.op.sched.padded, t.width, &t.op.sched.locks[j/t.op.sched.block]
	sums := t.workers[worker].yj
	lock.Lock()
	defer lock.Unlock()
	for g := range t.groups {
		t.yj.add(&t.cutter, (g*n+j)*w, sums[g*w*cols:(g+1)*w*cols])
	}
}

// endPair adds the worker's sums of the rows of superblock a to yi.
func (t *product[T]) endPair(worker, a int) {
	n, w, lock := t.op.sched.padded, t.width, &t.op.sched.locks[a]
	from, to := t.op.sched.span(a)
	sums := t.workers[worker].yi
	high := len(sums) / (t.groups * w)
	lock.Lock()
	defer lock.Unlock()
	for g := range t.groups {
		t.yi.add(&t.cutter, (g*n+from)*w, sums[g*high*w:(g*high+to-from)*w])
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
	dst, src, noise := t.dst.Row(i-t.first), t.own.Row(i-t.first), o.noise[i]
	for g := range t.groups {
		first := g * w
		yi, yj := (g*n+q)*w, (g*n+j0)*w+q-j0
		for c := range min(w, len(dst)-first) {
			k := first + c
			y := t.yi.high[yi+c] + t.yj.high[yj+c*cols] // exact
			if t.parts == 2 {
				y += t.yi.low[yi+c] + t.yj.low[yj+c*cols]
			}
			dst[k] = t.factor[k]*y + noise*src[k]
		}
	}
}

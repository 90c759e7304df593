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

	// maxSum points of a column's sum are taken in float32: 192 make the error of a
	// product several times that of its entries, 24 hardly less than 48.
	maxSum = 48
)

// A product multiplies K by V in tiles of T. V is kept twice, as the routines
// want it, and cut into groups of columns so that the parts of V and Y that go
// with a tile stay in the fastest cache. Y is kept in two parts: for the I
// side yi, for the J side yj, both float64; they are added at the end.
type product[T asm.Float] struct {
	op     *Op
	kit    *asm.Kit[T]
	widen  func(dst []float64, src []T) // dst += src; nil for float64
	grid   grid[T]
	fresh  bool
	width  int // columns of a group
	groups int

	vi, vj  []T       // [group][n][width], [group][tile][width][cols]
	yi, yj  []float64 // the same layouts
	direct  []T       // yj itself where T is float64
	scratch []tileScratch[T]

	dst, src  linalg.Matrix
	blockMax  []float64        // [superblock][maxCols]
	invert    [maxCols]float64 // V is multiplied by these powers of two,
	factor    [maxCols]float64 // and Y by s2 over them
	maxBody   func(worker, b int)
	packBody  func(worker, b int)
	pairBody  func(worker, a, b int)
	storeBody func(worker, b int)
}

// tileScratch is the work area of one worker.
type tileScratch[T asm.Float] struct {
	tile []T
	sum  []T       // [group][width][cols]: yj of at most maxSum rows
	yi   []float64 // for routines whose yi is not wanted
	yj   []T       // or yj, of another rank's block
}

// newProduct returns a product for o; packing is done by the first mulTo.
func newProduct[T asm.Float](o *Op, kit *asm.Kit[T]) *product[T] {
	t := &product[T]{op: o, kit: kit}
	t.widen = widenAdd[T](o.engine.Impl)
	t.blockMax = make([]float64, o.sched.count*maxCols)
	t.scratch = make([]tileScratch[T], o.engine.Par.Threads())
	t.maxBody, t.packBody, t.pairBody, t.storeBody = t.findMax, t.pack, t.pair, t.store
	return t
}

// widenAdd is im.WidenAdd for float32, nil for float64.
func widenAdd[T asm.Float](im *asm.Impl) func(dst []float64, src []T) {
	f, _ := any(im.WidenAdd).(func(dst []float64, src []T))
	return f
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
	if larger := cap(t.yj) < size; larger {
		t.yj = make([]float64, size)
		t.direct, _ = any(t.yj).([]T) // allocates, so only now
	}
	t.yj = t.yj[:size]
	for w := range t.scratch {
		s := &t.scratch[w]
		s.tile = grow(s.tile, t.kit.TileRows*t.kit.TileCols)
		s.yi, s.yj = grow(s.yi, t.kit.TileRows*fusedCols), grow(s.yj, t.kit.TileCols*fusedCols)
		if t.widen != nil {
			s.sum = grow(s.sum, t.groups*t.width*t.kit.TileCols)
		}
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

// pair adds the tiles of superblocks a >= b: rows of a, columns of b.
func (t *product[T]) pair(worker, a, b int) {
	o, s := t.op, &t.scratch[worker]
	i0, i1 := o.sched.span(a)
	j0, j1 := o.sched.span(b)
	if t.grid.farBlocks(a, b) {
		return
	}
	for j := j0; j < j1; {
		if o.sched.stopped() {
			return
		}
		_, cols := t.grid.tileOf(j)
		if a == b {
			i0 = j // what is above the diagonal is done from the other side
		}
		t.column(s, sides{o.sched.owns(a), o.sched.owns(b)}, i0, i1, j, cols)
		j += cols
	}
}

// sides says which sides of a tile are of this rank: its rows, its columns.
type sides struct{ i, j bool }

// column adds the tiles with rows i0..i1-1 and the columns j0..j0+cols-1. The
// square on the diagonal is evaluated in full and used for yj alone.
func (t *product[T]) column(s *tileScratch[T], own sides, i0, i1, j0, cols int) {
	n, w := t.op.sched.padded, t.width
	inSum := 0
	if t.widen != nil {
		clear(s.sum[:t.groups*w*cols])
	}
	for i := i0; i < i1; {
		end := i1
		diagonal := i >= j0 && i < j0+cols
		if diagonal {
			end = j0 + cols
		}
		rows := min(t.kit.TileRows, end-i)
		if !t.grid.far(i, rows, j0, cols) {
			if own.j && inSum+rows > maxSum {
				t.flush(s, j0, cols)
				inSum = 0
			}
			t.tile(s, sides{own.i && !diagonal, own.j}, i, rows, j0, cols, n, w)
			inSum += rows
		}
		i += rows
	}
	if own.j && inSum > 0 {
		t.flush(s, j0, cols)
	}
}

// tile adds one tile to yi and to the sum of its columns, as far as they are wanted.
func (t *product[T]) tile(s *tileScratch[T], want sides, i, rows, j0, cols, n, w int) {
	f := t.op.kernel.Family
	buf := s.tile[:rows*cols]
	t.grid.radii(t.kit, f, buf, i, rows, j0, cols)
	if w <= fusedCols {
		yi, yj := t.yi[i*w:(i+rows)*w], t.sum(s, 0, j0, cols)
		if !want.i {
			yi = s.yi[:rows*w]
		}
		if !want.j {
			yj = s.yj[:cols*w]
		}
		t.kit.FusedRadii(f, t.grid.dim, yi, yj, buf, t.vi[i*w:(i+rows)*w], t.vj[j0*w:(j0+cols)*w],
			rows, cols, w)
		return
	}
	t.kit.CovRadii(f, t.grid.dim, buf, rows, cols)
	for g := range t.groups {
		at := g * n
		if want.j {
			t.kit.AccJ(t.sum(s, g, j0, cols), buf, t.vi[(at+i)*w:(at+i+rows)*w], rows, cols, w)
		}
		if want.i {
			t.kit.AccI(t.yi[(at+i)*w:(at+i+rows)*w], buf, t.vj[(at+j0)*w:(at+j0+cols)*w], rows, cols, w)
		}
	}
}

// sum is where AccJ adds: yj itself for float64, else the worker's short sum.
func (t *product[T]) sum(s *tileScratch[T], g, j0, cols int) []T {
	w := t.width
	if t.widen == nil {
		at := (g*t.op.sched.padded + j0) * w
		return t.direct[:cap(t.direct)][at : at+w*cols]
	}
	return s.sum[g*w*cols : (g+1)*w*cols]
}

// flush adds the short sums to yj.
func (t *product[T]) flush(s *tileScratch[T], j0, cols int) {
	if t.widen == nil {
		return
	}
	w := t.width
	for g := range t.groups {
		at := (g*t.op.sched.padded + j0) * w
		sum := s.sum[g*w*cols : (g+1)*w*cols]
		t.widen(t.yj[at:at+w*cols], sum)
		clear(sum)
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

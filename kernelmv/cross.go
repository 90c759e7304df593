package kernelmv

import (
	"context"
	"fmt"
	"math"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

const (
	crossRows = asm.Pad      // rows of a task
	crossCols = 16 * asm.Pad // columns of a task, where columns may be cut
)

// A rowSet is a list of scaled points: rows of x (·×dim), picked by index
// where that is not nil.
type rowSet struct {
	n     int
	x     []float64
	index []int32
}

func (o *Op) allRows() rowSet { return rowSet{n: o.Dim(), x: o.pts.x} }

func (o *Op) someRows(rows []int32) rowSet {
	return rowSet{n: len(rows), x: o.pts.x, index: rows}
}

// testRows scales the rows of xs (m×D). It fails for values that are not finite.
func (o *Op) testRows(xs linalg.Matrix) (rowSet, error) {
	return o.testRowsIn(nil, xs)
}

// testRowsIn is testRows in the memory of work if that suffices.
func (o *Op) testRowsIn(work []float64, xs linalg.Matrix) (rowSet, error) {
	if xs.Cols != o.Inputs() {
		panic("kernelmv: test rows have another number of inputs")
	}
	d := o.pts.dim
	s := rowSet{n: xs.Rows, x: grow(work, xs.Rows*d)}
	for i := range xs.Rows {
		for k, v := range xs.Row(i) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return s, fmt.Errorf("kernelmv: input %d of test row %d is %v", k, i, v)
			}
		}
		o.pts.scaleRow(s.x[i*d:(i+1)*d], xs.Row(i))
	}
	return s, nil
}

// A crossTile is one tile of a walk over all pairs of a left and a right set:
// rows × cols live entries from (i, j), data with the given stride.
type crossTile[T asm.Float] struct {
	i, rows, j, cols int
	stride           int // columns with padding; the padded rows are RowUnit
	data             []T
}

// A walk evaluates tiles of squared distances between two sets of points.
// Rows are cut into tasks of crossRows, columns of cutCols.
type walk[T asm.Float] struct {
	op          *Op
	kit         *asm.Kit[T]
	left, right rowSet
	cutCols     int
	clamp       T
	backwards   bool              // the last task first
	shared      bool              // each rank visits those that are dealt to it
	lastCol     func(row int) int // if not nil, columns from here on are not wanted

	// visit is called for every tile; part is the number of its task, before
	// and after which begin and end are called with its rows, if not nil.
	visit      func(worker, part int, tile crossTile[T])
	begin, end func(worker, i0, rows int)

	ctx         context.Context // of the run
	xj          []T             // right, packed
	packed      bool            // already
	xis, tiles  [][]T           // of each worker
	all, across int

	pack, do func(worker, i int) // made once: a second run allocates nothing
}

// tasks returns the number of tasks, and of those in one row of tasks.
func (w *walk[T]) tasks() (all, across int) {
	across = (w.right.n + w.cutCols - 1) / w.cutCols
	return across * ((w.left.n + crossRows - 1) / crossRows), across
}

// run visits all tiles on the threads of the operator, those of a task in
// order.
func (w *walk[T]) run(ctx context.Context) error {
	if w.left.n == 0 || w.right.n == 0 {
		return ctx.Err()
	}
	par := w.op.engine.Par
	if w.do == nil {
		w.pack, w.do = w.packBlock, w.doTask
		w.xis, w.tiles = make([][]T, par.Threads()), make([][]T, par.Threads())
	}
	if !w.packed {
		w.xj = grow(w.xj, padTo(w.right.n, asm.Pad)*w.op.pts.dim)
		par.For((w.right.n+crossCols-1)/crossCols, w.pack)
		w.packed = true
	}
	w.all, w.across = w.tasks()
	w.ctx = ctx
	if w.shared {
		w.op.engine.ForDealt(w.all, w.do)
	} else {
		par.For(w.all, w.do)
	}
	w.ctx = nil
	return ctx.Err()
}

func (w *walk[T]) packBlock(_, b int) {
	to := min((b+1)*crossCols, padTo(w.right.n, asm.Pad))
	interleave(w.xj, w.right.x, w.op.pts.dim, asm.Block[T](), w.right.index, w.right.n, b*crossCols, to)
}

func (w *walk[T]) doTask(worker, task int) {
	if w.ctx.Err() != nil {
		return
	}
	d := w.op.pts.dim
	w.xis[worker] = grow(w.xis[worker], crossRows*d)
	w.tiles[worker] = grow(w.tiles[worker], asm.RowUnit*w.kit.TileCols)
	if w.backwards {
		task = w.all - 1 - task
	}
	i0, j0 := task/w.across*crossRows, task%w.across*w.cutCols
	xi, tile, xj := w.xis[worker], w.tiles[worker], w.xj
	rows := min(crossRows, w.left.n-i0)
	packed := padTo(rows, asm.RowUnit)
	left := w.left
	left.n -= i0
	if left.index != nil {
		left.index = left.index[i0:]
	} else {
		left.x = left.x[i0*d:]
	}
	interleave(xi, left.x, d, asm.Panel, left.index, left.n, 0, packed)
	j1 := min(j0+w.cutCols, padTo(w.right.n, asm.Pad))
	if w.lastCol != nil {
		j1 = min(j1, padTo(w.lastCol(i0+rows-1), asm.Pad))
	}
	if w.begin != nil {
		w.begin(worker, i0, rows)
	}
	for j := j0; j < j1; j += w.kit.TileCols {
		stride := min(w.kit.TileCols, j1-j)
		for i := 0; i < packed; i += asm.RowUnit {
			buf := tile[:asm.RowUnit*stride]
			w.kit.Dist(buf, xi[i*d:(i+asm.RowUnit)*d], xj[j*d:(j+stride)*d], d, asm.RowUnit, stride, w.clamp)
			w.visit(worker, task, crossTile[T]{
				i: i0 + i, rows: min(asm.RowUnit, rows-i), j: j, cols: min(stride, w.right.n-j),
				stride: stride, data: buf,
			})
		}
	}
	if w.end != nil {
		w.end(worker, i0, rows)
	}
}

// newWalk returns a walk in float64 with free choice of the columns.
func (o *Op) newWalk(left, right rowSet) *walk[float64] {
	return &walk[float64]{
		op: o, kit: &o.engine.Impl.F64, left: left, right: right, cutCols: crossCols,
		clamp: asm.Clamp[float64](o.kernel.Family),
	}
}

// entriesTo sets dst[i][j] = K(left i, right j) in float64.
func (o *Op) entriesTo(ctx context.Context, dst linalg.Matrix, left, right rowSet) error {
	w := o.newWalk(left, right)
	s2 := o.kernel.Variance
	w.visit = func(_, _ int, t crossTile[float64]) {
		w.kit.Cov(o.kernel.Family, t.data)
		for a := range t.rows {
			out, in := dst.Row(t.i + a)[t.j:t.j+t.cols], t.data[a*t.stride:]
			for b := range out {
				out[b] = s2 * in[b]
			}
		}
	}
	return w.run(ctx)
}

// CrossTo sets dst = K(X*, X[rows]), m×len(rows), in float64, for test rows xs
// (m×D). It fails for test inputs that are not finite, and with ctx.Err().
func (o *Op) CrossTo(ctx context.Context, dst, xs linalg.Matrix, rows []int32) error {
	checkCall(ctx, dst, xs)
	o.checkRows(rows)
	if dst.Rows != xs.Rows || dst.Cols != len(rows) {
		panic("kernelmv: CrossTo: bad shapes")
	}
	left, err := o.testRows(xs)
	if err != nil {
		return err
	}
	return o.entriesTo(ctx, dst, left, o.someRows(rows))
}

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
	if xs.Cols != o.Inputs() {
		panic("kernelmv: test rows have another number of inputs")
	}
	d := o.pts.dim
	s := rowSet{n: xs.Rows, x: make([]float64, xs.Rows*d)}
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
	round       bool
	backwards   bool              // the last task first
	lastCol     func(row int) int // if not nil, columns from here on are not wanted

	// visit is called for every tile; part is the number of its task, before
	// and after which begin and end are called with its rows, if not nil.
	visit      func(worker, part int, tile crossTile[T])
	begin, end func(worker, i0, rows int)
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
	d, wide := w.op.pts.dim, asm.Block[T]()
	xj := make([]T, padTo(w.right.n, asm.Pad)*d)
	par := w.op.engine.Par
	par.For((w.right.n+crossCols-1)/crossCols, func(_, b int) {
		to := min((b+1)*crossCols, padTo(w.right.n, asm.Pad))
		interleave(xj, w.right.x, d, wide, w.right.index, w.right.n, b*crossCols, to, w.round)
	})
	xis, tiles := make([][]T, par.Threads()), make([][]T, par.Threads())
	all, across := w.tasks()
	par.For(all, func(worker, task int) {
		if ctx.Err() != nil {
			return
		}
		if xis[worker] == nil {
			xis[worker] = make([]T, crossRows*d)
			tiles[worker] = make([]T, asm.RowUnit*w.kit.TileCols)
		}
		if w.backwards {
			task = all - 1 - task
		}
		i0 := task / across * crossRows
		j0 := task % across * w.cutCols
		w.task(worker, task, i0, j0, xj, xis[worker], tiles[worker])
	})
	return ctx.Err()
}

func (w *walk[T]) task(worker, task, i0, j0 int, xj, xi, tile []T) {
	d := w.op.pts.dim
	rows := min(crossRows, w.left.n-i0)
	packed := padTo(rows, asm.RowUnit)
	left := w.left
	left.n -= i0
	if left.index != nil {
		left.index = left.index[i0:]
	} else {
		left.x = left.x[i0*d:]
	}
	interleave(xi, left.x, d, asm.Panel, left.index, left.n, 0, packed, w.round)
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
	if dst.Rows != xs.Rows || dst.Cols != len(rows) {
		panic("kernelmv: CrossTo: bad shapes")
	}
	left, err := o.testRows(xs)
	if err != nil {
		return err
	}
	return o.entriesTo(ctx, dst, left, o.someRows(rows))
}

// CrossMulTo sets dst = K(X*, X) v for test rows xs (m×D), dst m×p and v n×p,
// in the precision of the operator. It fails for test inputs that are not
// finite, and with ctx.Err().
func (o *Op) CrossMulTo(ctx context.Context, dst, xs, v linalg.Matrix) error {
	if dst.Rows != xs.Rows || v.Rows != o.Dim() || dst.Cols != v.Cols {
		panic("kernelmv: CrossMulTo: bad shapes")
	}
	left, err := o.testRows(xs)
	if err != nil || v.Cols == 0 {
		return err
	}
	if o.precision == F32 {
		return crossMul(ctx, o, &o.engine.Impl.F32, dst, left, v)
	}
	return crossMul(ctx, o, &o.engine.Impl.F64, dst, left, v)
}

// crossMul is CrossMulTo in tiles of T. Sums over more than a tile are float64.
func crossMul[T asm.Float](ctx context.Context, o *Op, kit *asm.Kit[T], dst linalg.Matrix, left rowSet, v linalg.Matrix) error {
	w := &walk[T]{op: o, kit: kit, left: left, right: o.allRows(), clamp: asm.Clamp[T](o.kernel.Family), round: o.rounded}
	w.cutCols = padTo(o.Dim(), asm.Pad) // one owner per row
	p := padTo(v.Cols, asm.ColUnit)
	scale := colScale(v)
	vj := make([]T, w.cutCols*p) // [tile][p][cols]
	for q := range o.Dim() {
		j := q / kit.TileCols * kit.TileCols
		cols := min(kit.TileCols, w.cutCols-j)
		for c, x := range v.Row(q) {
			vj[j*p+c*cols+q-j] = T(x / scale[c])
		}
	}
	all, _ := w.tasks()
	y := make([]float64, all*crossRows*p)
	w.visit = func(_, _ int, t crossTile[T]) {
		kit.Cov(o.kernel.Family, t.data)
		for c := 0; c < p; { // groups of columns that stay in the cache
			g := min(maxGroup, p-c)
			yi := y[t.i*p+c*asm.RowUnit:]
			kit.AccI(yi[:asm.RowUnit*g], t.data, vj[t.j*p+c*t.stride:t.j*p+(c+g)*t.stride], asm.RowUnit, t.stride, g)
			c += g
		}
	}
	if err := w.run(ctx); err != nil {
		return err
	}
	for i := range dst.Rows {
		// y is [row tile][group][RowUnit][columns of the group]
		tile, a := y[i/asm.RowUnit*asm.RowUnit*p:], i%asm.RowUnit
		for c := range dst.Cols {
			from := c / maxGroup * maxGroup
			g := min(maxGroup, p-from)
			dst.Set(i, c, o.kernel.Variance*scale[c]*tile[from*asm.RowUnit+a*g+c-from])
		}
	}
	return nil
}

// colScale is a power of two near the largest value of every column.
func colScale(v linalg.Matrix) []float64 {
	scale := make([]float64, v.Cols)
	for i := range v.Rows {
		for c, x := range v.Row(i) {
			scale[c] = max(scale[c], math.Abs(x))
		}
	}
	for c, largest := range scale {
		scale[c] = unitOf(largest)
	}
	return scale
}

// unitOf is a power of two that brings largest near 1; 1 for NaN, Inf, 0 and
// what cannot be scaled.
func unitOf(largest float64) float64 {
	if largest > 1e-300 && largest < 1e300 {
		return math.Ldexp(1, math.Ilogb(largest))
	}
	return 1
}

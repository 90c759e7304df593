package kernelmv

import (
	"context"
	"math"
	"slices"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// An h2Product multiplies by the H² form of K in tiles of T. Columns are taken h2Cols at
// a time. Every output has one owner, who adds in a fixed order.
type h2Product[T asm.Float] struct {
	op   *Op
	kit  *asm.Kit[T]
	add  func(dst []float64, src []T) // dst += src
	plan *h2Plan
	from *h2Product[T] // of the columns: this one, or that of a Source
	p    int           // columns, padded

	sums   bool // is that of a gradient, which takes z of all cubes
	weight bool // multiplies by ∂k/∂r² without its factor, and without noise, in place of k

	vi, vj []T       // [padded][p], [p][padded]
	m      []T       // [box][p][rows]
	l      []float64 // [box][p][rows]
	c      []T       // coefficients of cubes: the same
	lc     []float64

	movers  map[int16]*h2Mover[T] // by the level of cubes
	tiles   map[h2Step][]T        // polynomials of cubes in those above them
	groups  [][]int32             // of this rank
	sources []int32               // boxes with z
	z       []T                   // [box][p/8][rank][8], of sums [box][p][rank]
	zAt     []int                 // of the first of a box, by one column
	zs      int

	scratch  []h2Scratch[T]
	ctx      context.Context
	dst, src linalg.Matrix
	largest  []float64 // [crossCols rows][column]
	invert   []float64 // V is multiplied by these powers of two,
	factor   []float64 // and Y by s2 over them
	level    []int32

	h2Part
	users func(id int32, to []bool) // marks the ranks that use M of a box

	maxBody, rowsBody, packBody, upBody, topBody, farBody, downBody, nearBody, sourceBody, moveBody func(worker, i int)
}

// h2Scratch is the work area of one worker.
type h2Scratch[T asm.Float] struct {
	tile, w, sum []T
	vi, vj       []T       // [rows][p], [p][cols]
	yi           []float64 // [rows][p]
	acc          []float64 // [p][cols]
	wide, fold   []float64 // [p][cols], [rows][p]
	chunkI       []float64 // of the rows of a chunk: [row][p]
	chunkJ       []float64 // [p][row]
	low          []float64 // [box of a group][p][rank]
	whole        []T
	wider        [classes][]T // panels with signs
	nothing      []T          // z of no cube
	sums         [classes][]T // what a class takes: [columns][8]
	pairs        []h2Pair
	starts       [offsetCodes + 1]int32
	g            gatherer[T]
}

func newH2Product[T asm.Float](o *Op, kit *asm.Kit[T]) *h2Product[T] {
	f := &h2Product[T]{op: o, kit: kit, add: adder[T](o.engine.Impl)}
	f.from, f.users = f, f.markUsers
	f.scratch = make([]h2Scratch[T], o.engine.Par.Threads())
	f.maxBody, f.rowsBody, f.packBody, f.upBody = f.findMax, f.packRows, f.pack, f.upBox
	f.sourceBody, f.moveBody = f.moveSource, f.moveGroup
	f.topBody, f.farBody, f.downBody, f.nearBody = f.farTop, f.farChunk, f.downBox, f.nearChunk
	return f
}

// use packs the points for a plan, and makes its matrices, or returns ctx.Err().
func (f *h2Product[T]) use(ctx context.Context, plan *h2Plan) error {
	if f.plan == plan {
		return nil
	}
	f.plan = plan
	if err := f.setMovers(ctx); err != nil {
		f.plan = nil
		return err
	}
	f.setTiles()
	f.share()
	f.layMoves()
	return nil
}

// mulTo sets dst = K̂ src.
func (f *h2Product[T]) mulTo(ctx context.Context, dst, src linalg.Matrix) error {
	for c := 0; c < src.Cols; c += h2Cols {
		end := min(c+h2Cols, src.Cols)
		f.ctx, f.dst, f.src = ctx, dst.Sub(0, dst.Rows, c, end), src.Sub(0, src.Rows, c, end)
		f.run()
	}
	f.ctx, f.dst, f.src = nil, linalg.Matrix{}, linalg.Matrix{}
	if err := ctx.Err(); err != nil {
		return err
	}
	f.complete(dst)
	return ctx.Err()
}

// run multiplies at most h2Cols columns.
func (f *h2Product[T]) run() {
	t, par := f.plan.tree, f.op.engine.Par
	f.layOut(f.src.Cols)
	f.setScale()
	par.For((t.padded+crossCols-1)/crossCols, f.packBody)
	f.upward()
	f.meet()
}

// meet brings what the columns' boxes hold to the rows of this rank.
func (f *h2Product[T]) meet() {
	t, par := f.plan.tree, f.op.engine.Par
	par.For(len(f.sources), f.sourceBody)
	par.For(len(f.groups), f.moveBody)
	par.For(len(t.tops), f.topBody)
	par.For(len(f.chunks), f.farBody)
	for _, f.level = range t.levels {
		par.For(len(f.level), f.downBody)
	}
	par.For(len(f.chunks), f.nearBody)
}

// layOut makes room for p columns.
func (f *h2Product[T]) layOut(p int) {
	f.p = padTo(p, asm.ColUnit)
	f.vi, f.vj = grow(f.vi, (f.plan.tree.padded+asm.RowUnit)*f.p), grow(f.vj, f.plan.tree.padded*f.p)
	f.m, f.l = grow(f.m, f.plan.slots*f.p), grow(f.l, f.plan.slots*f.p)
	clear(f.l)
	f.c, f.lc = grow(f.c, f.plan.spots*f.p), grow(f.lc, f.plan.spots*f.p)
	f.z = grow(f.z, f.zs*padTo(f.p, asm.GemmRows))
	clear(f.lc)
}

// upward sets M of the boxes that this rank uses.
func (f *h2Product[T]) upward() {
	f.upLevels(f.below)
	f.exchangeNodes()
	f.upLevels(f.above)
}

func (f *h2Product[T]) upLevels(levels [][]int32) {
	for _, f.level = range slices.Backward(levels) {
		f.op.engine.Par.For(len(f.level), f.upBody)
	}
}

// findMax finds the largest |V| of every column over crossCols rows.
func (f *h2Product[T]) findMax(_, i int) {
	p := f.src.Cols
	out := f.largest[i*p : (i+1)*p]
	clear(out)
	for row := i * crossCols; row < min((i+1)*crossCols, f.src.Rows); row++ {
		for c, v := range f.src.Row(row) {
			out[c] = max(out[c], math.Abs(v))
		}
	}
}

// setScale chooses a power of two for every column, as a product does.
func (f *h2Product[T]) setScale() {
	p := f.src.Cols
	blocks := (f.src.Rows + crossCols - 1) / crossCols
	f.largest = grow(f.largest, blocks*p)
	f.invert, f.factor = grow(f.invert, p), grow(f.factor, p)
	f.op.engine.Par.For(blocks, f.maxBody)
	for c := range p {
		var largest float64
		for i := range blocks {
			largest = max(largest, f.largest[i*p+c])
		}
		unit := unitOf(largest)
		f.invert[c], f.factor[c] = 1/unit, f.op.kernel.Variance*unit
	}
}

// packRows fills vi for crossCols positions: rows are fetched in the order of the tree
// here and nowhere else.
func (f *h2Product[T]) packRows(_, i int) {
	t, p := f.plan.tree, f.p
	from, to := i*crossCols, min((i+1)*crossCols, t.padded)
	clear(f.vi[from*p : to*p])
	for q := from; q < min(to, t.n); q++ {
		out := f.vi[q*p : (q+1)*p]
		for c, v := range f.src.Row(int(t.order[q])) {
			out[c] = T(v * f.invert[c])
		}
	}
}

// pack fills vi and vj for crossCols positions.
func (f *h2Product[T]) pack(worker, i int) {
	f.packRows(worker, i)
	p, n := f.p, f.plan.tree.padded
	from, to := i*crossCols, min((i+1)*crossCols, n)
	for c := range p {
		out := f.vj[c*n+from : c*n+to]
		for q := range out {
			out[q] = f.vi[(from+q)*p+c]
		}
	}
}

func (f *h2Product[T]) upBox(worker, i int) {
	if id := f.level[i]; f.ctx.Err() == nil && f.plan.sides[id].active {
		f.up(&f.scratch[worker], id)
	}
}

func (f *h2Product[T]) downBox(worker, i int) {
	id := f.level[i]
	if f.ctx.Err() == nil && f.plan.sides[id].active && !f.plan.tree.boxes[id].leaf() && f.owns(id) {
		f.down(&f.scratch[worker], id)
	}
}

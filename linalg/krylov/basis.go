package krylov

import (
	"bufio"
	"math"
	"unsafe"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/internal/room"
)

const (
	basisCols = asm.Pad          // columns of a chunk: one tile row
	basisSpan = linalg.BlockUnit // rows of one float32 sum, as in a kernel product
)

// A krylovBasis stores the columns of T, n×k, orthonormal. Over ranks, each has its own rows of T and of every block.
type krylovBasis interface {
	// Reset empties the basis; its memory stays.
	Reset()
	// Cols returns k.
	Cols() int
	// Bytes returns the memory held.
	Bytes() int64
	// Reserve makes room for more columns, so that Append does not allocate.
	Reserve(more int)
	// Append stores the columns of w, which have unit norm, and sets w to what
	// the basis holds from then on: the rounded columns, made unit again.
	Append(w linalg.Matrix)
	// Round sets w to what Append would, without storing it.
	Round(w linalg.Matrix)
	// InnerTo sets dst = T'w, k×q.
	InnerTo(dst, w linalg.Matrix)
	// ProjectOut sets w -= T (T'w); w n×p.
	ProjectOut(w linalg.Matrix)
	// MulTo sets dst = T[:, :y.Rows] y, n×q, in float64.
	MulTo(dst, y linalg.Matrix)
	// Bits, SaveTo and ResumeFrom are of the file format in save.go.
	Bits() int
	SaveTo(w *bufio.Writer, j0, j1 int)
	ResumeFrom(r *bufio.Reader, c int) error
	// ColsTo sets dst to the columns from j on.
	ColsTo(dst linalg.Matrix, j int)
}

// A basis keeps T in chunks [rows][basisCols] of type F, rows padded to whole
// tiles. So a chunk is a stack of tiles of the accumulation routines: T'w is
// their AccJ, with i the points and j the columns, and T c their AccI. Sums over
// basisSpan rows are taken in F, all others in float64.
//
// float32 is enough: what is stored is what A is applied to, so rounding only
// costs orthogonality. Norms are kept in scale: the entries of a block of signs
// all round the same way, so their norm, unlike their angles, would be off by
// the whole 6e-8.
type basis[F asm.Float] struct {
	e      *linalg.Engine
	kit    *asm.Kit[F]
	n      int
	own    int // rows that this rank holds, from lo on
	lo, hi int // hi with the padding to whole tiles
	k      int
	chunks [][]F     // of these rows
	norms  []float64 // of columns that are not stored
	scale  []float64 // column j of T is scale[j] times the stored one
	vi     []F       // [hi-lo][pc] w in F
	part   []float64 // [groups][chunks][pc][basisCols] partial sums of T'w
	vj     []F       // [chunks][pc][basisCols] T'w, for the stored columns
	yj     [][]F     // per worker [pc][basisCols]
	yi     [][]float64
	wide   [][]float64 // per worker, a chunk's tile in float64
	coef   []float64   // [chunks][qc][basisCols]
	job    basisJob
	bodies [5]func(worker, i int)
}

// A basisJob holds the arguments of the running sweep: bodies that are made
// once and read them from here let a sweep allocate nothing.
type basisJob struct {
	w, y                   linalg.Matrix
	pc, groups, tilesGroup int
}

func newBasis(e *linalg.Engine, n int, wide bool) krylovBasis {
	if wide {
		return makeBasis(e, &e.Impl.F64, n)
	}
	return makeBasis(e, &e.Impl.F32, n)
}

func makeBasis[F asm.Float](e *linalg.Engine, kit *asm.Kit[F], n int) *basis[F] {
	b := &basis[F]{e: e, kit: kit, n: n}
	b.lo, b.hi = e.OwnRows(n)
	b.own = b.hi - b.lo
	b.hi = b.lo + room.RoundUp(b.own, asm.RowUnit)
	threads := e.Par.Threads()
	b.yj, b.yi, b.wide = make([][]F, threads), make([][]float64, threads), make([][]float64, threads)
	b.bodies = [5]func(int, int){b.narrowTile, b.gramTask, b.sumTask, b.subTile, b.mulTile}
	return b
}

func (b *basis[F]) Reset()    { b.k = 0 }
func (b *basis[F]) Cols() int { return b.k }

func (b *basis[F]) Bytes() int64 {
	var z F
	return int64(len(b.chunks)*(b.hi-b.lo)*basisCols) * int64(unsafe.Sizeof(z))
}

func (b *basis[F]) Reserve(more int) {
	for len(b.chunks)*basisCols < b.k+more {
		b.chunks = append(b.chunks, make([]F, (b.hi-b.lo)*basisCols))
	}
	if want := len(b.chunks) * basisCols; cap(b.scale) < want {
		b.scale = append(make([]float64, 0, want), b.scale...)
	}
}

// used is the number of chunks that hold columns.
func (b *basis[F]) used() int { return (b.k + basisCols - 1) / basisCols }

func (b *basis[F]) Append(w linalg.Matrix) {
	if w.Rows != b.own {
		panic("krylov: basis.Append: wrong rows")
	}
	b.Reserve(w.Cols)
	for c := range w.Cols {
		if (b.k+c)%basisCols == 0 {
			// Columns that are not in use must be zero, they take part in sums.
			clear(b.chunks[(b.k+c)/basisCols])
		}
	}
	for i := range b.own {
		for c, v := range w.Row(i) {
			b.chunks[(b.k+c)/basisCols][i*basisCols+(b.k+c)%basisCols] = F(v)
		}
	}
	b.scale = b.scale[:b.k+w.Cols]
	roundUnit[F](b.e, w, b.scale[b.k:])
	b.k += w.Cols
}

func (b *basis[F]) Round(w linalg.Matrix) {
	b.norms = growOf(b.norms, w.Cols)
	roundUnit[F](b.e, w, b.norms)
}

// roundUnit rounds w to F and makes its columns unit again, multiplying them by
// scale, which it sets.
func roundUnit[F asm.Float](e *linalg.Engine, w linalg.Matrix, scale []float64) {
	clear(scale)
	e.InTurn(scale, func() {
		for i := range w.Rows {
			for c, v := range w.Row(i) {
				f := float64(F(v))
				scale[c] += f * f
			}
		}
	})
	for c, v := range scale {
		scale[c] = 1 / math.Sqrt(v)
	}
	for i := range w.Rows {
		row := w.Row(i)
		for c, v := range row {
			row[c] = float64(F(v)) * scale[c]
		}
	}
}

// work sizes the work areas for p columns.
func (b *basis[F]) work(w linalg.Matrix) {
	if w.Rows != b.own {
		panic("krylov: basis: wrong rows")
	}
	pc, m := room.RoundUp(w.Cols, asm.ColUnit), b.used()
	groups := linalg.Groups(b.n)
	b.job = basisJob{w: w, pc: pc, groups: groups, tilesGroup: linalg.GroupRows(b.n) / basisSpan}
	b.vi = growOf(b.vi, (b.hi-b.lo)*pc)
	b.part = growOf(b.part, groups*m*pc*basisCols)
	b.vj = growOf(b.vj, m*pc*basisCols)
	for i := range b.yj {
		b.yj[i] = growOf(b.yj[i], pc*basisCols)
		b.yi[i] = growOf(b.yi[i], pc*basisSpan)
	}
}

// growOf returns x with length n; the contents are undefined.
func growOf[F asm.Float](x []F, n int) []F {
	if cap(x) < n {
		return make([]F, n, n+n/2)
	}
	return x[:n]
}

// tiles is the number of tiles of so many rows that this rank has.
func (b *basis[F]) tiles(rows int) int { return (b.hi - b.lo + rows - 1) / rows }

// gram leaves T'w, ready for the stored columns, in b.vj.
func (b *basis[F]) gram(w linalg.Matrix) {
	b.work(w)
	m := b.used()
	b.e.Par.For(b.tiles(basisSpan), b.bodies[0])
	b.e.ForShare(b.job.groups, m, b.bodies[1])
	b.e.Complete(b.part, b.job.groups, m*b.job.pc*basisCols)
	b.e.Par.For(m, b.bodies[2])
}

func (b *basis[F]) narrowTile(_, t int) {
	w, pc := b.job.w, b.job.pc
	for i := t * basisSpan; i < min((t+1)*basisSpan, b.hi-b.lo); i++ {
		out := b.vi[i*pc : (i+1)*pc]
		clear(out)
		if i < b.own {
			for c, v := range w.Row(i) {
				out[c] = F(v)
			}
		}
	}
}

// gramTask adds up one row group of T'w for one chunk.
func (b *basis[F]) gramTask(worker, task int) {
	m, pc := b.used(), b.job.pc
	group, chunk := task/m, task%m
	size := pc * basisCols
	sum, yj := b.part[task*size:(task+1)*size], b.yj[worker]
	clear(sum)
	first := group*b.job.tilesGroup - b.lo/basisSpan
	for t := first; t < min(first+b.job.tilesGroup, b.tiles(basisSpan)); t++ {
		lo, hi := t*basisSpan, min((t+1)*basisSpan, b.hi-b.lo)
		clear(yj)
		b.kit.AccJ(yj, b.chunk(chunk, lo, hi), b.vi[lo*pc:hi*pc], hi-lo, basisCols, pc)
		addWide(b.e.Impl, sum, yj)
	}
}

// addWide adds dst += src in float64, wideTo sets dst = src.
func addWide[F asm.Float](im *asm.Impl, dst []float64, src []F) {
	switch s := any(src).(type) {
	case []float32:
		im.WidenAdd(dst, s)
	case []float64:
		im.F64.Axpy(1, s, dst)
	}
}

func wideTo[F asm.Float](im *asm.Impl, dst []float64, src []F) {
	switch s := any(src).(type) {
	case []float32:
		im.Widen(dst, s)
	case []float64:
		copy(dst, s)
	}
}

// sumTask adds the row groups of one chunk, in order.
func (b *basis[F]) sumTask(_, chunk int) {
	size, m := b.job.pc*basisCols, b.used()
	total := b.part[chunk*size : (chunk+1)*size]
	for g := 1; g < b.job.groups; g++ {
		b.e.Axpy(1, b.part[(g*m+chunk)*size:(g*m+chunk+1)*size], total)
	}
	out := b.vj[chunk*size : (chunk+1)*size]
	for i, v := range total {
		if j := chunk*basisCols + i%basisCols; j < b.k {
			v *= b.scale[j] * b.scale[j]
		}
		out[i] = F(v)
	}
}

// InnerTo sets dst = T'w, k×q.
func (b *basis[F]) InnerTo(dst, w linalg.Matrix) {
	if b.k == 0 {
		return
	}
	b.gram(w)
	size := b.job.pc * basisCols
	for j := range b.k {
		for c := range dst.Row(j) {
			dst.Set(j, c, float64(b.vj[j/basisCols*size+c*basisCols+j%basisCols])/b.scale[j])
		}
	}
}

func (b *basis[F]) ProjectOut(w linalg.Matrix) {
	if b.k == 0 || w.Cols == 0 {
		return
	}
	b.gram(w)
	b.e.Par.For(b.tiles(basisSpan), b.bodies[3])
}

// chunk is rows lo..hi-1, of those of this rank, of a chunk.
func (b *basis[F]) chunk(c, lo, hi int) []F { return b.chunks[c][lo*basisCols : hi*basisCols] }

// subTile subtracts T (T'w) from the rows of one tile.
func (b *basis[F]) subTile(worker, t int) {
	w, pc := b.job.w, b.job.pc
	lo, hi := t*basisSpan, min((t+1)*basisSpan, b.hi-b.lo)
	yi := b.yi[worker][:(hi-lo)*pc]
	clear(yi)
	size := pc * basisCols
	for c := range b.used() {
		b.kit.AccI(yi, b.chunk(c, lo, hi), b.vj[c*size:(c+1)*size], hi-lo, basisCols, pc)
	}
	hi = min(hi, b.own)
	if w.Cols == pc && w.Stride == pc { // the usual case: one vector
		b.e.Axpy(-1, yi[:(hi-lo)*pc], w.Data[lo*pc:hi*pc])
		return
	}
	for i := lo; i < hi; i++ {
		s := yi[(i-lo)*pc:]
		for c := range w.Row(i) {
			w.Data[i*w.Stride+c] -= s[c]
		}
	}
}

func (b *basis[F]) MulTo(dst, y linalg.Matrix) {
	if dst.Rows != b.own || y.Rows > b.k || dst.Cols != y.Cols {
		panic("krylov: basis.MulTo: wrong shape")
	}
	qc := room.RoundUp(y.Cols, asm.ColUnit)
	m := (y.Rows + basisCols - 1) / basisCols
	b.coef = growOf(b.coef, m*qc*basisCols)
	clear(b.coef)
	for j := range y.Rows {
		for c, v := range y.Row(j) {
			b.coef[(j/basisCols*qc+c)*basisCols+j%basisCols] = v * b.scale[j]
		}
	}
	for i := range b.wide {
		b.wide[i] = growOf(b.wide[i], asm.RowUnit*basisCols)
		b.yi[i] = growOf(b.yi[i], asm.RowUnit*qc)
	}
	b.job = basisJob{w: dst, y: y, pc: qc, groups: m}
	b.e.Par.For(b.tiles(asm.RowUnit), b.bodies[4])
}

// mulTile computes RowUnit rows of T y. The tile is widened, so that v, which
// must be good to more than float32, comes from the same routine as U.
func (b *basis[F]) mulTile(worker, t int) {
	lo, qc := t*asm.RowUnit, b.job.pc
	tile, yi := b.wide[worker], b.yi[worker][:asm.RowUnit*qc]
	clear(yi)
	for c := range b.job.groups {
		wideTo(b.e.Impl, tile, b.chunk(c, lo, lo+asm.RowUnit))
		b.e.Impl.F64.AccI(yi, tile, b.coef[c*qc*basisCols:(c+1)*qc*basisCols], asm.RowUnit, basisCols, qc)
	}
	for i := lo; i < min(lo+asm.RowUnit, b.own); i++ {
		copy(b.job.w.Row(i), yi[(i-lo)*qc:(i-lo+1)*qc])
	}
}

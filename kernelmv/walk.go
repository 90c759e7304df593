package kernelmv

import (
	"bbgp.dev/asm"
)

// maxSum points of a column's sum are taken in float32: 192 make the error of a
// product several times that of its entries, 24 hardly less than 48.
const maxSum = 48

// A tilePass is what a tileWalk is made for: a product or a gradient.
type tilePass interface {
	// addTile adds a tile to the sums of the worker.
	addTile(worker int, at place)
	// endColumn takes the sums of columns j..j+cols-1 over the rows of a superblock from the worker.
	endColumn(worker, j, cols int)
	// endPair takes the sums of the rows of superblock a over the columns of another, or its own.
	endPair(worker, a int)
}

// A tileWalk goes over the tiles of pairs of superblocks, each on one worker, for a pass that wants sums over the rows
// and over the columns of each. Sums over rows are taken in T over at most maxSum rows, then in float64.
type tileWalk[T asm.Float] struct {
	op     *Op
	kit    *asm.Kit[T]
	widen  func(dst []float64, src []T) // dst += src; nil for float64
	grid   grid[T]
	fresh  bool
	every  bool // also tiles whose entries are negligible
	width  int  // columns of a group
	groups int

	pass     tilePass
	workers  []walkScratch[T]
	pairBody func(worker, a, b int)
}

// walkScratch is what a worker adds up.
type walkScratch[T asm.Float] struct {
	tile []T
	sum  []T       // [group][width][cols]: of at most maxSum rows; yj itself where T is float64
	yj   []float64 // [group][width][cols]
	yi   []float64 // of the rows of a superblock, as the pass wants it
}

// A place is one tile: rows i..i+rows-1 and columns j..j+cols-1. A square on the diagonal holds both orders of each
// pair.
type place struct {
	i, rows, j, cols int
	diagonal         bool
}

func newTileWalk[T asm.Float](o *Op, kit *asm.Kit[T], pass tilePass) tileWalk[T] {
	widen, _ := any(o.engine.Impl.WidenAdd).(func(dst []float64, src []T))
	return tileWalk[T]{op: o, kit: kit, widen: widen, pass: pass,
		workers: make([]walkScratch[T], o.engine.Par.Threads())}
}

// makeRoom makes room for the sums of a column of tiles, and for perRow sums of each row.
func (t *tileWalk[T]) makeRoom(perRow int) {
	size := t.groups * t.width * t.kit.TileCols
	for w := range t.workers {
		s := &t.workers[w]
		s.tile = grow(s.tile, t.kit.TileRows*t.kit.TileCols)
		s.yi = grow(s.yi, min(t.op.sched.block, t.op.sched.padded)*perRow)
		if larger := cap(s.yj) < size; larger {
			s.yj = make([]float64, size)
			s.sum, _ = any(s.yj).([]T) // allocates, so only now
		}
		s.yj = s.yj[:size]
		s.sum = grow(s.sum, size)
	}
}

// pair visits the tiles of superblocks a >= b: rows of a, columns of b.
func (t *tileWalk[T]) pair(worker, a, b int) {
	sched := t.op.sched
	i0, i1 := sched.span(a)
	j0, j1 := sched.span(b)
	if !t.every && t.grid.farBlocks(a, b) {
		return
	}
	clear(t.workers[worker].yi)
	for j := j0; j < j1; {
		if sched.stopped() {
			return
		}
		_, cols := t.grid.tileOf(j)
		if a == b {
			i0 = j // what is above the diagonal is done from the other side
		}
		t.column(worker, i0, i1, j, cols)
		j += cols
	}
	t.pass.endPair(worker, a)
}

// column visits the tiles with rows i0..i1-1 and the columns j0..j0+cols-1.
func (t *tileWalk[T]) column(worker, i0, i1, j0, cols int) {
	s, size := &t.workers[worker], t.groups*t.width*cols
	clear(s.sum[:size])
	clear(s.yj[:size])
	inSum, empty := 0, true
	for i := i0; i < i1; {
		end := i1
		diagonal := i >= j0 && i < j0+cols
		if diagonal {
			end = j0 + cols
		}
		rows := min(t.kit.TileRows, end-i)
		if t.every || !t.grid.far(i, rows, j0, cols) {
			if inSum+rows > maxSum {
				t.flush(s, size)
				inSum = 0
			}
			t.pass.addTile(worker, place{i, rows, j0, cols, diagonal})
			inSum += rows
			empty = false
		}
		i += rows
	}
	if !empty {
		t.flush(s, size)
		t.pass.endColumn(worker, j0, cols)
	}
}

// sumOf is where AccJ adds for a group.
func (t *tileWalk[T]) sumOf(s *walkScratch[T], g, cols int) []T {
	return s.sum[g*t.width*cols : (g+1)*t.width*cols]
}

// flush adds the short sums to yj.
func (t *tileWalk[T]) flush(s *walkScratch[T], size int) {
	if t.widen != nil {
		t.widen(s.yj[:size], s.sum[:size])
		clear(s.sum[:size])
	}
}

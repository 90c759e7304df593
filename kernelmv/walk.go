package kernelmv

import (
	"bbgp.dev/asm"
)

// maxSum points of a column's sum are taken in float32: 192 make the error of a
// product several times that of its entries, 24 hardly less than 48.
const maxSum = 48

// A tileWalk goes over the tiles of all pairs of points for a pass, a product or a gradient, that wants sums over the
// rows of each tile, in yj, and over its columns. It keeps the sums over rows: in T over at most maxSum rows, then in
// float64.
type tileWalk[T asm.Float] struct {
	op     *Op
	kit    *asm.Kit[T]
	widen  func(dst []float64, src []T) // dst += src; nil for float64
	grid   grid[T]
	fresh  bool
	every  bool // also tiles whose entries are negligible
	width  int  // columns of a group
	groups int

	yj     []float64 // [group][tile][width][cols]
	direct []T       // yj itself where T is float64
	sums   [][]T     // of each worker, [group][width][cols]: yj of at most maxSum rows

	add      func(worker int, at place) // does what the pass does with a tile
	pairBody func(worker, a, b int)
}

// A place is one tile: rows i..i+rows-1 and columns j..j+cols-1, and which of its sides are wanted. A square on the
// diagonal holds both orders of each pair.
type place struct {
	i, rows, j, cols int
	diagonal         bool
	own              sides
}

// sides says which sides of a tile are of this rank: its rows, its columns.
type sides struct{ i, j bool }

func newTileWalk[T asm.Float](o *Op, kit *asm.Kit[T], add func(worker int, at place)) tileWalk[T] {
	return tileWalk[T]{op: o, kit: kit, widen: widenAdd[T](o.engine.Impl), add: add,
		sums: make([][]T, o.engine.Par.Threads())}
}

// widenAdd is im.WidenAdd for float32, nil for float64.
func widenAdd[T asm.Float](im *asm.Impl) func(dst []float64, src []T) {
	f, _ := any(im.WidenAdd).(func(dst []float64, src []T))
	return f
}

// makeRoom makes room for the sums of the columns of all groups.
func (t *tileWalk[T]) makeRoom() {
	size := t.groups * t.width * t.op.sched.padded
	if larger := cap(t.yj) < size; larger {
		t.yj = make([]float64, size)
		t.direct, _ = any(t.yj).([]T) // allocates, so only now
	}
	t.yj = t.yj[:size]
	for w := range t.sums {
		t.sums[w] = grow(t.sums[w], t.groups*t.width*t.kit.TileCols)
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
	own := sides{sched.owns(a), sched.owns(b)}
	for j := j0; j < j1; {
		if sched.stopped() {
			return
		}
		_, cols := t.grid.tileOf(j)
		if a == b {
			i0 = j // what is above the diagonal is done from the other side
		}
		t.column(worker, own, i0, i1, j, cols)
		j += cols
	}
}

// column visits the tiles with rows i0..i1-1 and the columns j0..j0+cols-1.
func (t *tileWalk[T]) column(worker int, own sides, i0, i1, j0, cols int) {
	inSum := 0
	if t.widen != nil {
		clear(t.sums[worker][:t.groups*t.width*cols])
	}
	for i := i0; i < i1; {
		end := i1
		diagonal := i >= j0 && i < j0+cols
		if diagonal {
			end = j0 + cols
		}
		rows := min(t.kit.TileRows, end-i)
		if t.every || !t.grid.far(i, rows, j0, cols) {
			if own.j && inSum+rows > maxSum {
				t.flush(worker, j0, cols)
				inSum = 0
			}
			t.add(worker, place{i, rows, j0, cols, diagonal, own})
			inSum += rows
		}
		i += rows
	}
	if own.j && inSum > 0 {
		t.flush(worker, j0, cols)
	}
}

// sum is where AccJ adds: yj itself for float64, else the worker's short sum.
func (t *tileWalk[T]) sum(worker, g, j0, cols int) []T {
	w := t.width
	if t.widen == nil {
		at := (g*t.op.sched.padded + j0) * w
		return t.direct[at : at+w*cols]
	}
	return t.sums[worker][g*w*cols : (g+1)*w*cols]
}

// flush adds the short sums to yj.
func (t *tileWalk[T]) flush(worker, j0, cols int) {
	if t.widen == nil {
		return
	}
	w := t.width
	for g := range t.groups {
		at := (g*t.op.sched.padded + j0) * w
		sum := t.sums[worker][g*w*cols : (g+1)*w*cols]
		t.widen(t.yj[at:at+w*cols], sum)
		clear(sum)
	}
}

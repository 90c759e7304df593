package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The routines of asm/lanes.go: a number of a point in all lanes is a block of
// 64 bytes, one vector of AVX-512, two of AVX2, which does the two halves of the
// lanes one after the other.

func lanes(e *emitter) {
	e.gatherLanes()
	for _, rows := range []int{cholUnit, 1} {
		e.laneRows("LaneDist", rows)
		e.laneRows("LaneSyrk", rows)
	}
	e.laneScore()
}

// gatherLanes transposes eight rows at a time and asks for what stands in them
// behind the numbers it takes: the next call, for the next columns, finds that
// in the second cache.
func (e *emitter) gatherLanes() {
	e.begin("GatherLanes", "func(dst *float64, dstStride int, src *float64, stride int, idx *int32, rows, n int)",
		"works like genericGatherLanes.")
	dst, idx, rows, size := e.arg("dst"), e.arg("idx"), e.arg("rows"), e.bytesOf(e.arg("n"))
	e.loop("row", rows, func() {
		for half := 0; half < transRows; half += e.lanes() {
			var from []reg.GPVirtual
			src, stride := e.arg("src"), e.bytesOf(e.arg("stride")) // there are too few registers to keep them
			for l := range e.lanes() {
				p := e.GP64()
				e.MOVL(at(idx, (half+l)*4), p.As32())
				e.IMULQ(stride, p)
				e.ADDQ(src, p)
				from = append(from, p)
			}
			e.gatherSquares(from, dst, size, half)
		}
		e.inc(transRows*4, idx)
		next := e.arg("dstStride")
		e.SHLQ(operand.Imm(uint64(log2(block))), next)
		e.ADDQ(next, dst)
	})
	e.end()
}

// gatherSquares transposes size bytes of the rows from, into lanes half and on.
func (e *emitter) gatherSquares(from []reg.GPVirtual, dst, size reg.GPVirtual, half int) {
	k, to, top := e.GP64(), e.copyOf(dst), e.label("square")
	e.XORQ(k, k)
	e.Label(top)
	v := e.newVecs(len(from))
	for i, p := range from {
		e.load(atIdx(p, k, 1, 0), v[i])
	}
	e.ADDQ(size, k)
	for _, p := range from {
		e.PREFETCHT1(atIdx(p, k, 1, 0))
	}
	e.SUBQ(size, k)
	for i, x := range e.square(v) {
		e.store(x, at(to, i*block+half*e.size))
	}
	e.inc(e.lanes()*block, to)
	e.inc(e.bytes, k)
	e.CMPQ(k, size)
	e.JLT(operand.LabelRef(top))
}

// laneRows emits the routine for rows rows of the triangle from row i on: blocks
// of rows by 4 columns (AVX2: by 2) left of column i, then the triangle there.
func (e *emitter) laneRows(name string, rows int) {
	dist, signature, last := name == "LaneDist", "func(tri, x *float64, d, i int)", ""
	if dist {
		signature = "func(tri, x *float64, d, i int, clamp float64)"
	}
	if rows == 1 {
		last = "Last"
	}
	e.begin(name+last, signature, "works like generic"+name+last+".")
	t := laneTile{e: e, dist: dist, depth: e.arg("d")}
	i := e.arg("i")
	out := e.triangle(e.arg("tri"), i)
	e.SHLQ(operand.Imm(uint64(log2(block))), t.depth)
	x := e.arg("x")
	left := e.copyOf(t.depth) // row i of x
	e.IMULQ(i, left)
	e.ADDQ(x, left)
	e.SHLQ(operand.Imm(uint64(log2(block))), i)
	t.depth3 = e.times(t.depth, 3)
	cols := cholUnit
	if rows > 1 && !e.wide() {
		cols = 2
	}
	halves := e.GP64()
	e.MOVQ(operand.U32(block/e.bytes), halves)
	e.loop("half", halves, func() {
		outs := e.nextRows(out, i, rows)
		right, j, diag := e.copyOf(x), e.GP64(), e.label("diag")
		e.XORQ(j, j)
		e.TESTQ(i, i)
		e.JE(operand.LabelRef(diag))
		top := e.label("left")
		e.Label(top)
		t.sum(outs, left, right, j, cols)
		e.inc(cols*block, j)
		e.CMPQ(j, i)
		e.JLT(operand.LabelRef(top))
		e.Label(diag)
		t.sum(outs, left, left, i, 0)
		if !e.wide() {
			e.Comment("the other half of the lanes")
			for _, p := range []reg.GPVirtual{x, left, out} {
				e.inc(e.bytes, p)
			}
		}
	})
	e.end()
}

// A laneTile emits the sums over k of a block of a triangle.
type laneTile struct {
	e             *emitter
	dist          bool          // of squared differences; otherwise products, to be subtracted
	depth, depth3 reg.GPVirtual // bytes of a row of x, and of three
}

// sum does the rows outs by cols columns from j (in bytes) on, of rows of x from
// left and from right, which moves on behind them; with cols = 0, the triangle
// on the diagonal, where right is left.
func (t *laneTile) sum(outs []reg.GPVirtual, left, right, j reg.GPVirtual, cols int) {
	e := t.e
	acc := make([][]vec, len(outs))
	for r := range outs {
		acc[r] = e.newVecs(cols)
		if cols == 0 {
			acc[r] = e.newVecs(r + 1)
		}
		for c, v := range acc[r] {
			if t.dist {
				e.zero(v)
			} else {
				e.load(atIdx(outs[r], j, 1, c*block), v)
			}
		}
	}
	a, b, count := e.copyOf(left), right, e.copyOf(t.depth)
	e.SHRQ(operand.Imm(uint64(log2(block))), count)
	e.loop("depth", count, func() {
		x := e.newVecs(len(outs))
		for r := range x {
			e.load(e.row(a, t.depth, t.depth3, r, 0), x[r])
		}
		for c := range max(cols, len(outs)) {
			y := x[min(c, len(x)-1)]
			if cols > 0 {
				y = e.newVec()
				e.load(e.row(b, t.depth, t.depth3, c, 0), y)
			}
			for r := range outs {
				if c < len(acc[r]) {
					t.term(x[r], y, acc[r][c])
				}
			}
		}
		e.inc(block, a)
		if cols > 0 {
			e.inc(block, b)
		}
	})
	for r := range outs {
		for c, v := range acc[r] {
			if t.dist {
				e.clamp(v, operand.Mem{})
			}
			e.store(v, atIdx(outs[r], j, 1, c*block))
		}
	}
	if cols > 0 { // b stands at the second row
		e.ADDQ(e.times(t.depth, cols-1), b)
	}
}

// term adds or subtracts a term.
func (t *laneTile) term(x, y, acc vec) {
	e := t.e
	if !t.dist {
		e.fnma(x, y, acc)
		return
	}
	d := e.newVec()
	e.sub(x, y, d)
	e.fma(d, d, acc)
}

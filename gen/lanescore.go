package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// LaneScore: a row of the triangle against four inputs at a time, then two, then one.
// AVX2 does the two halves of the lanes one after the other.

// scoreWidths are the inputs that are taken together: 4 as often as it goes, the others
// once where they are in the binary form of the rest.
var scoreWidths = []int{4, 2, 1}

func (e *emitter) laneScore() {
	e.begin("LaneScore", "func(acc, tri, w, v, x *float64, d, i int)", "works like genericLaneScore.")
	s := scorer{e: e, acc: e.arg("acc"), w: e.arg("w"), v: e.arg("v"), x: e.arg("x"), depth: e.arg("d"),
		end: e.arg("i")}
	s.row = e.triangle(e.arg("tri"), s.end)
	e.SHLQ(operand.Imm(uint64(log2(block))), s.depth)
	s.left = e.copyOf(s.depth) // row i of x
	e.IMULQ(s.end, s.left)
	e.ADDQ(s.x, s.left)
	e.SHLQ(operand.Imm(uint64(log2(block))), s.end)
	halves := e.GP64()
	e.MOVQ(operand.U32(block/e.bytes), halves)
	e.loop("half", halves, func() {
		for _, width := range scoreWidths {
			count, done := e.arg("d"), e.label("done") // there are too few registers to keep it
			if width == scoreWidths[0] {
				e.SHRQ(operand.Imm(uint64(log2(width))), count)
			} else {
				e.ANDQ(operand.U32(width), count)
				e.SHRQ(operand.Imm(uint64(log2(width))), count)
			}
			e.TESTQ(count, count)
			e.JE(operand.LabelRef(done))
			e.loop("inputs", count, func() { s.inputs(width) })
			e.Label(done)
		}
		if !e.wide() {
			e.Comment("the other half of the lanes")
			for _, p := range []reg.GPVirtual{s.row, s.w, s.v} {
				e.inc(e.bytes, p)
			}
			for _, p := range []reg.GPVirtual{s.x, s.left} {
				e.SUBQ(s.depth, p)
				e.inc(e.bytes, p)
			}
			e.SUBQ(s.depth, s.acc)
			e.SUBQ(s.depth, s.acc)
			e.inc(e.bytes, s.acc)
		}
	})
	e.end()
}

// A scorer emits the sums over the points before point i.
type scorer struct {
	e          *emitter
	acc        reg.GPVirtual // of the next input
	row        reg.GPVirtual // i of the triangle
	w, v       reg.GPVirtual
	x, left    reg.GPVirtual // the next input of the first point and of point i
	depth, end reg.GPVirtual // bytes of a point and of the elements before i
}

// inputs does width inputs and moves the pointers on.
func (s *scorer) inputs(width int) {
	e := s.e
	a, byW, byV := e.newVecs(width), e.newVecs(width), e.newVecs(width)
	for k := range width {
		e.load(at(s.left, k*block), a[k])
		e.zero(byW[k], byV[k])
	}
	b, j, top := e.copyOf(s.x), e.GP64(), e.label("points")
	e.XORQ(j, j)
	e.Label(top)
	t, tw := e.newVec(), e.newVec()
	e.load(atIdx(s.row, j, 1, 0), t)
	e.mul(atIdx(s.w, j, 1, 0), t, tw)
	e.mul(atIdx(s.v, j, 1, 0), t, t)
	for k := range width {
		square := e.newVec()
		e.sub(a[k], at(b, k*block), square)
		e.mul(square, square, square)
		e.fma(square, tw, byW[k])
		e.fma(square, t, byV[k])
	}
	e.ADDQ(s.depth, b)
	e.inc(block, j)
	e.CMPQ(j, s.end)
	e.JLT(operand.LabelRef(top))
	w, v := e.newVec(), e.newVec()
	e.load(atIdx(s.w, s.end, 1, 0), w)
	e.load(atIdx(s.v, s.end, 1, 0), v)
	for k := range width {
		for h, sum := range []vec{byW[k], byV[k]} {
			acc := e.newVec()
			e.load(at(s.acc, (2*k+h)*block), acc)
			e.fma(w, sum, acc)
			if h == 1 {
				e.fma(v, byW[k], acc)
			}
			e.store(acc, at(s.acc, (2*k+h)*block))
		}
	}
	e.inc(width*block, s.x)
	e.inc(width*block, s.left)
	e.inc(2*width*block, s.acc)
}

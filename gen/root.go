package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Square roots under the distance loop, for AVX-512.
//
// A root of a 64-byte vector keeps the divider busy for 12 (float32) or 24
// (float64) cycles of an Intel core, longer than the rest of the covariance
// function takes; the distance loop leaves the divider idle. So distRoot takes
// the roots of the micro-tile before while it sums one: rootRows rows of two
// vectors a turn of two terms, which is as much as the divider can do in the 48
// cycles of the turn. What is left at the end of a micro-tile is done there.

// rootRows is the number of rows that are rooted in a turn.
func (e *emitter) rootRows() int {
	if e.size == 4 {
		return 2
	}
	return 1
}

// distRoot does Dist and takes the roots.
func (e *emitter) distRoot() {
	e.begin("DistRoot", "func(dst, xi, xj *T, d, rows, cols int, clamp T)", "works like genericDist and takes the square roots.")
	before := e.GP64() // the micro-tile whose roots are due, or 0
	e.XORQ(before, before)
	var stride reg.GPVirtual
	e.microTiles("dst", "xi", "xj", "d", func(p tilePart) {
		stride = p.stride
		e.rootedTile(p, before)
	})
	e.Comment("roots of the last micro-tile")
	turns := e.GP64()
	e.MOVQ(operand.U32(panel/e.rootRows()), turns)
	e.loop("roots", turns, func() {
		for i := range e.rootRows() {
			e.rootRow(before, stride, i)
		}
		e.LEAQ(atIdx(before, stride, uint8(e.rootRows()), 0), before)
	})
	e.end()
}

// rootRow takes the roots of a row of a micro-tile.
func (e *emitter) rootRow(tile, stride reg.GPVirtual, row int) {
	v := e.newVecs(e.distShape().vecs)
	for j := range v {
		e.sqrt(e.row(tile, stride, nil, row, j*e.bytes), v[j])
	}
	for j := range v {
		e.store(v[j], e.row(tile, stride, nil, row, j*e.bytes))
	}
}

// rootedTile sums a micro-tile and takes the roots of the one before.
func (e *emitter) rootedTile(p tilePart, before reg.GPVirtual) {
	t := e.newSum(p, e.distStep)
	turns, due := e.arg("d"), e.GP64()
	even, plain := e.label("even"), e.label("plain")
	e.BTQ(operand.U8(0), turns)
	e.JCC(operand.LabelRef(even))
	t.one(0)
	t.advance(1)
	e.Label(even)
	e.SHRQ(operand.Imm(1), turns)

	e.Comment("turns with roots: as many as there are both terms and roots")
	e.MOVQ(operand.U32(panel/e.rootRows()), due)
	e.TESTQ(before, before)
	e.CMOVQEQ(before, due)
	both := e.copyOf(due)
	e.CMPQ(turns, both)
	e.CMOVQLT(turns, both)
	e.SUBQ(both, turns)
	e.SUBQ(both, due)
	e.TESTQ(both, both)
	e.JE(operand.LabelRef(plain))
	e.loop("rooted", both, func() {
		step := t.step
		t.step = e.rootedStep(before, p.stride)
		t.one(0)
		t.one(1)
		t.step = step
		t.advance(2)
		e.LEAQ(atIdx(before, p.stride, uint8(e.rootRows()), 0), before)
	})
	e.Label(plain)
	e.unlessZero(turns, "terms", func() {
		t.one(0)
		t.one(1)
		t.advance(2)
	})
	e.Comment("roots that are left")
	e.unlessZero(due, "left", func() {
		for i := range e.rootRows() {
			e.rootRow(before, p.stride, i)
		}
		e.LEAQ(atIdx(before, p.stride, uint8(e.rootRows()), 0), before)
	})
	e.MOVQ(p.dst, before)
	t.store(e.clamp)
}

// unlessZero emits a loop of n turns, n >= 0.
func (e *emitter) unlessZero(n reg.GPVirtual, name string, body func()) {
	skip := e.label(name + "Done")
	e.TESTQ(n, n)
	e.JE(operand.LabelRef(skip))
	e.loop(name, n, body)
	e.Label(skip)
}

// rootedStep is distStep with roots between its rows, for two terms: rootRows
// rows in all, a vector at a time.
func (e *emitter) rootedStep(before, stride reg.GPVirtual) stepFunc {
	term := 0
	return func(acc [][]vec, xi func(int) operand.Mem, xj []vec) {
		count := e.rootRows() // vectors a term: two a row, two terms
		for i := range acc {
			e.distStep(acc[i:i+1], func(int) operand.Mem { return xi(i) }, xj)
			if every := len(acc) / count; i%every == every/2 {
				n := term*count + i/every
				v := e.newVec()
				m := e.row(before, stride, nil, n/2, n%2*e.bytes)
				e.sqrt(m, v)
				e.store(v, m)
			}
		}
		term++
	}
}

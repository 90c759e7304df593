package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Square roots under the distance loop, for AVX-512 in float64.
//
// The root of a vector of eight float64 keeps the divider of an Intel core busy
// for 24 cycles, twice as long as the rest of the covariance function takes;
// the distance loop leaves the divider idle. So distRoot takes the roots of the
// micro-tile before while it sums one: a row of two vectors a turn of two
// terms, which is as much as the divider can do in the 48 cycles of the turn.
// What is left at the end of a micro-tile is done there. Dist and Cov together
// then take 0.90 of the time at d = 18 and 0.87 at d = 24, but 1.02 at d = 8.
// In float32 (12 cycles) it does not pay at any d: 1.05.

// rootsEarly tells where distRoot pays.
func (e *emitter) rootsEarly() bool { return e.wide() && e.size == 8 }

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
	rows := e.GP64()
	e.MOVQ(operand.U32(panel), rows)
	e.loop("roots", rows, func() { e.rootRow(before, stride) })
	e.end()
}

// rootRow takes the roots of a row of a micro-tile and goes on to the next.
func (e *emitter) rootRow(tile, stride reg.GPVirtual) {
	v := e.newVecs(e.distShape().vecs)
	for j := range v {
		e.sqrt(at(tile, j*e.bytes), v[j])
	}
	for j := range v {
		e.store(v[j], at(tile, j*e.bytes))
	}
	e.ADDQ(stride, tile)
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
	e.MOVQ(operand.U32(panel), due)
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
		t.step = e.rootedStep(before)
		t.one(0)
		t.one(1)
		t.step = step
		t.advance(2)
		e.ADDQ(p.stride, before)
	})
	e.Label(plain)
	e.unlessZero(turns, "terms", func() {
		t.one(0)
		t.one(1)
		t.advance(2)
	})
	e.Comment("roots that are left")
	e.unlessZero(due, "left", func() { e.rootRow(before, p.stride) })
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

// rootedStep is distStep for two terms, with the root of one vector of a row in
// the middle of each.
func (e *emitter) rootedStep(before reg.GPVirtual) stepFunc {
	term := 0
	return func(acc [][]vec, xi func(int) operand.Mem, xj []vec) {
		half := len(acc) / 2
		e.distStep(acc[:half], xi, xj)
		v, m := e.newVec(), at(before, term*e.bytes)
		e.sqrt(m, v)
		e.store(v, m)
		e.distStep(acc[half:], func(i int) operand.Mem { return xi(half + i) }, xj)
		term++
	}
}

package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Square roots under the distance loop.
//
// The root of a vector keeps the divider of an Intel core busy for 12 cycles
// (AVX-512 in float32, AVX2 in float64) or 24 (AVX-512 in float64), longer than
// the rest of the covariance function keeps the other units; the distance loop
// leaves the divider idle. So a distRoot routine takes, while it sums a
// micro-tile, the roots of some rows of the micro-tile before, one row of two
// vectors a turn of two terms, and leaves to the covariance function as many as
// do not hold it up.
//
// The rows of a micro-tile stand in rootParts parts of equal size. The first
// early of them get their roots in advance; the other routines take rows with
// the same place in their parts together.

// rootParts is the number of parts.
func (e *emitter) rootParts() int {
	if e.wide() {
		return 4
	}
	return 2
}

// earlyParts are the values of early for which there are routines.
func (e *emitter) earlyParts() []int {
	switch {
	case e.wide() && e.size == 8:
		return []int{1, 2, 3, 4}
	case e.wide():
		return []int{2}
	case e.size == 8:
		return []int{1}
	}
	return nil
}

// distRoot does Dist and takes roots.
func (e *emitter) distRoot(early int) {
	e.begin(rootName("DistRoot", early), "func(dst, xi, xj *T, d, rows, cols int, clamp T)",
		"works like genericDist and takes square roots in some rows of each micro-tile.")
	before := e.GP64() // row of the micro-tile before whose roots are due, or 0
	e.XORQ(before, before)
	var stride reg.GPVirtual
	rows := e.partRows() * early
	e.microTiles("dst", "xi", "xj", "d", func(p tilePart) {
		stride = p.stride
		e.rootedTile(p, before, rows)
	})
	e.Comment("roots of the last micro-tile")
	left := e.GP64()
	e.MOVQ(operand.U32(rows), left)
	e.loop("roots", left, func() { e.rootRow(before, stride) })
	e.end()
}

// partRows is the number of rows of a part.
func (e *emitter) partRows() int { return e.distShape().rows / e.rootParts() }

// rootName tells the variants of a routine apart.
func rootName(name string, early int) string {
	if early == 0 {
		return name
	}
	return name + string(rune('0'+early))
}

// rootRow takes the roots of a row of a micro-tile and goes on to the next.
func (e *emitter) rootRow(tile, stride reg.GPVirtual) {
	for j := range e.distShape().vecs {
		e.rootInPlace(at(tile, j*e.bytes))
	}
	e.ADDQ(stride, tile)
}

// rootInPlace takes the roots of a vector in memory. Two roots of half a vector
// cost the other units less than one of a whole one, by a cycle.
func (e *emitter) rootInPlace(m operand.Mem) {
	for range e.bytes / 32 {
		v := e.YMM()
		e.pick(e.VSQRTPS, e.VSQRTPD)(m, v)
		e.VMOVUPS(v, m)
		m.Disp += 32
	}
}

// rootedTile sums a micro-tile and takes the roots of rows of the one before.
func (e *emitter) rootedTile(p tilePart, before reg.GPVirtual, rows int) {
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
	e.MOVQ(operand.U32(rows), due)
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
		e.rootInPlace(at(before, term*e.bytes))
		e.distStep(acc[half:], func(i int) operand.Mem { return xi(half + i) }, xj)
		term++
	}
}

// lines is a loop over the rows of part 0 of all micro-tiles.
type lines struct {
	e             *emitter
	left, panels  reg.GPVirtual
	top, panelTop string
}

// newLines starts the loop.
func (e *emitter) newLines() *lines {
	l := &lines{e: e, left: e.GP64(), panels: e.quotient(e.arg("rows"), e.distShape().rows)}
	l.top, l.panelTop = e.label("line"), e.label("tile")
	e.Label(l.panelTop)
	e.MOVQ(operand.U32(e.partRows()), l.left)
	e.Label(l.top)
	return l
}

// next moves on to the next row: advance(1), and after the last row of a part
// advance beyond the other parts, then last where that was the last of all.
func (l *lines) next(advance func(rows int), last func()) {
	e := l.e
	same := e.label("same")
	advance(1)
	e.DECQ(l.left)
	e.JNE(operand.LabelRef(same))
	advance((e.rootParts() - 1) * e.partRows())
	e.DECQ(l.panels)
	last()
	e.Label(same)
}

// end closes the loop.
func (l *lines) end() {
	e := l.e
	e.TESTQ(l.left, l.left)
	e.JNE(operand.LabelRef(l.top))
	e.TESTQ(l.panels, l.panels)
	e.JNE(operand.LabelRef(l.panelTop))
}

// partStrides returns the bytes of a part, and of three if there are so many.
func (e *emitter) partStrides(stride reg.GPVirtual) (part, part3 reg.GPVirtual) {
	part = e.times(stride, e.partRows())
	if e.rootParts() > 3 {
		part3 = e.times(part, 3)
	}
	return part, part3
}

// elementwiseRoots is elementwise for a tile that distRoot left: it takes the
// same width vectors of the rows of all parts, and the roots that are still to
// be taken one turn ahead, spread over the turn.
func (e *emitter) elementwiseRoots(early, width int, fn func(table, []vec) []vec) {
	row, first, stride := e.arg("buf"), e.arg("buf"), e.bytesOf(e.arg("cols"))
	part, part3 := e.partStrides(stride)
	mem := func(base reg.GPVirtual, i, disp int) operand.Mem {
		return e.row(base, part, part3, i/width, disp+i%width*e.bytes)
	}
	t, turns := e.table(), e.quotient(e.arg("cols"), width*e.lanes())
	e.DECQ(turns)
	ahead := e.newVecs((e.rootParts() - early) * width)
	fetch := func(base reg.GPVirtual, disp int) {
		for i, v := range ahead {
			e.spread = append(e.spread, func() { e.sqrt(mem(base, early*width+i, disp), v) })
		}
	}
	finish := func(p reg.GPVirtual, fetchNext func()) {
		r := e.newVecs(e.rootParts() * width)
		for i := range r {
			if k := i - early*width; k >= 0 {
				e.move(ahead[k], r[i])
			} else {
				e.load(mem(p, i, 0), r[i])
			}
		}
		fetchNext()
		h := fn(t, r)
		e.flush()
		for i, k := range h {
			e.store(k, mem(p, i, 0))
		}
	}
	fetch(row, 0)
	e.flush()
	l := e.newLines()
	p, count := e.copyOf(row), e.copyOf(turns)
	e.loop("turn", count, func() {
		finish(p, func() { fetch(p, width*e.bytes) })
		e.inc(width*e.bytes, p)
	})
	l.next(func(rows int) { e.ADDQ(e.times(stride, rows), row) },
		func() { e.CMOVQEQ(first, row) }) // after the last row something must be read, too
	finish(p, func() { fetch(row, 0) })
	l.end()
	e.end()
}

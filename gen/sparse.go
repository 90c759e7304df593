package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The routines of asm/sparse.go: an entry of W takes a row of the dense block,
// 64 bytes.

// sparse emits gatherRows and scatterRows.
func sparse(e *emitter) {
	e.sparseRows("GatherRows", e.gatherRow)
	e.sparseRows("ScatterRows", e.scatterRow)
}

// A sparsePlace holds the pointers of a row: x and y of the dense blocks, one
// indexed and one that moves on; w and idx stand at the row's first entry.
type sparsePlace struct {
	indexed, moving, w, idx, groups reg.GPVirtual
}

// sparseRows emits the loop over the rows.
func (e *emitter) sparseRows(name string, body func(p sparsePlace)) {
	e.begin(name, "func(y, w *float64, idx *int32, x *float64, rows, width int)", "works like generic"+name+".")
	p := sparsePlace{indexed: e.arg("x"), moving: e.arg("y"), w: e.arg("w"), idx: e.arg("idx"), groups: e.arg("width")}
	if name == "ScatterRows" {
		p.indexed, p.moving = p.moving, p.indexed
	}
	e.SHRQ(operand.Imm(2), p.groups)
	rows := e.arg("rows")
	e.loop("row", rows, func() {
		body(p)
		e.inc(block, p.moving)
	})
	e.end()
}

// row returns a pointer to the row of the indexed block that entry k names.
func (p sparsePlace) row(e *emitter, k int) reg.GPVirtual {
	r := e.GP64()
	e.MOVL(at(p.idx, k*4), r.As32())
	e.SHLQ(operand.Imm(uint64(log2(block))), r)
	e.ADDQ(p.indexed, r)
	return r
}

// entries emits first for entry 0 of a row and other for the rest, by groups of
// four; the pointers then stand at the next row.
func (p sparsePlace) entries(e *emitter, first, other func(k int)) {
	first(0)
	e.inc(8, p.w)
	e.inc(4, p.idx)
	n, done := e.copyOf(p.groups), e.label("rowEnd")
	e.TESTQ(n, n)
	e.JE(operand.LabelRef(done))
	e.loop("entries", n, func() {
		for k := range 4 {
			other(k)
		}
		e.inc(4*8, p.w)
		e.inc(4*4, p.idx)
	})
	e.Label(done)
}

func (e *emitter) gatherRow(p sparsePlace) {
	acc := make([][]vec, 4)
	for s := range acc {
		acc[s] = e.newVecs(block / e.bytes)
		if s > 0 {
			e.zero(acc[s]...)
		}
	}
	p.entries(e, func(k int) {
		r, w := p.row(e, k), e.newVec()
		e.bcast(at(p.w, k*8), w)
		for h, a := range acc[0] {
			e.mul(at(r, h*e.bytes), w, a)
		}
	}, func(k int) {
		r, w := p.row(e, k), e.newVec()
		e.bcast(at(p.w, k*8), w)
		for h, a := range acc[(k+1)%4] {
			e.fma(at(r, h*e.bytes), w, a)
		}
	})
	for h := range acc[0] {
		e.add(acc[2][h], acc[0][h], acc[0][h])
		e.add(acc[3][h], acc[1][h], acc[1][h])
		e.add(acc[1][h], acc[0][h], acc[0][h])
		e.store(acc[0][h], at(p.moving, h*e.bytes))
	}
}

func (e *emitter) scatterRow(p sparsePlace) {
	x := e.newVecs(block / e.bytes)
	for h, v := range x {
		e.load(at(p.moving, h*e.bytes), v)
	}
	one := func(k int) {
		r, w := p.row(e, k), e.newVec()
		e.bcast(at(p.w, k*8), w)
		for h, v := range x {
			y := e.newVec()
			e.load(at(r, h*e.bytes), y)
			e.fma(v, w, y)
			e.store(y, at(r, h*e.bytes))
		}
	}
	p.entries(e, one, one)
}

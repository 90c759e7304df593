package main

import "github.com/mmcloughlin/avo/operand"

// withinStep is the number of elements whose bits make a word of the mask.
const withinStep = 32

// within compares 32 elements of a row a turn.
func (e *emitter) within() {
	const notLess = 5 // predicate NLT_US: true for NaN
	e.begin("Within", "func(mask *uint32, tile, limit *float32, rows, cols int)", "works like genericWithin.")
	mask, tile, limit, rows := e.arg("mask"), e.arg("tile"), e.arg("limit"), e.arg("rows")
	words := e.quotient(e.arg("cols"), withinStep)
	e.loop("row", rows, func() {
		bound, left := e.newVec(), e.copyOf(words)
		e.VBROADCASTSS(at(limit, 0), bound)
		e.loop("word", left, func() {
			for i := 0; i < withinStep; i += e.bytes / 4 {
				x, out := at(tile, 4*i), at(mask, i/8)
				if e.wide() {
					k := e.K()
					e.VCMPPS(operand.Imm(notLess), x, bound, k)
					e.KMOVW(k, out)
					continue
				}
				v, bits := e.newVec(), e.GP32()
				e.VCMPPS(operand.Imm(notLess), x, bound, v)
				e.VMOVMSKPS(v, bits)
				e.MOVB(bits.As8(), out)
			}
			e.inc(4*withinStep, tile)
			e.inc(withinStep/8, mask)
		})
		e.inc(4, limit)
	})
	e.end()
}

package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Sizes of the micro-tile of Gemm, as in ../asm/dense.go: its rows, and the bytes
// of a row of B, 24 float64 or 48 float32.
const (
	gemmRows  = 8
	gemmBytes = 192
	lineBytes = 64 // a line of the cache, a row of a panel of B
)

// A gemmShape is the part of the micro-tile that the registers hold: rows by
// vectors, with one accumulator each. AVX2: 4×3 accumulators, 3 vectors of B and
// one element of A fill 16 registers; AVX-512: 8×3, all of the tile.
type gemmShape struct{ rows, vecs int }

func (e *emitter) gemmShape() gemmShape {
	if e.wide() {
		return gemmShape{8, 3}
	}
	return gemmShape{4, 3}
}

// What the loops of gemmPart ask for ahead of time.
const (
	gemmUnroll     = 4
	gemmAhead      = 512 // bytes of A, which comes from the second cache
	gemmAheadB     = 5   // rows of B, for AVX2
	gemmAheadPanel = 16  // rows of the panels of B, for AVX-512
	gemmAsk        = 3   // turns that ask for a row of C
	gemmLate       = 8   // turns left when the last row of C has been asked for
)

// gemm: C = alpha A B or C += alpha A B, A and B of the element type, C float64. A row
// of B is either in one place, or in three panels of a line each.
func (e *emitter) gemm(name string, panels bool) {
	e.begin(name, "func(c *float64, ldc int, a, b, next *T, k int, alpha float64, add int)",
		"works like generic"+name+".")
	s := e.gemmShape()
	stride := e.arg("ldc")
	e.SHLQ(operand.Imm(3), stride)
	for row := 0; row < gemmRows; row += s.rows {
		for col := 0; col < gemmBytes/e.size; col += s.vecs * e.lanes() {
			e.Commentf("rows from %d, columns from %d", row, col)
			c, x := e.arg("c"), gemmOperands{a: e.arg("a"), b: e.arg("b"), first: col * e.size}
			if row > 0 {
				e.ADDQ(e.times(stride, row), c)
			}
			if row+col > 0 {
				e.inc(8*col, c)
				e.inc(row*e.size, x.a)
			}
			if panels {
				x.panel = e.arg("k")
				e.SHLQ(operand.Imm(uint64(log2(lineBytes))), x.panel)
			}
			if panels && row+col == 0 {
				x.next = e.arg("next")
			}
			e.gemmPart(x, c, stride)
		}
	}
	e.end()
}

// gemmOperands are what the loops over the depth read.
type gemmOperands struct {
	a, b  reg.GPVirtual
	first int           // byte of a row of B that the part begins with
	panel reg.GPVirtual // bytes from a panel of B to the next; nil: rows are in one place
	next  reg.GPVirtual // A to ask for, or nil
}

// rowB is the number of bytes from a row of B to the next.
func (x gemmOperands) rowB() int {
	if x.panel != nil {
		return lineBytes
	}
	return gemmBytes
}

// memB is the memory of a row of B from a byte of the part on.
func (x gemmOperands) memB(row, disp int) operand.Mem {
	disp += x.first
	if x.panel == nil || disp < lineBytes {
		return at(x.b, row*x.rowB()+disp)
	}
	return atIdx(x.b, x.panel, uint8(disp/lineBytes), row*x.rowB()+disp%lineBytes)
}

// gemmPart sums one part over the depth. Three loops follow each other: first
// without C; then each turn asks for a row of C, late enough that A and B do not
// drive it out of the first cache again; then what is left.
func (e *emitter) gemmPart(x gemmOperands, c, stride reg.GPVirtual) {
	s := e.gemmShape()
	acc := e.newTile(s.rows, s.vecs)
	for _, row := range acc {
		e.zero(row...)
	}
	turns, count := e.arg("k"), e.GP64()
	start, late, rest, done := e.label("turns"), e.label("late"), e.label("rest"), e.label("store")
	e.MOVQ(turns, count)
	e.ANDQ(operand.U32(gemmUnroll-1), count)
	e.JE(operand.LabelRef(start))
	e.gemmTurns(acc, x, count, 1, nil)
	e.Label(start)
	e.SHRQ(operand.Imm(uint64(log2(gemmUnroll))), turns)
	e.JE(operand.LabelRef(done))
	e.MOVQ(turns, count)
	e.SUBQ(operand.U32(gemmAsk*s.rows+gemmLate), count)
	e.JLE(operand.LabelRef(late))
	e.SUBQ(count, turns)
	e.gemmTurns(acc, x, count, gemmUnroll, nil)
	e.Label(late)
	e.IMUL3Q(operand.U32((1<<9+gemmAsk-1)/gemmAsk), turns, count) // turns / gemmAsk
	e.SHRQ(operand.Imm(9), count)
	most := e.GP64()
	e.MOVQ(operand.U32(s.rows), most)
	e.CMPQ(most, count)
	e.CMOVQLT(most, count)
	e.IMUL3Q(operand.U32(gemmAsk), count, most)
	e.SUBQ(most, turns)
	e.TESTQ(count, count)
	e.JE(operand.LabelRef(rest))
	row, lines := e.copyOf(c), s.vecs*8/e.size // C is wider than B where that is float32
	e.gemmTurns(acc, x, count, gemmAsk*gemmUnroll, func(k int) {
		if every := gemmAsk * gemmUnroll / lines; k%every == 0 {
			e.PREFETCHT0(at(row, k/every*e.bytes))
		}
		if k == gemmAsk*gemmUnroll-1 {
			e.ADDQ(stride, row)
		}
	})
	e.Label(rest)
	e.TESTQ(turns, turns)
	e.JE(operand.LabelRef(done))
	e.gemmTurns(acc, x, turns, gemmUnroll, nil)
	e.Label(done)
	e.gemmStore(acc, c, stride)
}

// gemmTurns emits count turns of width steps each.
func (e *emitter) gemmTurns(acc [][]vec, x gemmOperands, count reg.GPVirtual, width int, ask func(k int)) {
	e.loop("depth", count, func() {
		for k := range width {
			if ask != nil {
				ask(k)
			}
			if x.next != nil && k%gemmUnroll == gemmUnroll-1 {
				e.PREFETCHT0(at(x.next, 0))
				e.inc(lineBytes, x.next)
			}
			switch {
			case e.wide() && k*gemmRows*e.size%lineBytes == 0:
				e.PREFETCHT0(at(x.a, k*gemmRows*e.size+gemmAhead))
			case !e.wide() && k%2 == 0:
				e.PREFETCHT0(x.memB(k+gemmAheadB, 0))
			}
			if j := k % gemmUnroll; e.wide() && x.panel != nil && j < len(acc[0]) {
				// A line of each panel in a turn: the processor adds those behind it.
				e.PREFETCHT0(x.memB(k-j+gemmAheadPanel, j*lineBytes))
			}
			e.gemmStep(acc, func(i int) operand.Mem { return at(x.a, (k*gemmRows+i)*e.size) },
				func(j int) operand.Mem { return x.memB(k, j*e.bytes) })
		}
		e.inc(width*gemmRows*e.size, x.a)
		e.inc(width*x.rowB(), x.b)
	})
}

// gemmStep adds the products of one step. AVX-512 takes three of the eight
// elements of A from memory within the multiply-adds: fewer instructions, and
// still no more than two loads for every two of them.
func (e *emitter) gemmStep(acc [][]vec, a, b func(int) operand.Mem) {
	bv := e.newVecs(len(acc[0]))
	for j := range bv {
		e.load(b(j), bv[j])
	}
	for i, row := range acc {
		if e.wide() && i*3/8 != (i+1)*3/8 {
			for j := range bv {
				e.pick(e.VFMADD231PS_BCST, e.VFMADD231PD_BCST)(a(i), bv[j], row[j])
			}
			continue
		}
		x := e.newVec()
		e.bcast(a(i), x)
		for j := range bv {
			e.fma(bv[j], x, row[j])
		}
	}
}

// gemmStore adds the sums times alpha to C, or sets C.
func (e *emitter) gemmStore(acc [][]vec, c, stride reg.GPVirtual) {
	set, stored := e.label("set"), e.label("stored")
	m, err := e.Param("alpha").Resolve()
	if err != nil {
		panic(err)
	}
	alpha := e.newVec()
	e.VBROADCASTSD(m.Addr, alpha)
	add := e.arg("add")
	e.TESTQ(add, add)
	e.JE(operand.LabelRef(set))
	e.gemmRows(acc, e.copyOf(c), stride, func(m operand.Mem, v vec) {
		e.VFMADD213PD(m, alpha, v)
		e.store(v, m)
	})
	e.JMP(operand.LabelRef(stored))
	e.Label(set)
	e.gemmRows(acc, e.copyOf(c), stride, func(m operand.Mem, v vec) {
		e.VMULPD(alpha, v, v)
		e.store(v, m)
	})
	e.Label(stored)
}

// gemmRows calls f for every vector of the sums in float64 and its place in C.
// It uses up the vectors.
func (e *emitter) gemmRows(acc [][]vec, c, stride reg.GPVirtual, f func(operand.Mem, vec)) {
	for i, row := range acc {
		for j, v := range row {
			if e.size == 8 {
				f(at(c, j*e.bytes), v)
				continue
			}
			low := e.newVec()
			e.VCVTPS2PD(e.half(v), low)
			f(at(c, 2*j*e.bytes), low)
			e.upperHalf(v)
			e.VCVTPS2PD(e.half(v), v)
			f(at(c, (2*j+1)*e.bytes), v)
		}
		if i < len(acc)-1 {
			e.ADDQ(stride, c)
		}
	}
}

// half is the lower half of a vector as a register of its own.
func (e *emitter) half(v vec) reg.Register {
	if e.wide() {
		return v.AsY()
	}
	return v.AsX()
}

// upperHalf moves the upper half of a vector to its lower half.
func (e *emitter) upperHalf(v vec) {
	if e.wide() {
		e.VEXTRACTF64X4(operand.Imm(1), v, v.AsY())
	} else {
		e.VEXTRACTF128(operand.Imm(1), v, v.AsX())
	}
}

// peakFMAs is the number of independent vector FMAs in a round of peak: enough
// to hide the latency of two pipes. The package gets it as a constant.
const peakFMAs = 12

// peak runs n rounds of independent fused multiply-adds.
func (e *emitter) peak() {
	e.begin(fmt.Sprintf("PeakF%d", e.bits()), "func(n int)",
		fmt.Sprintf("runs n rounds of %d independent vector FMAs.", peakFMAs))
	acc, x := e.newVecs(peakFMAs), e.newVec()
	e.zero(acc...)
	e.zero(x)
	n := e.arg("n")
	e.loop("round", n, func() {
		for _, a := range acc {
			e.fma(x, x, a)
		}
	})
	e.end()
}

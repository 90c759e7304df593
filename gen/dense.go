package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The routines of asm/dense.go; the product is in gemm.go.
const (
	triUnit   = 24 // unknowns of TriSolve
	transRows = 8  // rows of Transpose
)

// triSolve: lanes run across right-hand sides. The unknowns of a vector of them
// are held in registers, all 24 with AVX-512, 12 at a time with AVX2.
func (e *emitter) triSolve() {
	e.begin("TriSolve", "func(x *float64, stride int, l *float64)", "works like genericTriSolve.")
	x, l := e.arg("x"), e.arg("l")
	stride := e.bytesOf(e.arg("stride"))
	count := e.GP64()
	e.MOVQ(operand.U64(gemmBytes/e.bytes), count)
	group := triUnit
	if !e.wide() {
		group = triUnit / 2
	}
	e.loop("lanes", count, func() {
		for g := 0; g < triUnit; g += group {
			rows := e.newVecs(group)
			p := e.copyOf(x)
			if g > 0 {
				e.ADDQ(e.times(stride, g), p)
			}
			first := e.copyOf(p)
			for _, r := range rows {
				e.load(at(p, 0), r)
				e.ADDQ(stride, p)
			}
			e.triEarlier(rows, e.copyOf(x), stride, l, g)
			e.triGroup(rows, first, stride, l, g)
		}
		e.inc(e.bytes, x)
	})
	e.end()
}

// triEarlier subtracts the terms of the unknowns before g, which are in memory.
func (e *emitter) triEarlier(rows []vec, p, stride, l reg.GPVirtual, g int) {
	for r := range g {
		x, c := e.newVec(), e.newVec()
		e.load(at(p, 0), x)
		e.ADDQ(stride, p)
		for k, row := range rows {
			e.bcast(at(l, (r*triUnit+g+k)*e.size), c)
			e.VFNMADD231PD(c, x, row)
		}
	}
}

// triGroup solves for the unknowns from g on and stores them.
func (e *emitter) triGroup(rows []vec, p, stride, l reg.GPVirtual, g int) {
	for r, x := range rows {
		diag := e.newVec()
		e.bcast(at(l, ((g+r)*triUnit+g+r)*e.size), diag)
		e.mul(diag, x, x)
		e.store(x, at(p, 0))
		e.ADDQ(stride, p)
		for k := r + 1; k < len(rows); k++ {
			m := at(l, ((g+r)*triUnit+g+k)*e.size)
			if e.wide() {
				e.VFNMADD231PD_BCST(m, x, rows[k])
				continue
			}
			c := e.newVec()
			e.bcast(m, c)
			e.VFNMADD231PD(c, x, rows[k])
		}
	}
}

// transpose: squares of 8×8 numbers, or 4×4 float64 in short vectors. Eight
// float32 fill a short vector, so that no target needs its long ones for them.
func (e *emitter) transpose() {
	if e.size == 4 && e.wide() {
		short := *e
		short.bytes, short.target.vec = 32, (*build.Context).YMM
		e = &short
	}
	e.begin("Transpose", "func(dst *T, dstStride int, src *T, srcStride, n int)", "works like genericTranspose.")
	dst, src := e.arg("dst"), e.arg("src")
	dstStride, srcStride := e.bytesOf(e.arg("dstStride")), e.bytesOf(e.arg("srcStride"))
	count := e.quotient(e.arg("n"), e.lanes())
	e.loop("square", count, func() {
		from := e.copyOf(src)
		for i := 0; i < transRows; i += e.lanes() {
			v := e.newVecs(e.lanes())
			for _, x := range v {
				e.load(at(from, 0), x)
				e.ADDQ(srcStride, from)
			}
			to := e.copyOf(dst)
			for _, x := range e.square(v) {
				e.store(x, at(to, i*e.size))
				e.ADDQ(dstStride, to)
			}
		}
		e.ADDQ(e.times(dstStride, e.lanes()), dst)
		e.inc(e.bytes, src)
	})
	e.end()
}

// square returns the columns of the square whose rows are v.
func (e *emitter) square(v []vec) []vec {
	if e.size == 4 {
		even, odd := e.pairs(v, e.VUNPCKLPS, e.VUNPCKHPS)
		// Columns 0, 1 and 2, 3 of two rows, interleaved: take them for float64.
		c0, c1 := e.pairs(even, e.VUNPCKLPD, e.VUNPCKHPD)
		c2, c3 := e.pairs(odd, e.VUNPCKLPD, e.VUNPCKHPD)
		out := make([]vec, len(v))
		for k, c := range [][]vec{c0, c1, c2, c3} {
			q := e.quarters(c)
			out[k], out[4+k] = q[0], q[1]
		}
		return out
	}
	even, odd := e.pairs(v, e.VUNPCKLPD, e.VUNPCKHPD)
	out := make([]vec, len(v))
	for k, c := range [][]vec{even, odd} {
		for i, q := range e.quarters(c) {
			out[2*i+k] = q
		}
	}
	return out
}

// pairs interleaves the lower and the upper halves of pairs of vectors, in
// every 128 bits.
func (e *emitter) pairs(v []vec, lower, upper func(...operand.Op)) (lo, hi []vec) {
	for i := 0; i < len(v); i += 2 {
		l, h := e.newVec(), e.newVec()
		lower(v[i+1], v[i], l)
		upper(v[i+1], v[i], h)
		lo, hi = append(lo, l), append(hi, h)
	}
	return lo, hi
}

// quarters transposes a square of 128-bit pieces, 2×2 or 4×4.
func (e *emitter) quarters(v []vec) []vec {
	if len(v) == 2 {
		a, b := e.newVec(), e.newVec()
		e.VPERM2F128(operand.Imm(0x20), v[1], v[0], a)
		e.VPERM2F128(operand.Imm(0x31), v[1], v[0], b)
		return []vec{a, b}
	}
	split := func(a, b vec) (even, odd vec) {
		even, odd = e.newVec(), e.newVec()
		e.VSHUFF64X2(operand.Imm(0x88), b, a, even)
		e.VSHUFF64X2(operand.Imm(0xdd), b, a, odd)
		return even, odd
	}
	e0, o0 := split(v[0], v[1])
	e1, o1 := split(v[2], v[3])
	c0, c2 := split(e0, e1)
	c1, c3 := split(o0, o1)
	return []vec{c0, c1, c2, c3}
}

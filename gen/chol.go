package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The routines of asm/cholbatch.go. An element of the interleaved triangle is
// the same element of eight matrices, a block of 64 bytes: one vector of
// AVX-512, two of AVX2, which then factors the two halves one after the other.

// cholUnit is the number of rows that cholRows factors.
const cholUnit = 4

// cholesky emits the routines of CholBatch.
func cholesky(e *emitter) {
	e.cholRows()
	e.cholLast()
}

// fnma sets acc -= a b.
func (e *emitter) fnma(a, b operand.Op, acc vec) { e.pick(e.VFNMADD231PS, e.VFNMADD231PD)(a, b, acc) }

// triangle returns a pointer to row r of the triangle at a: r(r+1)/2 blocks on.
func (e *emitter) triangle(a, r reg.GPVirtual) reg.GPVirtual {
	p := e.GP64()
	e.LEAQ(operand.Mem{Base: r, Disp: 1}, p)
	e.IMULQ(r, p)
	e.SHLQ(operand.Imm(uint64(log2(block/2))), p)
	e.ADDQ(a, p)
	return p
}

// nextRows returns pointers to row, of row number r, and the n-1 rows after it;
// r64 is r·block.
func (e *emitter) nextRows(row, r64 reg.GPVirtual, n int) []reg.GPVirtual {
	rows := []reg.GPVirtual{row}
	for i := 1; i < n; i++ {
		p := e.GP64()
		e.LEAQ(atIdx(rows[i-1], r64, 1, i*block), p)
		rows = append(rows, p)
	}
	return rows
}

// upTo emits body, for k = 0, 2·block, .. up to end, a multiple of 2·block.
func (e *emitter) upTo(name string, end reg.GPVirtual, body func(k reg.GPVirtual)) {
	k, top, done := e.GP64(), e.label(name), e.label(name+"End")
	e.XORQ(k, k)
	e.TESTQ(end, end)
	e.JE(operand.LabelRef(done))
	e.Label(top)
	body(k)
	e.inc(2*block, k)
	e.CMPQ(k, end)
	e.JLT(operand.LabelRef(top))
	e.Label(done)
}

// ones returns a vector of ones.
func (e *emitter) ones() vec {
	one, x, v := e.GP64(), e.XMM(), e.newVec()
	e.MOVQ(operand.U64(0x3ff0000000000000), one)
	e.VMOVQ(one, x)
	e.VBROADCASTSD(x, v)
	return v
}

// cholRows: blocks of four rows by 4 (AVX-512) or 2 (AVX2) columns to the left
// of the diagonal, then the triangle of four rows on it.
func (e *emitter) cholRows() {
	e.begin("CholRows", "func(a, tau *float64, i int)", "works like genericCholRows.")
	cols := 2
	if e.wide() {
		cols = 4
	}
	a, tau, i := e.arg("a"), e.arg("tau"), e.arg("i")
	row := e.triangle(a, i)
	e.SHLQ(operand.Imm(uint64(log2(block))), i)
	e.ADDQ(i, tau)
	halves := e.GP64()
	e.MOVQ(operand.U32(block/e.bytes), halves)
	e.loop("half", halves, func() {
		rows := e.nextRows(row, i, cholUnit)
		s, j := e.copyOf(a), e.GP64()
		e.XORQ(j, j)
		left, diag := e.label("left"), e.label("diag")
		e.TESTQ(i, i)
		e.JE(operand.LabelRef(diag))
		e.Label(left)
		others := e.nextRows(s, j, cols)
		e.cholLeft(rows, others, j)
		e.LEAQ(atIdx(others[cols-1], j, 1, cols*block), s)
		e.inc(cols*block, j)
		e.CMPQ(j, i)
		e.JLT(operand.LabelRef(left))
		e.Label(diag)
		e.cholDiag(rows, i, tau)
		if !e.wide() {
			e.Comment("the other half of the lanes")
			for _, p := range []reg.GPVirtual{a, row, tau} {
				e.inc(e.bytes, p)
			}
		}
	})
	e.end()
}

// cholLeft solves for the columns of others, from j (in bytes) on.
func (e *emitter) cholLeft(rows, others []reg.GPVirtual, j reg.GPVirtual) {
	acc := make([][]vec, len(rows))
	for r := range rows {
		acc[r] = e.newVecs(len(others))
		for c, v := range acc[r] {
			e.load(atIdx(rows[r], j, 1, c*block), v)
		}
	}
	e.upTo("left", j, func(k reg.GPVirtual) {
		for u := range 2 {
			x := e.newVecs(len(rows))
			for r := range rows {
				e.load(atIdx(rows[r], k, 1, u*block), x[r])
			}
			for c := range others {
				y := e.newVec()
				e.load(atIdx(others[c], k, 1, u*block), y)
				for r := range rows {
					e.fnma(x[r], y, acc[r][c])
				}
			}
		}
	})
	for c := range others {
		for k := range c + 1 {
			y := e.newVec()
			e.load(atIdx(others[c], j, 1, k*block), y)
			for r := range rows {
				if k < c {
					e.fnma(acc[r][k], y, acc[r][c])
				} else {
					e.mul(acc[r][c], y, acc[r][c])
				}
			}
		}
		for r := range rows {
			e.store(acc[r][c], atIdx(rows[r], j, 1, c*block))
		}
	}
}

// cholDiag factors the triangle on the diagonal, in column i (in bytes).
func (e *emitter) cholDiag(rows []reg.GPVirtual, i, tau reg.GPVirtual) {
	acc := make([][]vec, len(rows))
	for r := range rows {
		acc[r] = e.newVecs(r + 1)
		for c, v := range acc[r] {
			e.load(atIdx(rows[r], i, 1, c*block), v)
		}
	}
	e.upTo("diag", i, func(k reg.GPVirtual) {
		for u := range 2 {
			x := e.newVecs(len(rows))
			for r := range rows {
				e.load(atIdx(rows[r], k, 1, u*block), x[r])
				for c := range r + 1 {
					e.fnma(x[r], x[c], acc[r][c])
				}
			}
		}
	})
	for c := range rows {
		for k := range c {
			for r := c; r < len(rows); r++ {
				e.fnma(acc[r][k], acc[c][k], acc[r][c])
			}
		}
		e.cholPivot(acc[c][c], at(tau, c*block))
		for r := c; r < len(rows); r++ {
			if r > c {
				e.mul(acc[r][c], acc[c][c], acc[r][c])
			}
			e.store(acc[r][c], atIdx(rows[r], i, 1, c*block))
		}
	}
}

// cholPivot sets d = 1/√d where d > tau, 0 elsewhere.
func (e *emitter) cholPivot(d vec, tau operand.Mem) {
	const greater = 0x1e // ordered, quiet
	t := e.newVec()
	e.load(tau, t)
	if e.wide() {
		k := e.K()
		e.VCMPPD(operand.Imm(greater), t, d, k)
		e.sqrt(d, d)
		e.VDIVPD_Z(d, e.ones(), k, d)
		return
	}
	e.VCMPPD(operand.Imm(greater), t, d, t)
	e.sqrt(d, d)
	e.div(e.ones(), d, d)
	e.VANDPD(t, d, d)
}

// cholLast works on both halves at once: one row alone has too few independent
// sums.
func (e *emitter) cholLast() {
	e.begin("CholLast", "func(a, tau *float64, n int)", "works like genericCholLast.")
	a, tau, end := e.arg("a"), e.arg("tau"), e.arg("n")
	e.DECQ(end)
	row := e.triangle(a, end)
	e.SHLQ(operand.Imm(uint64(log2(block))), end)
	e.ADDQ(end, tau)
	d := e.newVecs(block / e.bytes)
	for h := range d {
		e.load(atIdx(row, end, 1, h*e.bytes), d[h])
	}
	e.TESTQ(end, end)
	e.JE(operand.LabelRef("pivot"))
	e.Comment("forward: four columns at a time, their squares off the pivot")
	s, j := e.copyOf(a), e.GP64()
	e.XORQ(j, j)
	e.Label("forward")
	others := e.nextRows(s, j, cholUnit)
	e.cholForward(row, others, j, d)
	e.LEAQ(atIdx(others[cholUnit-1], j, 1, cholUnit*block), s)
	e.inc(cholUnit*block, j)
	e.CMPQ(j, end)
	e.JLT(operand.LabelRef("forward"))

	e.Label("pivot")
	for h := range d {
		t := e.newVec()
		e.load(at(tau, h*e.bytes), t)
		e.VMAXPD(t, d[h], d[h]) // the second source, tau, where the pivot is NaN
		e.sqrt(d[h], d[h])
		e.div(e.ones(), d[h], d[h])
		e.store(d[h], atIdx(row, end, 1, h*e.bytes))
	}
	e.Comment("backward: four rows at a time, times -1/√v")
	for h := range d {
		zero := e.newVec()
		e.zero(zero)
		e.sub(zero, d[h], d[h])
	}
	e.TESTQ(end, end)
	e.JE(operand.LabelRef("done"))
	e.Label("backward")
	e.SUBQ(operand.U32(cholUnit*block), end)
	r := e.copyOf(end)
	e.SHRQ(operand.Imm(uint64(log2(block))), r)
	e.cholBackward(row, e.nextRows(e.triangle(a, r), end, cholUnit), end, d)
	e.TESTQ(end, end)
	e.JNE(operand.LabelRef("backward"))
	e.Label("done")
	e.end()
}

// cholForward solves for four elements of row, from column j (in bytes) on.
func (e *emitter) cholForward(row reg.GPVirtual, others []reg.GPVirtual, j reg.GPVirtual, d []vec) {
	acc := make([][]vec, len(others))
	for c := range acc {
		acc[c] = e.newVecs(len(d))
		for h, v := range acc[c] {
			e.load(atIdx(row, j, 1, c*block+h*e.bytes), v)
		}
	}
	e.upTo("forward", j, func(k reg.GPVirtual) {
		for u := range 2 {
			for h := range d {
				x := e.newVec()
				e.load(atIdx(row, k, 1, u*block+h*e.bytes), x)
				for c := range others {
					e.fnma(atIdx(others[c], k, 1, u*block+h*e.bytes), x, acc[c][h])
				}
			}
		}
	})
	for c := range others {
		for h := range d {
			for k := range c {
				e.fnma(atIdx(others[c], j, 1, k*block+h*e.bytes), acc[k][h], acc[c][h])
			}
			e.mul(atIdx(others[c], j, 1, c*block+h*e.bytes), acc[c][h], acc[c][h])
			e.fnma(acc[c][h], acc[c][h], d[h])
			e.store(acc[c][h], atIdx(row, j, 1, c*block+h*e.bytes))
		}
	}
}

// cholBackward solves for four elements of row, from column j (in bytes) on,
// takes them off those before and multiplies them by scale.
func (e *emitter) cholBackward(row reg.GPVirtual, others []reg.GPVirtual, j reg.GPVirtual, scale []vec) {
	b := make([][]vec, len(others))
	for c := len(others) - 1; c >= 0; c-- {
		b[c] = e.newVecs(len(scale))
		for h, v := range b[c] {
			off := c*block + h*e.bytes
			e.load(atIdx(row, j, 1, off), v)
			for i := len(others) - 1; i > c; i-- {
				e.fnma(atIdx(others[i], j, 1, off), b[i][h], v)
			}
			e.mul(atIdx(others[c], j, 1, off), v, v)
			t := e.newVec()
			e.mul(scale[h], v, t)
			e.store(t, atIdx(row, j, 1, off))
		}
	}
	e.upTo("backward", j, func(k reg.GPVirtual) {
		for u := range 2 {
			for h := range scale {
				off, y := u*block+h*e.bytes, e.newVec()
				e.load(atIdx(row, k, 1, off), y)
				for i := len(others) - 1; i >= 0; i-- {
					e.fnma(atIdx(others[i], k, 1, off), b[i][h], y)
				}
				e.store(y, atIdx(row, k, 1, off))
			}
		}
	})
}

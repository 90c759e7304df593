package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fusedRows is the number of rows that fused takes in step, 2 or 4, by
// measurement: 4 needs the registers of AVX-512, and does not pay where roots
// of float64 are the limit.
func (e *emitter) fusedRows(root bool) int {
	if e.wide() && (e.size == 4 || !root) {
		return 4
	}
	return 2
}

// A fusedLoop holds the registers of one group of rows.
type fusedLoop struct {
	e           *emitter
	f           family
	root        bool // the roots of squares are wanted
	early       int  // leading rows of a group that distRoot left as roots
	p, rows     int
	t           table
	yj, vj      []reg.GPVirtual // one a column
	vi, buf     reg.GPVirtual
	off, stride reg.GPVirtual
	stride3     reg.GPVirtual // of four rows
	part, part3 reg.GPVirtual // rows of a group are so many bytes apart, with early
	apart       int           // and so many rows; else 1
	ahead       []vec         // roots for the next turn
	acc         []vec         // sums of the rows, [row][column]
}

// fused, which reads what cov does, takes the covariances of some rows of a tile, vector after vector of j,
// and uses each at once in both products. The sums of the rows stay in
// registers, those of the columns in memory.
func (e *emitter) fused(f family, p, early int) {
	e.begin(fmt.Sprintf("Fused%d%s", p, f.suffix(early)), "func(yi *float64, yj, buf, vi, vj *T, rows, cols int)",
		fmt.Sprintf("works like genericFused with p = %d%s", p, f.reads(early)))
	yi, bufRow, vi := e.arg("yi"), e.arg("buf"), e.arg("vi")
	l := fusedLoop{e: e, f: f, root: f.root(), early: early, p: p, t: e.table(), vi: vi,
		stride: e.bytesOf(e.arg("cols"))}
	l.rows, l.apart = e.fusedRows(l.root), 1
	if early > 0 {
		l.rows, l.apart = e.rootParts(), e.partRows()
		l.part, l.part3 = e.partStrides(l.stride)
	} else if l.rows == 4 {
		l.stride3 = e.times(l.stride, 3)
	}
	l.yj, l.vj = []reg.GPVirtual{e.arg("yj")}, []reg.GPVirtual{e.arg("vj")}
	if p == 2 {
		l.yj, l.vj = append(l.yj, e.copyOf(l.yj[0])), append(l.vj, e.copyOf(l.vj[0]))
		e.ADDQ(l.stride, l.yj[1])
		e.ADDQ(l.stride, l.vj[1])
	}
	if early > 0 {
		lines := e.newLines()
		l.row(bufRow)
		l.addParts(yi)
		lines.next(func(rows int) {
			e.inc(rows*p*e.size, vi)
			e.inc(rows*p*8, yi)
			e.ADDQ(e.times(e.bytesOf(e.arg("cols")), rows), bufRow)
		}, func() {})
		lines.end()
		e.end()
		return
	}
	groups := e.quotient(e.arg("rows"), l.rows)
	e.Comment("groups of rows")
	e.loop("rows", groups, func() {
		l.row(bufRow)
		l.addSums(yi)
		e.inc(l.rows*p*e.size, vi)
		e.LEAQ(atIdx(bufRow, l.stride, uint8(l.rows), 0), bufRow)
	})
	e.end()
}

// addParts adds the sums of rows that are apart to yi.
func (l *fusedLoop) addParts(yi reg.GPVirtual) {
	e, place := l.e, 0
	e.Comment("sums across lanes, added in float64")
	for acc := l.acc; len(acc) > 0; {
		n := min(len(acc), 4)
		sums := acc[:n:n]
		acc = acc[n:]
		for len(sums) < 4 {
			zero := e.newVec()
			e.zero(zero)
			sums = append(sums, zero)
		}
		s, high := e.sum4(sums), e.XMM()
		if e.wide() {
			e.VEXTRACTF64X2(operand.Imm(1), s.AsY(), high)
		} else {
			e.VEXTRACTF128(operand.Imm(1), s.AsY(), high)
		}
		for _, pair := range []operand.Op{s.AsX(), high} {
			for k := 0; k < 2 && n > 0; k += l.p {
				x, m := pair, at(yi, place*l.apart*l.p*8)
				if l.p == 2 {
					e.VADDPD(m, x, x)
					e.VMOVUPD(x, m)
				} else {
					if k == 1 {
						x = e.XMM()
						e.VPERMILPD(operand.Imm(1), pair, x)
					}
					e.VADDSD(m, x, x)
					e.VMOVSD(x, m)
				}
				place++
				n -= l.p
			}
		}
	}
}

// addSums adds the sums of the rows to yi and goes on to the next rows.
func (l *fusedLoop) addSums(yi reg.GPVirtual) {
	e := l.e
	e.Comment("sums across lanes, added in float64")
	if len(l.acc) == 2 {
		zero := e.newVecs(2)
		e.zero(zero...)
		s := e.sum4(append(l.acc, zero...)).AsX()
		e.VADDPD(at(yi, 0), s, s)
		e.VMOVUPD(s, at(yi, 0))
		e.inc(2*8, yi)
		return
	}
	for acc := l.acc; len(acc) > 0; acc = acc[4:] {
		e.addSums([][]vec{acc[:4]}, yi, nil)
		e.inc(4*8, yi)
	}
}

// row runs over the vectors of a group of rows. The roots of the next vectors
// are taken one turn ahead; cols is at least Pad, so there are two turns or more.
func (l *fusedLoop) row(bufRow reg.GPVirtual) {
	e := l.e
	l.acc, l.ahead = e.newVecs(l.rows*l.p), e.newVecs(l.rows)
	e.zero(l.acc...)
	l.buf, l.off = e.copyOf(bufRow), e.GP64()
	e.XORQ(l.off, l.off)
	l.fetch()
	steps := e.quotient(e.arg("cols"), e.lanes())
	e.DECQ(steps)
	e.loop("vectors", steps, func() { l.turn(true) })
	l.turn(false)
}

// mem is the present place in row i of the group.
func (l *fusedLoop) mem(i int) operand.Mem {
	if l.early > 0 {
		return l.e.row(l.buf, l.part, l.part3, i, 0)
	}
	return l.e.row(l.buf, l.stride, l.stride3, i, 0)
}

// fetch takes the roots at buf, or the squares themselves.
func (l *fusedLoop) fetch() {
	for i, v := range l.ahead {
		m := l.mem(i)
		if l.root && i >= l.early {
			l.e.sqrt(m, v)
		} else {
			l.e.load(m, v)
		}
	}
}

// turn uses one vector of each row.
func (l *fusedLoop) turn(next bool) {
	e := l.e
	r := e.newVecs(l.rows)
	for i := range r {
		e.move(l.ahead[i], r[i])
	}
	if next {
		e.Comment("roots of the next turn")
		e.inc(e.bytes, l.buf)
		l.fetch()
	}
	k := l.f.value(l.t, r)
	e.Comment("both products")
	for c := range l.p {
		y, b := e.newVec(), e.newVec()
		e.load(atIdx(l.yj[c], l.off, 1, 0), y)
		for i := range k {
			e.bcast(at(l.vi, (i*l.apart*l.p+c)*e.size), b)
			e.fma(k[i], b, y)
		}
		e.store(y, atIdx(l.yj[c], l.off, 1, 0))
		e.load(atIdx(l.vj[c], l.off, 1, 0), b)
		for i := range k {
			e.fma(k[i], b, l.acc[i*l.p+c])
		}
	}
	e.inc(e.bytes, l.off)
}

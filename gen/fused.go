package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
)

// fused takes the covariances of some rows of a tile, vector after vector of j,
// and uses each at once in both products. The sums of the rows stay in
// registers, those of the columns in memory.
func (e *emitter) fused(f family, p int) {
	e.begin(fmt.Sprintf("Fused%d%v", p, f), "func(yi *float64, yj, buf, vi, vj *T, rows, cols int)",
		fmt.Sprintf("works like genericFused with p = %d.", p))
	const rows = 2
	yi, yj, bufRow, vi, vj := e.arg("yi"), e.arg("yj"), e.arg("buf"), e.arg("vi"), e.arg("vj")
	stride := e.arg("cols")
	e.SHLQ(operand.Imm(uint64(log2(e.size))), stride)
	groups := e.quotient(e.arg("rows"), rows)
	t := e.table()
	e.Comment("groups of rows")
	e.loop("rows", groups, func() {
		acc := e.newVecs(rows * p)
		e.zero(acc...)
		buf, off := e.copyOf(bufRow), e.GP64()
		e.XORQ(off, off)
		ahead := e.newVecs(rows)
		fetch := func(disp int) {
			for i := range ahead {
				m := at(buf, disp)
				if i == 1 {
					m = atIdx(buf, stride, 1, disp)
				}
				if f.root() {
					e.sqrt(m, ahead[i])
				} else {
					e.load(m, ahead[i])
				}
			}
		}
		use := func(next bool) {
			r := e.newVecs(rows)
			for i := range r {
				e.move(ahead[i], r[i])
			}
			if next {
				e.Comment("roots of the next turn")
				e.inc(e.bytes, buf)
				fetch(0)
			}
			k := f.value(t, r)
			e.Comment("both products")
			for c := range p {
				y, b := e.newVec(), e.newVec()
				my, mv := atIdx(yj, off, 1, 0), atIdx(vj, off, 1, 0)
				if c == 1 {
					// The second column lies one stride on.
					yj2, vj2 := e.copyOf(yj), e.copyOf(vj)
					e.ADDQ(stride, yj2)
					e.ADDQ(stride, vj2)
					my, mv = atIdx(yj2, off, 1, 0), atIdx(vj2, off, 1, 0)
				}
				e.load(my, y)
				for i := range k {
					e.bcast(at(vi, (i*p+c)*e.size), b)
					e.fma(k[i], b, y)
				}
				e.store(y, my)
				e.load(mv, b)
				for i := range k {
					e.fma(k[i], b, acc[i*p+c])
				}
			}
			e.inc(e.bytes, off)
		}
		fetch(0)
		// cols is at least Pad, so there is more than one vector.
		steps := e.quotient(e.arg("cols"), e.lanes())
		e.DECQ(steps)
		e.loop("vectors", steps, func() { use(true) })
		use(false)
		e.Comment("sums across lanes, added in float64")
		if p == 2 {
			e.addSums([][]vec{acc}, yi, nil)
		} else {
			zero := e.newVecs(2)
			e.zero(zero...)
			s := e.sum4([]vec{acc[0], acc[1], zero[0], zero[1]})
			e.VADDPD(at(yi, 0), s.AsX(), s.AsX())
			e.VMOVUPD(s.AsX(), at(yi, 0))
		}
		e.inc(rows*p*8, yi)
		e.inc(rows*p*e.size, vi)
		e.LEAQ(atIdx(bufRow, stride, rows, 0), bufRow)
	})
	e.end()
}

package main

import (
	"github.com/mmcloughlin/avo/operand"
)

// accJ: micro-tiles of 4 columns of V by vectors of j, summed over the rows of
// the tile: AVX2 4x3 accumulators, 3 operands of K, 1 broadcast; AVX-512 4x6,
// 6 and 1.
func (e *emitter) accJ() {
	e.begin("AccJ", "func(yj, k, vi *T, rows, cols, p int)", "works like genericAccJ.")
	vecs := 3
	if e.wide() {
		vecs = 6
	}
	yStrip, kStrip := e.arg("yj"), e.arg("k")
	stride := e.arg("cols")
	strips := e.quotient(stride, vecs*e.lanes())
	e.SHLQ(operand.Imm(uint64(log2(e.size))), stride)
	vStride := e.arg("p")
	e.SHLQ(operand.Imm(uint64(log2(e.size))), vStride)

	e.Comment("strips of j")
	e.loop("strip", strips, func() {
		vi, y := e.arg("vi"), e.copyOf(yStrip)
		groups := e.quotient(e.arg("p"), colUnit)
		e.Comment("four columns")
		e.loop("cols", groups, func() {
			acc := make([][]vec, colUnit)
			for c := range acc {
				acc[c] = e.newVecs(vecs)
			}
			yp := e.copyOf(y)
			for c := range acc {
				for j, a := range acc[c] {
					e.load(at(yp, j*e.bytes), a)
				}
				e.ADDQ(stride, yp)
			}
			k, v := e.copyOf(kStrip), e.copyOf(vi)
			pairs := e.quotient(e.arg("rows"), 2)
			e.loop("rows", pairs, func() {
				for u := range 2 {
					kv := e.newVecs(vecs)
					for j := range kv {
						m := at(k, j*e.bytes)
						if u == 1 {
							m = atIdx(k, stride, 1, j*e.bytes)
						}
						e.load(m, kv[j])
					}
					for c := range acc {
						b, m := e.newVec(), at(v, c*e.size)
						if u == 1 {
							m = atIdx(v, vStride, 1, c*e.size)
						}
						e.bcast(m, b)
						for j := range kv {
							e.fma(kv[j], b, acc[c][j])
						}
					}
				}
				e.LEAQ(atIdx(k, stride, 2, 0), k)
				e.LEAQ(atIdx(v, vStride, 2, 0), v)
			})
			for c := range acc {
				for j, a := range acc[c] {
					e.store(a, at(y, j*e.bytes))
				}
				e.ADDQ(stride, y)
			}
			e.inc(colUnit*e.size, vi)
		})
		e.inc(vecs*e.bytes, yStrip)
		e.inc(vecs*e.bytes, kStrip)
	})
	e.end()
}

// accI: micro-tiles of rows by 4 columns of V, summed over j in lanes, then
// across lanes: AVX2 3x4 accumulators, 3 operands of K, 1 of V; AVX-512 6x4, 6 and 1.
func (e *emitter) accI() {
	e.begin("AccI", "func(yi *float64, k, vj *T, rows, cols, p int)", "works like genericAccI.")
	rows := 3
	if e.wide() {
		rows = 6
	}
	yCol, vCol := e.arg("yi"), e.arg("vj")
	stride := e.arg("cols")
	e.SHLQ(operand.Imm(uint64(log2(e.size))), stride)
	stride3 := e.times(stride, 3)
	yStride := e.arg("p")
	groups := e.quotient(yStride, colUnit)
	e.SHLQ(operand.Imm(3), yStride)

	e.Comment("four columns")
	e.loop("cols", groups, func() {
		kRow, y := e.arg("k"), e.copyOf(yCol)
		count := e.quotient(e.arg("rows"), rows)
		e.loop("rows", count, func() {
			acc := make([][]vec, rows)
			for i := range acc {
				acc[i] = e.newVecs(colUnit)
				e.zero(acc[i]...)
			}
			k, v := e.copyOf(kRow), e.copyOf(vCol)
			k3 := e.GP64()
			if rows > 3 {
				e.LEAQ(atIdx(k, stride3, 1, 0), k3)
			}
			steps := e.quotient(e.arg("cols"), 2*e.lanes())
			e.loop("sum", steps, func() {
				for u := range 2 {
					kv := e.newVecs(rows)
					for i := range kv {
						base := k
						if i >= 3 {
							base = k3
						}
						m := at(base, u*e.bytes)
						if i%3 > 0 {
							m = atIdx(base, stride, uint8(i%3), u*e.bytes)
						}
						e.load(m, kv[i])
					}
					for c := range colUnit {
						x := e.newVec()
						m := at(v, u*e.bytes)
						switch c {
						case 1, 2:
							m = atIdx(v, stride, uint8(c), u*e.bytes)
						case 3:
							m = atIdx(v, stride3, 1, u*e.bytes)
						}
						e.load(m, x)
						for i := range kv {
							e.fma(kv[i], x, acc[i][c])
						}
					}
				}
				e.inc(2*e.bytes, k)
				e.inc(2*e.bytes, v)
				if rows > 3 {
					e.inc(2*e.bytes, k3)
				}
			})
			e.Comment("sums across lanes, added in float64")
			e.addSums(acc, y, yStride)
			if rows > 3 {
				e.ADDQ(stride3, kRow)
			}
			e.ADDQ(stride3, kRow)
		})
		e.inc(colUnit*8, yCol)
		e.LEAQ(atIdx(vCol, stride, 4, 0), vCol)
	})
	e.end()
}

// rowSum sums four rows at a time.
func (e *emitter) rowSum() {
	e.begin("RowSum", "func(dst *float64, k *T, rows, cols int)", "works like genericRowSum.")
	dst, kRow := e.arg("dst"), e.arg("k")
	stride := e.arg("cols")
	count := e.quotient(stride, 2*e.lanes())
	e.SHLQ(operand.Imm(uint64(log2(e.size))), stride)
	stride3 := e.times(stride, 3)
	groups := e.quotient(e.arg("rows"), 4)
	e.loop("rows", groups, func() {
		acc := e.newVecs(8)
		e.zero(acc...)
		k, steps := e.copyOf(kRow), e.copyOf(count)
		e.loop("sum", steps, func() {
			for i, a := range acc {
				disp := i / 4 * e.bytes
				m := [...]operand.Mem{at(k, disp), atIdx(k, stride, 1, disp), atIdx(k, stride, 2, disp), atIdx(k, stride3, 1, disp)}[i%4]
				e.add(m, a, a)
			}
			e.inc(2*e.bytes, k)
		})
		for i := range 4 {
			e.add(acc[4+i], acc[i], acc[i])
		}
		e.addSums([][]vec{acc[:4]}, dst, nil)
		e.inc(4*8, dst)
		e.LEAQ(atIdx(kRow, stride, 4, 0), kRow)
	})
	e.end()
}

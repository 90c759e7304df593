package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The two accumulations of a tile. Their micro-tiles are colUnit columns of V
// by accSpan: vectors of j (accJ) or rows (accI), with one accumulator each,
// accSpan registers for K and one for V. That fills the registers: AVX2
// 4·3 + 3 + 1 = 16, AVX-512 4·6 + 6 + 1 = 31.

func (e *emitter) accSpan() int {
	if e.wide() {
		return 6
	}
	return 3
}

// bytesOf returns a new register with n elements in bytes.
func (e *emitter) bytesOf(n reg.GPVirtual) reg.GPVirtual {
	b := e.copyOf(n)
	e.SHLQ(operand.Imm(uint64(log2(e.size))), b)
	return b
}

// accJ runs over strips of j, and in a strip over groups of columns.
func (e *emitter) accJ() {
	e.begin("AccJ", "func(yj, k, vi *T, rows, cols, p int)", "works like genericAccJ.")
	span := e.accSpan()
	yStrip, kStrip, cols := e.arg("yj"), e.arg("k"), e.arg("cols")
	strips := e.quotient(cols, span*e.lanes())
	stride, vStride := e.bytesOf(cols), e.bytesOf(e.arg("p"))

	e.Comment("strips of j")
	e.loop("strip", strips, func() {
		vi, y := e.arg("vi"), e.copyOf(yStrip)
		groups := e.quotient(e.arg("p"), colUnit)
		e.Comment("four columns")
		e.loop("cols", groups, func() {
			acc := e.newTile(colUnit, span)
			e.eachRow(acc, e.copyOf(y), stride, e.load)
			e.accJSum(acc, e.copyOf(kStrip), e.copyOf(vi), stride, vStride)
			e.eachRow(acc, y, stride, func(m operand.Mem, v vec) { e.store(v, m) })
			e.inc(colUnit*e.size, vi)
		})
		e.inc(span*e.bytes, yStrip)
		e.inc(span*e.bytes, kStrip)
	})
	e.end()
}

// newTile returns rows·cols new vectors.
func (e *emitter) newTile(rows, cols int) [][]vec {
	t := make([][]vec, rows)
	for i := range t {
		t[i] = e.newVecs(cols)
	}
	return t
}

// eachRow calls f for every vector of the tile and its place in memory; p goes
// on by stride from row to row.
func (e *emitter) eachRow(tile [][]vec, p, stride reg.GPVirtual, f func(operand.Mem, vec)) {
	for _, row := range tile {
		for j, v := range row {
			f(at(p, j*e.bytes), v)
		}
		e.ADDQ(stride, p)
	}
}

// accJSum sums a micro-tile of accJ over the rows, two rows a turn.
func (e *emitter) accJSum(acc [][]vec, k, v, stride, vStride reg.GPVirtual) {
	pairs := e.quotient(e.arg("rows"), 2)
	e.loop("rows", pairs, func() {
		for u := range 2 {
			kv := e.newVecs(len(acc[0]))
			for j := range kv {
				e.load(e.row(k, stride, nil, u, j*e.bytes), kv[j])
			}
			for c := range acc {
				b := e.newVec()
				e.bcast(e.row(v, vStride, nil, u, c*e.size), b)
				for j := range kv {
					e.fma(kv[j], b, acc[c][j])
				}
			}
		}
		e.LEAQ(atIdx(k, stride, 2, 0), k)
		e.LEAQ(atIdx(v, vStride, 2, 0), v)
	})
}

// row is the memory at base + i·stride + disp, i from 0 to 3; for i = 3,
// stride3 holds 3·stride.
func (e *emitter) row(base, stride, stride3 reg.GPVirtual, i, disp int) operand.Mem {
	switch i {
	case 0:
		return at(base, disp)
	case 3:
		return atIdx(base, stride3, 1, disp)
	}
	return atIdx(base, stride, uint8(i), disp)
}

// accI runs over groups of columns, and for each over groups of rows.
func (e *emitter) accI() {
	e.begin("AccI", "func(yi *float64, k, vj *T, rows, cols, p int)", "works like genericAccI.")
	span := e.accSpan()
	yCol, vCol := e.arg("yi"), e.arg("vj")
	stride := e.bytesOf(e.arg("cols"))
	stride3 := e.times(stride, 3)
	yStride := e.arg("p")
	groups := e.quotient(yStride, colUnit)
	e.SHLQ(operand.Imm(3), yStride)

	e.Comment("four columns")
	e.loop("cols", groups, func() {
		kRow, y := e.arg("k"), e.copyOf(yCol)
		count := e.quotient(e.arg("rows"), span)
		e.loop("rows", count, func() {
			acc := e.newTile(span, colUnit)
			for _, a := range acc {
				e.zero(a...)
			}
			e.accISum(acc, kRow, vCol, stride, stride3)
			e.Comment("sums across lanes, added in float64")
			e.addSums(acc, y, yStride)
			for range span / 3 {
				e.ADDQ(stride3, kRow)
			}
		})
		e.inc(colUnit*8, yCol)
		e.LEAQ(atIdx(vCol, stride, 4, 0), vCol)
	})
	e.end()
}

// accISum sums a micro-tile of accI over j, two vectors a turn.
func (e *emitter) accISum(acc [][]vec, kRow, vCol, stride, stride3 reg.GPVirtual) {
	v, k := e.copyOf(vCol), []reg.GPVirtual{e.copyOf(kRow)} // a pointer for three rows
	for len(k) < len(acc)/3 {
		next := e.GP64()
		e.LEAQ(atIdx(k[len(k)-1], stride3, 1, 0), next)
		k = append(k, next)
	}
	steps := e.quotient(e.arg("cols"), 2*e.lanes())
	e.loop("sum", steps, func() {
		for u := range 2 {
			kv := e.newVecs(len(acc))
			for i := range kv {
				e.load(e.row(k[i/3], stride, nil, i%3, u*e.bytes), kv[i])
			}
			for c := range colUnit {
				x := e.newVec()
				e.load(e.row(v, stride, stride3, c, u*e.bytes), x)
				for i := range kv {
					e.fma(kv[i], x, acc[i][c])
				}
			}
		}
		for _, p := range append(k, v) {
			e.inc(2*e.bytes, p)
		}
	})
}

// rowSum sums four rows at a time, two vectors of each a turn.
func (e *emitter) rowSum() {
	e.begin("RowSum", "func(dst *float64, k *T, rows, cols int)", "works like genericRowSum.")
	dst, kRow, cols := e.arg("dst"), e.arg("k"), e.arg("cols")
	count := e.quotient(cols, 2*e.lanes())
	stride := e.bytesOf(cols)
	stride3 := e.times(stride, 3)
	groups := e.quotient(e.arg("rows"), 4)
	e.loop("rows", groups, func() {
		acc := e.newVecs(8)
		e.zero(acc...)
		k, steps := e.copyOf(kRow), e.copyOf(count)
		e.loop("sum", steps, func() {
			for i, a := range acc {
				e.add(e.row(k, stride, stride3, i%4, i/4*e.bytes), a, a)
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

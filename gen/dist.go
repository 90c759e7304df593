package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A tileShape is the micro-tile of dist and outer: rows of XI by vectors of XJ,
// one accumulator each. AVX2 has 16 registers: 6x2 accumulators, 2 operands and
// 2 temporaries. AVX-512 has 32: 12x2.
type tileShape struct{ rows, vecs int }

func (e *emitter) distShape() tileShape {
	if e.wide() {
		return tileShape{12, 2}
	}
	return tileShape{6, 2}
}

func (e *emitter) dist() {
	e.begin("Dist", "func(dst, xi, xj *T, d, rows, cols int, clamp T)", "works like genericDist.")
	clampMem, err := e.Param("clamp").Resolve()
	if err != nil {
		panic(err)
	}
	e.microTiles("dst", "xi", "xj", "d", e.distStep, func(acc vec, _ operand.Mem) {
		// NaN comes out of minimum as its second source, so it is not hidden.
		e.min(acc, clampMem.Addr)
	})
}

func (e *emitter) outer() {
	e.begin("Outer", "func(w, ui, uj *T, r, rows, cols int)", "works like genericOuter.")
	e.microTiles("w", "ui", "uj", "r", e.outerStep, func(acc vec, dst operand.Mem) {
		e.mul(dst, acc, acc)
	})
}

// min sets v = min(v, *m).
func (e *emitter) min(v vec, m operand.Mem) {
	c := e.newVec()
	e.bcast(m, c)
	e.pick(e.VMINPS, e.VMINPD)(v, c, v)
}

// distStep adds the squares of one coordinate's differences.
func (e *emitter) distStep(acc [][]vec, xi func(row int) operand.Mem, xj []vec) {
	for i := range acc {
		a, t := e.newVec(), e.newVec()
		if e.wide() {
			for j, s := range []vec{a, t} {
				e.pick(e.VSUBPS_BCST, e.VSUBPD_BCST)(xi(i), xj[j], s)
			}
		} else {
			e.bcast(xi(i), a)
			e.sub(xj[0], a, t)
			e.sub(xj[1], a, a)
			a, t = t, a
		}
		e.fma(a, a, acc[i][0])
		e.fma(t, t, acc[i][1])
	}
}

// outerStep adds the products of one column.
func (e *emitter) outerStep(acc [][]vec, xi func(row int) operand.Mem, xj []vec) {
	for i := range acc {
		a := e.newVec()
		e.bcast(xi(i), a)
		for j := range xj {
			e.fma(xj[j], a, acc[i][j])
		}
	}
}

type stepFunc func(acc [][]vec, xi func(row int) operand.Mem, xj []vec)

// microTiles runs over a tile: for each strip of blocks of the J side, for each
// group of rows, a sum of step over the depth, then finish and the store.
func (e *emitter) microTiles(dstName, xiName, xjName, depthName string, step stepFunc, finish func(vec, operand.Mem)) {
	s := e.distShape()
	blocks := s.vecs * e.bytes / block // blocks of the J side in a strip
	dstCol, xj, depth := e.arg(dstName), e.arg(xjName), e.arg(depthName)
	cols := e.arg("cols")
	strips, stride := e.quotient(cols, blocks*block/e.size), e.bytesOf(cols)
	blockStride := e.copyOf(depth)
	e.SHLQ(operand.Imm(uint64(log2(block))), blockStride)

	e.Comment("strips of blocks of the J side")
	e.loop("strip", strips, func() {
		xi, dst := e.arg(xiName), e.copyOf(dstCol)
		groups := e.quotient(e.arg("rows"), panel)
		e.loop("panel", groups, func() {
			for part := 0; part < panel; part += s.rows {
				e.microTile(s, tilePart{dst, xi, xj, depth, stride, blockStride, part}, step, finish)
			}
			e.Comment("next panel of the I side")
			pb := e.times(depth, panel*e.size)
			e.ADDQ(pb, xi)
		})
		e.inc(blocks*block, dstCol)
		for range blocks {
			e.ADDQ(blockStride, xj)
		}
	})
	e.end()
}

// A tilePart holds the registers of a micro-tile; dst moves on to its next row.
type tilePart struct {
	dst, xi, xj, depth, stride, blockStride reg.GPVirtual
	part                                    int // first row within the panel
}

// microTile emits one micro-tile; the sum over the depth is unrolled twice.
func (e *emitter) microTile(s tileShape, p tilePart, step stepFunc, finish func(vec, operand.Mem)) {
	acc := e.newTile(s.rows, s.vecs)
	for i := range acc {
		e.zero(acc[i]...)
	}
	xi, xj, depth := e.copyOf(p.xi), e.copyOf(p.xj), e.copyOf(p.depth)
	one := func(k int) {
		b := e.newVecs(s.vecs)
		e.load(at(xj, k*block), b[0])
		if e.wide() {
			e.load(atIdx(xj, p.blockStride, 1, k*block), b[1])
		} else {
			e.load(at(xj, k*block+e.bytes), b[1])
		}
		step(acc, func(i int) operand.Mem { return at(xi, (k*panel+p.part+i)*e.size) }, b)
	}
	e.unrolled("depth", depth, 2, one, func(k int) {
		e.inc(k*panel*e.size, xi)
		e.inc(k*block, xj)
	})
	for i := range acc {
		for j, a := range acc[i] {
			m := at(p.dst, j*e.bytes)
			finish(a, m)
			e.store(a, m)
		}
		e.ADDQ(p.stride, p.dst)
	}
}

// log2 is the logarithm of a power of two.
func log2(n int) (l int) {
	for 1<<l < n {
		l++
	}
	return l
}

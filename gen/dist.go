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
	e.microTiles("dst", "xi", "xj", "d", func(p tilePart) {
		t := e.newSum(p, e.distStep)
		e.unrolled("depth", e.arg("d"), 2, t.one, t.advance)
		t.store(e.clamp)
	})
	e.end()
}

func (e *emitter) outer() {
	e.begin("Outer", "func(w, ui, uj *T, r, rows, cols int)", "works like genericOuter.")
	e.microTiles("w", "ui", "uj", "r", func(p tilePart) {
		t := e.newSum(p, e.outerStep)
		e.unrolled("depth", e.arg("r"), 2, t.one, t.advance)
		t.store(func(acc vec, dst operand.Mem) { e.mul(dst, acc, acc) })
	})
	e.end()
}

// clamp sets v = min(v, clamp). NaN comes out of the instruction as its second
// source, so it is not hidden.
func (e *emitter) clamp(v vec, _ operand.Mem) {
	m, err := e.Param("clamp").Resolve()
	if err != nil {
		panic(err)
	}
	c := e.newVec()
	e.bcast(m.Addr, c)
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

// A stepFunc adds one term of the depth to the accumulators.
type stepFunc func(acc [][]vec, xi func(row int) operand.Mem, xj []vec)

// A tilePart holds the registers of a micro-tile; dst moves on to its next row.
type tilePart struct {
	dst, xi, xj, stride, blockStride reg.GPVirtual
	part                             int // first row within the panel
}

// microTiles runs over a tile, for each strip of blocks of the J side over the
// groups of rows, and has every micro-tile emitted by each.
func (e *emitter) microTiles(dstName, xiName, xjName, depthName string, each func(tilePart)) {
	s := e.distShape()
	blocks := s.vecs * e.bytes / block // blocks of the J side in a strip
	dstCol, xj, cols := e.arg(dstName), e.arg(xjName), e.arg("cols")
	strips, stride := e.quotient(cols, blocks*block/e.size), e.bytesOf(cols)
	blockStride := e.arg(depthName)
	e.SHLQ(operand.Imm(uint64(log2(block))), blockStride)

	e.Comment("strips of blocks of the J side")
	e.loop("strip", strips, func() {
		xi, dst := e.arg(xiName), e.copyOf(dstCol)
		groups := e.quotient(e.arg("rows"), panel)
		e.loop("panel", groups, func() {
			for part := 0; part < panel; part += s.rows {
				each(tilePart{dst, xi, xj, stride, blockStride, part})
			}
			e.Comment("next panel of the I side")
			e.ADDQ(e.times(e.arg(depthName), panel*e.size), xi)
		})
		e.inc(blocks*block, dstCol)
		for range blocks {
			e.ADDQ(blockStride, xj)
		}
	})
}

// A tileSum is the sum of a micro-tile over the depth.
type tileSum struct {
	e      *emitter
	p      tilePart
	acc    [][]vec
	xi, xj reg.GPVirtual
	step   stepFunc
}

// newSum starts the sum of a micro-tile.
func (e *emitter) newSum(p tilePart, step stepFunc) *tileSum {
	s := e.distShape()
	t := &tileSum{e, p, e.newTile(s.rows, s.vecs), e.copyOf(p.xi), e.copyOf(p.xj), step}
	for _, row := range t.acc {
		e.zero(row...)
	}
	return t
}

// one adds term k, counted from where the addresses stand.
func (t *tileSum) one(k int) {
	e, p := t.e, t.p
	b := e.newVecs(len(t.acc[0]))
	e.load(at(t.xj, k*block), b[0])
	if e.wide() {
		e.load(atIdx(t.xj, p.blockStride, 1, k*block), b[1])
	} else {
		e.load(at(t.xj, k*block+e.bytes), b[1])
	}
	t.step(t.acc, func(i int) operand.Mem { return at(t.xi, (k*panel+p.part+i)*e.size) }, b)
}

// advance moves the addresses on by k terms.
func (t *tileSum) advance(k int) {
	t.e.inc(k*panel*t.e.size, t.xi)
	t.e.inc(k*block, t.xj)
}

// store finishes and stores the accumulators.
func (t *tileSum) store(finish func(vec, operand.Mem)) {
	t.e.eachRow(t.acc, t.p.dst, t.p.stride, func(m operand.Mem, v vec) {
		finish(v, m)
		t.e.store(v, m)
	})
}

// log2 is the logarithm of a power of two.
func log2(n int) (l int) {
	for 1<<l < n {
		l++
	}
	return l
}

package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
)

// gemm: the micro-tile of Panel rows by two blocks is cut into those of
// distShape, which share the registers in the same way.
func (e *emitter) gemm() {
	e.begin("Gemm", "func(c *T, ldc int, a, b *T, k int)", "works like genericGemm.")
	s := e.distShape()
	c, ldc := e.arg("c"), e.bytesOf(e.arg("ldc"))
	blockStride := e.arg("k")
	e.SHLQ(operand.Imm(uint64(log2(block))), blockStride)
	bStart := e.arg("b")
	strips := 2 * block / (s.vecs * e.bytes)
	for strip := range strips {
		for part := 0; part < panel; part += s.rows {
			e.Commentf("rows %d, strip %d", part, strip)
			e.gemmPart(tilePart{c, e.arg("a"), bStart, ldc, blockStride, part})
		}
		if strip+1 < strips {
			e.ADDQ(blockStride, bStart)
			// Back to the first row, one block on.
			back := e.times(ldc, panel)
			e.SUBQ(back, c)
			e.inc(block, c)
		}
	}
	e.end()
}

// aheadBytes is how far the loads of A are prefetched.
const aheadBytes = 512

// gemmPart sums one part over the depth and adds it to C. C, which comes from
// far, is fetched meanwhile; so is A, whose panel is longer than what the
// processor fetches by itself.
func (e *emitter) gemmPart(p tilePart) {
	t := e.newSum(p, e.outerStep)
	row := e.copyOf(p.dst)
	for range t.acc {
		e.PREFETCHT0(at(row, 0))
		e.PREFETCHT0(at(row, len(t.acc[0])*e.bytes-1))
		e.ADDQ(p.stride, row)
	}
	e.unrolled("depth", e.arg("k"), 4, func(k int) {
		e.PREFETCHT0(at(t.xi, k*panel*e.size+aheadBytes))
		t.one(k)
	}, t.advance)
	t.store(func(v vec, m operand.Mem) { e.add(m, v, v) })
}

// peakFMAs is the number of independent vector FMAs in a round of peak: enough
// to hide the latency of two pipes. The package gets it as a constant.
const peakFMAs = 12

// peak runs n rounds of independent fused multiply-adds.
func (e *emitter) peak() {
	e.begin(fmt.Sprintf("PeakF%d", e.bits()), "func(n int)", fmt.Sprintf("runs n rounds of %d independent vector FMAs.", peakFMAs))
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

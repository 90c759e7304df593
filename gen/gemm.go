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

// gemmPart sums one part over the depth and adds it to C.
func (e *emitter) gemmPart(p tilePart) {
	t := e.newSum(p, e.outerStep)
	e.unrolled("depth", e.arg("k"), 4, t.one, t.advance)
	t.store(func(v vec, m operand.Mem) { e.add(m, v, v) })
}

// peakFMAs is the number of independent vector FMAs in a round of peak: enough
// to hide the latency of two pipes.
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

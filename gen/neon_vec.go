package main

// Vector routines: their length n is a positive multiple of 32.

// neonWiden emits float32 to float64.
func neonWiden(g *neon) {
	g.begin(double, "Widen", "dst *float64, src *float32, n int", "")
	g.loop("loop", "R2", 8, func() {
		g.widen8("R1", 0, 4)
		g.store4P("R0", 4)
	})
	g.end()
}

// neonWidenAdd emits the same, added to dst.
func neonWidenAdd(g *neon) {
	g.begin(double, "WidenAdd", "dst *float64, src *float32, n int", "")
	g.loop("loop", "R2", 8, func() {
		g.widen8("R1", 0, 4)
		g.load4("(R0)", 8)
		four(func(i vreg) { g.op3("fadd", double, 8+i, 8+i, 4+i) })
		g.store4P("R0", 8)
	})
	g.end()
}

// neonCut emits the sum of what is above place in x.
func neonCut(g *neon) {
	g.begin(double, "Cut", "sum, x *float64, place float64, n int", "")
	g.p("VDUP V31.D[0], V31.D2")
	g.loop("loop", "R2", 8, func() {
		g.load4("(R0)", 0)
		g.load4P("R1", 4)
		g.part(0, 8, 31)
		g.store4P("R0", 0)
	})
	g.end()
}

// neonCutTwo emits the sums of what is above place, and of what is then left above below.
func neonCutTwo(g *neon) {
	g.begin(double, "CutTwo", "high, low, x *float64, place, below float64, n int", "")
	g.p("VDUP V31.D[0], V31.D2")
	g.p("VDUP V30.D[0], V30.D2")
	g.loop("loop", "R3", 8, func() {
		g.load4("(R0)", 0)
		g.load4("(R1)", 12)
		g.load4P("R2", 4)
		g.part(0, 8, 31)
		four(func(i vreg) { g.op3("fsub", double, 4+i, 4+i, 8+i) })
		g.part(12, 8, 30)
		g.store4P("R0", 0)
		g.store4P("R1", 12)
	})
	g.end()
}

// part leaves what is above place of v4 to v7 in four registers from out on, and adds it to those from sum on.
func (g *neon) part(sum, out, place vreg) {
	four(func(i vreg) { g.op3("fadd", double, out+i, 4+i, place) })
	four(func(i vreg) { g.op3("fsub", double, out+i, out+i, place) })
	four(func(i vreg) { g.op3("fadd", double, sum+i, sum+i, out+i) })
}

// widen8 loads 8 float32 into v and v+1 and leaves them as float64 in four
// registers from out on.
func (g *neon) widen8(ptr string, v, out vreg) {
	g.p("FLDPQ.P 32(%s), (F%d, F%d)", ptr, v, v+1)
	for i := range vreg(2) {
		g.convert("fcvtl", out+2*i, v+i)
		g.convert("fcvtl2", out+1+2*i, v+i)
	}
}

// neonDot emits the inner product in the order of dot in vec.go: 32 sums in v0 to v15.
func neonDot(g *neon, e elem) {
	g.begin(e, "Dot", "x, y *T, n int", "float64")
	for v := range vreg(16) {
		g.zero(v)
	}
	g.loop("loop", "R2", turn, func() {
		for k := range vreg(4) {
			if e.size == 8 {
				g.load4P("R0", 18)
				g.load4P("R1", 24)
			} else {
				g.widen8("R0", 16, 18)
				g.widen8("R1", 22, 24)
			}
			four(func(i vreg) { g.op3("fmla", double, 4*k+i, 18+i, 24+i) })
		}
	})
	for half := vreg(8); half > 0; half /= 2 {
		for v := range half {
			g.op3("fadd", double, v, v, v+half)
		}
	}
	g.op3("faddp", double, 0, 0, 0)
	g.p("FMOVD F0, ret+%d(FP)", g.result)
	g.end()
}

// neonAxpy emits y += a x.
func neonAxpy(g *neon, e elem) {
	g.begin(e, "Axpy", "a T, x, y *T, n int", "")
	g.loop("loop", "R2", e.block(), func() {
		g.load4P("R0", 0)
		g.load4("(R1)", 4)
		four(func(i vreg) { g.opE("fmla", e, 4+i, i, 31, 0) })
		g.store4P("R1", 4)
	})
	g.end()
}

// neonWithin emits the comparison of a row of a tile with its limit, 8
// elements a byte of the mask: what is larger leaves the bit of its lane, and
// the sum over the lanes is the complement of the byte.
func neonWithin(g *neon) {
	g.begin(double, "Within", "mask *uint32, tile, limit *float32, rows, cols int", "")
	for i, w := range []uint64{1 | 2<<32, 4 | 8<<32, 16 | 32<<32, 64 | 128<<32} {
		g.p("MOVD $0x%x, R5", w)
		g.p("VMOV R5, V%d.D[%d]", 16+i/2, i%2)
	}
	g.loop("row", "R3", 1, func() {
		g.p("VLD1R.P 4(R2), [V18.S4]")
		g.p("MOVD R4, R6")
		g.loop("byte", "R6", 8, func() {
			g.p("FLDPQ.P 32(R1), (F0, F1)")
			for i := range vreg(2) {
				g.op3("fcmgt", single, i, i, 18)
				g.p("VAND V%d.B16, V%d.B16, V%d.B16", 16+i, i, i)
			}
			g.p("VORR V1.B16, V0.B16, V0.B16")
			g.p("VADDV V0.S4, V0")
			g.p("VMOV V0.S[0], R7")
			g.p("EOR $255, R7")
			g.p("MOVB.P R7, 1(R0)")
		})
	})
	g.end()
}

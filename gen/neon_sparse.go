package main

// The routines of asm/sparse.go: an entry of W takes a row of the dense block,
// 64 bytes, four vectors.

// neonGatherRows: four sums in v0 to v15, the row of x in v16 to v19.
func neonGatherRows(g *neon) {
	g.begin(double, "GatherRows", sparseSignature, "")
	g.p("LSR $2, R5 // groups of four entries")
	g.loop("row", "R4", 1, func() {
		g.sparseRow("R3")
		g.p("FMOVD.P 8(R1), F20")
		g.load4("(R7)", 16)
		four(func(h vreg) { g.opE("fmul", double, h, 16+h, 20, 0) })
		for v := vreg(4); v < 16; v++ {
			g.zero(v)
		}
		g.sparseGroups(func(k int) {
			g.sparseRow("R3")
			g.load4("(R7)", 16)
			four(func(h vreg) { g.opE("fmla", double, vreg(4*((k+1)%4))+h, 16+h, vreg(28+k/2), k%2) })
		})
		four(func(h vreg) { g.op3("fadd", double, h, h, 8+h) })
		four(func(h vreg) { g.op3("fadd", double, 4+h, 4+h, 12+h) })
		four(func(h vreg) { g.op3("fadd", double, h, h, 4+h) })
		g.store4P("R0", 0)
	})
	g.end()
}

// neonScatterRows: the row of x in v0 to v3, that of y in v16 to v19.
func neonScatterRows(g *neon) {
	g.begin(double, "ScatterRows", sparseSignature, "")
	g.p("LSR $2, R5 // groups of four entries")
	entry := func(w vreg, lane int) {
		g.sparseRow("R0")
		g.load4("(R7)", 16)
		four(func(h vreg) { g.opE("fmla", double, 16+h, h, w, lane) })
		g.store4("(R7)", 16)
	}
	g.loop("row", "R4", 1, func() {
		g.load4P("R3", 0)
		g.p("FMOVD.P 8(R1), F28")
		entry(28, 0)
		g.sparseGroups(func(k int) { entry(vreg(28+k/2), k%2) })
	})
	g.end()
}

const sparseSignature = "y, w *float64, idx *int32, x *float64, rows, width int"

// sparseRow sets R7 to the row of the block that the next index names.
func (g *neon) sparseRow(block string) {
	g.p("MOVW.P 4(R2), R6")
	g.p("ADD R6<<6, %s, R7", block)
}

// sparseGroups emits the entries after the first, four weights at a time in the
// elements of v28 and v29.
func (g *neon) sparseGroups(entry func(k int)) {
	g.p("MOVD R5, R8")
	g.p("CBZ R8, rowEnd")
	g.loop("group", "R8", 1, func() {
		g.p("FLDPQ.P 32(R1), (F28, F29)")
		for k := range 4 {
			entry(k)
		}
	})
	g.at("rowEnd")
}

package main

// neonLaneScore: half of the lanes at a time, two vectors. R0 acc and R20 its place, R1
// row i of the triangle, R2 w, R3 v, R4 x, R5 d, R6 the bytes before element i, R7 the
// bytes of a point, R8 point i of x; the next inputs of the first point and of point i in
// R9 and R10; running pointers in R11 to R14.
func neonLaneScore(g *neon) {
	g.begin(double, "LaneScore", "acc, tri, w, v, x *float64, d, i int", "")
	g.triangle("R1", "R6", "R7", "R8")
	g.p("MOVD R7, R1")
	g.p("LSL $6, R5, R7")
	g.p("MUL R7, R6, R8")
	g.p("ADD R4, R8")
	g.p("LSL $6, R6")
	g.p("MOVD $2, R15 // halves of the lanes")
	g.loop("half", "R15", 1, func() {
		g.p("MOVD R0, R20")
		g.p("MOVD R4, R9")
		g.p("MOVD R8, R10")
		g.p("LSR $2, R5, R19")
		g.p("CBZ R19, rest")
		g.loop("four", "R19", 1, func() { g.scoreInputs("four", 4) })
		g.at("rest")
		g.p("TBZ $1, R5, last")
		g.scoreInputs("two", 2)
		g.at("last")
		g.p("TBZ $0, R5, next")
		g.scoreInputs("one", 1)
		g.at("next")
		g.note("the other half")
		for _, p := range []string{"R0", "R1", "R2", "R3", "R4", "R8"} {
			g.p("ADD $32, %s", p)
		}
	})
	g.end()
}

// scoreInputs does so many inputs: point i in v0 to v7, the sums by w in v8 to v15, by v
// in v16 to v23, the weight times w and times v in v24 to v27.
func (g *neon) scoreInputs(label string, width int) {
	a, byW, byV := func(k int) vreg { return vreg(2 * k) }, func(k int) vreg { return vreg(8 + 2*k) },
		func(k int) vreg { return vreg(16 + 2*k) }
	for k := range width {
		g.p("FLDPQ %d(R10), (F%d, F%d)", k*neonElement, a(k), a(k)+1)
		g.zero(byW(k), byW(k)+1, byV(k), byV(k)+1)
	}
	for i, p := range []string{"R9", "R1", "R2", "R3"} {
		g.p("MOVD %s, R%d", p, 11+i)
	}
	g.p("MOVD R6, R21")
	g.loop(label+"Points", "R21", neonElement, func() {
		g.p("FLDPQ.P %d(R12), (F26, F27)", neonElement)
		g.p("FLDPQ.P %d(R13), (F28, F29)", neonElement)
		g.p("FLDPQ.P %d(R14), (F30, F31)", neonElement)
		g.pair("fmul", 24, 26, 28)
		g.pair("fmul", 26, 26, 30)
		for k := range width {
			g.p("FLDPQ %d(R11), (F28, F29)", k*neonElement)
			g.pair("fsub", 28, a(k), 28)
			g.pair("fmul", 28, 28, 28)
			g.pair("fmla", byW(k), 28, 24)
			g.pair("fmla", byV(k), 28, 26)
		}
		g.p("ADD R7, R11")
	})
	g.p("FLDPQ (R13), (F24, F25)")
	g.p("FLDPQ (R14), (F26, F27)")
	for k := range width {
		g.p("FLDPQ %d(R20), (F28, F29)", 2*k*neonElement)
		g.pair("fmla", 28, 24, byW(k))
		g.p("FSTPQ (F28, F29), %d(R20)", 2*k*neonElement)
		g.p("FLDPQ %d(R20), (F28, F29)", (2*k+1)*neonElement)
		g.pair("fmla", 28, 24, byV(k))
		g.pair("fmla", 28, 26, byW(k))
		g.p("FSTPQ (F28, F29), %d(R20)", (2*k+1)*neonElement)
	}
	g.p("ADD $%d, R9", width*neonElement)
	g.p("ADD $%d, R10", width*neonElement)
	g.p("ADD $%d, R20", 2*width*neonElement)
}

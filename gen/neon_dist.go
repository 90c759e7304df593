package main

// The three routines whose inner loop runs over coordinates (or the steps of a
// matrix product). Their micro-tile is 6 rows of the broadcast side by 64 bytes
// of the vector side: 24 accumulators v0 to v23, row r in v4r to v4r+3. The
// rows come in panels of 12, each taken as two halves.

const neonRows = panel / 2 // rows of a micro-tile

// neonDist emits the squared distances.
//
// The difference is taken directly: it is exact for equal points. A coordinate
// of a row is loaded into all lanes by ld1r, which needs no register for the
// panel; two of them and two differences take turns so that a step need not
// wait for the one before.
func neonDist(g *neon, e elem) {
	g.begin(e, "Dist", "dst, xi, xj *T, d, rows, cols int, clamp T", "")
	g.p("FMOV%s F31, R15 // v31 will hold differences", e.goScalar())
	g.halfPanels(e, func() {
		g.zeroTile()
		g.p("MOVD R9, R10 // xi")
		g.p("MOVD R3, R11")
		g.loop("step", "R11", 1, func() {
			g.load4P("R8", 24)
			for r := range vreg(neonRows) {
				x := 28 + r%2
				g.p("VLD1R.P %d(R10), [V%d.%s]", e.size, x, e.goArr())
				for q := range vreg(4) {
					t := 30 + q%2
					g.op3("fsub", e, t, x, 24+q)
					g.op3("fmla", e, 4*r+q, t, t)
				}
			}
			g.p("ADD $%d, R10", neonRows*e.size)
		})
		g.note("clamp and store")
		g.p("VDUP R15, V24.%s", e.goArr())
		g.p("MOVD R7, R12")
		for v := range vreg(24) {
			g.op3("fmin", e, v, v, 24)
		}
		for r := range vreg(neonRows) {
			g.store4("(R12)", 4*r)
			g.p("ADD R6, R12")
		}
	})
	g.end()
}

// neonOuter emits w *= U_I U_J', rows and columns laid out as in neonDist.
func neonOuter(g *neon, e elem) {
	g.begin(e, "Outer", "w, ui, uj *T, r, rows, cols int", "")
	g.halfPanels(e, func() {
		g.zeroTile()
		g.p("MOVD R9, R10 // ui")
		g.p("MOVD R3, R11")
		g.multiply(e, "R10", "R8", "R11")
		g.note("times the tile")
		g.p("MOVD R7, R12")
		for r := range vreg(neonRows) {
			g.load4("(R12)", 24)
			for q := range vreg(4) {
				g.op3("fmul", e, 24+q, 24+q, 4*r+q)
			}
			g.store4("(R12)", 24)
			g.p("ADD R6, R12")
		}
	})
	g.end()
}

// halfPanels runs body for each half panel of 6 rows and each block of the
// vector side. R0 dst, R1 xi, R2 xj, R3 d, R4 rows, R5 cols are the arguments;
// body finds R7 = the micro-tile in dst, R6 = bytes of a row of dst, R8 = the
// block of xj (which it reads to its end), R9 = the half panel of xi.
func (g *neon) halfPanels(e elem, body func()) {
	g.p("LSL $%d, R5, R6 // bytes of a row", e.shift())
	g.p("MOVD R1, R9")
	g.p("MOVD $%d, R13", neonRows*e.size)
	g.p("MOVD $%d, R14", panel*e.size)
	g.p("MUL R3, R14, R14 // bytes of a panel")
	g.p("SUB R13, R14, R14")
	g.at("half")
	g.p("MOVD R0, R7")
	g.p("MOVD R2, R8")
	g.p("MOVD R5, R1")
	g.loop("block", "R1", e.block(), func() {
		body()
		g.p("ADD $64, R7")
	})
	g.nextRows("R0", "R6")
	g.note("from the first half of a panel to its second, or to the next panel")
	g.p("ADD R13, R9, R9")
	g.p("MOVD R14, R12")
	g.p("MOVD R13, R14")
	g.p("MOVD R12, R13")
	g.p("SUBS $%d, R4", neonRows)
	g.p("BNE half")
}

// multiply adds the products of steps of a (6 of 12 values each) and b (64
// bytes each) to the micro-tile; both pointers and the counter move on.
func (g *neon) multiply(e elem, a, b, counter string) {
	g.loop("step", counter, 1, func() {
		g.load4P(b, 24)
		g.p("FMOVQ (%s), F28", a)
		if e.size == 4 {
			g.p("FMOVD 16(%s), F29", a)
		} else {
			g.p("FMOVQ 16(%s), F29", a)
			g.p("FMOVQ 32(%s), F30", a)
		}
		g.p("ADD $%d, %s", panel*e.size, a)
		for r := range neonRows {
			for q := range vreg(4) {
				g.opE("fmla", e, vreg(4*r)+q, 24+q, vreg(28+r/e.lanes()), r%e.lanes())
			}
		}
	})
}

// zeroTile clears the accumulators of the micro-tile.
func (g *neon) zeroTile() {
	for v := range vreg(24) {
		g.zero(v)
	}
}

// nextRows moves ptr on by the rows of a micro-tile.
func (g *neon) nextRows(ptr, rowBytes string) {
	g.p("ADD %s<<1, %s", rowBytes, ptr)
	g.p("ADD %s<<2, %s", rowBytes, ptr)
}

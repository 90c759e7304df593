package main

import "fmt"

// The accumulations over a tile K, four columns of V at a time.

// neonPeakFMAs is the number of vector multiply-adds in a round of the peak routine.
const neonPeakFMAs = 24

// neonAccJ emits yJ += K' V_I. Its micro-tile is 4 columns by 6 vectors of j:
// 24 accumulators v0 to v23, column c in v6c to v6c+5. A row of the tile takes
// six loads of K and one (two) of V_I for 24 multiply-adds by element.
func neonAccJ(g *neon, e elem) {
	const vectors = 6
	g.begin(e, "AccJ", "yj, k, vi *T, rows, cols, p int", "")
	g.p("LSL $%d, R4, R6 // bytes of a row of K", e.shift())
	g.p("LSL $%d, R5, R7 // bytes of a row of V", e.shift())
	g.at("columns")
	g.p("MOVD R0, R8 // yj")
	g.p("MOVD R1, R9 // k")
	g.p("MOVD R4, R10")
	g.loop("chunk", "R10", vectors*e.lanes(), func() {
		g.p("MOVD R8, R11")
		for c := range vreg(4) {
			g.sixVectors("FLDPQ", "R11", vectors*c)
			g.p("ADD R6, R11")
		}
		g.p("MOVD R9, R12")
		g.p("MOVD R2, R13")
		g.p("MOVD R3, R14")
		g.loop("row", "R14", 1, func() {
			g.sixVectors("FLDPQ", "R12", 24)
			g.p("FMOVQ (R13), F30")
			if e.size == 8 {
				g.p("FMOVQ 16(R13), F31")
			}
			g.p("ADD R6, R12")
			g.p("ADD R7, R13")
			for c := range 4 {
				for q := range vreg(vectors) {
					g.opE("fmla", e, vreg(vectors*c)+q, 24+q, vreg(30+c/e.lanes()), c%e.lanes())
				}
			}
		})
		g.p("MOVD R8, R11")
		for c := range vreg(4) {
			g.sixVectors("FSTPQ", "R11", vectors*c)
			g.p("ADD R6, R11")
		}
		g.p("ADD $%d, R8", vectors*16)
		g.p("ADD $%d, R9", vectors*16)
	})
	g.p("ADD R6<<2, R0 // the next four columns")
	g.p("ADD $%d, R2", 4*e.size)
	g.p("SUBS $4, R5")
	g.p("BNE columns")
	g.end()
}

// sixVectors loads or stores 96 bytes.
func (g *neon) sixVectors(op, ptr string, v vreg) {
	for i := range vreg(3) {
		if op == "FLDPQ" {
			g.p("FLDPQ %d(%s), (F%d, F%d)", 32*i, ptr, v+2*i, v+2*i+1)
		} else {
			g.p("FSTPQ (F%d, F%d), %d(%s)", v+2*i, v+2*i+1, 32*i, ptr)
		}
	}
}

// neonAccI emits yI += K V_J'. Its micro-tile is 6 rows by 4 columns: 24
// accumulators v0 to v23, row r in v4r to v4r+3, whose lanes are added at the
// end. A step takes one vector of each row of K and of each column of V_J.
func neonAccI(g *neon, e elem) {
	g.begin(e, "AccI", "yi *float64, k, vj *T, rows, cols, p int", "")
	g.p("LSL $%d, R4, R6 // bytes of a row of K and of V_J", e.shift())
	g.p("LSL $3, R5, R25 // bytes of a row of yi")
	rowPtr := []string{"R9", "R10", "R11", "R12", "R13", "R14"}
	colPtr := []string{"R19", "R20", "R21", "R22"}
	g.at("rows")
	g.p("MOVD R2, R7 // vj")
	g.p("MOVD R0, R15 // yi")
	g.p("MOVD R5, R23")
	g.loop("columns", "R23", 4, func() {
		g.p("MOVD R1, %s", rowPtr[0])
		for r := 1; r < neonRows; r++ {
			g.p("ADD R6, %s, %s", rowPtr[r-1], rowPtr[r])
		}
		g.p("MOVD R7, %s", colPtr[0])
		for c := 1; c < 4; c++ {
			g.p("ADD R6, %s, %s", colPtr[c-1], colPtr[c])
		}
		g.p("ADD R6<<2, R7")
		g.zeroTile()
		g.p("MOVD R4, R8")
		g.loop("step", "R8", e.lanes(), func() {
			for c := range 4 {
				g.p("FMOVQ.P 16(%s), F%d", colPtr[c], 24+c)
			}
			for r := range neonRows {
				x := vreg(28 + r%4)
				g.p("FMOVQ.P 16(%s), F%d", rowPtr[r], x)
				for c := range vreg(4) {
					g.op3("fmla", e, vreg(4*r)+c, x, 24+c)
				}
			}
		})
		g.note("add the lanes, then to yi")
		g.p("MOVD R15, R24")
		for r := range vreg(neonRows) {
			g.addRow(e, 4*r)
			g.p("ADD R25, R24")
		}
		g.p("ADD $32, R15")
	})
	g.nextRows("R0", "R25")
	g.nextRows("R1", "R6")
	g.p("SUBS $%d, R3", neonRows)
	g.p("BNE rows")
	g.end()
}

// addRow adds the sums over the lanes of four registers to four float64 at R24.
func (g *neon) addRow(e elem, v vreg) {
	g.p("FLDPQ (R24), (F24, F25)")
	g.op3("faddp", e, v, v, v+1)
	g.op3("faddp", e, v+2, v+2, v+3)
	lo, hi := v, v+2
	if e.size == 4 {
		g.op3("faddp", e, v, v, v+2)
		g.convert("fcvtl", v+1, v)
		g.convert("fcvtl2", v+2, v)
		lo = v + 1
	}
	g.op3("fadd", double, 24, 24, lo)
	g.op3("fadd", double, 25, 25, hi)
	g.p("FSTPQ (F24, F25), (R24)")
}

// neonRowSum emits the sums of the rows of a tile.
func neonRowSum(g *neon, e elem) {
	g.begin(e, "RowSum", "dst *float64, k *T, rows, cols int", "")
	g.loop("row", "R2", 1, func() {
		g.zero(0, 1, 2, 3)
		g.p("MOVD R3, R4")
		g.loop("step", "R4", e.block(), func() {
			g.load4P("R1", 4)
			four(func(i vreg) { g.op3("fadd", e, i, i, 4+i) })
		})
		g.op3("fadd", e, 0, 0, 1)
		g.op3("fadd", e, 2, 2, 3)
		g.op3("fadd", e, 0, 0, 2)
		g.sumLanes(e, 0)
		g.p("FMOVD (R0), F1")
		g.p("FADDD F0, F1, F1")
		g.p("FMOVD.P F1, 8(R0)")
	})
	g.end()
}

// neonPeak runs n rounds of independent multiply-adds, enough of them to hide
// the latency of four pipes.
func neonPeak(g *neon, e elem) {
	g.begin(e, fmt.Sprintf("PeakF%d", 8*e.size), "n int", "")
	g.zeroTile()
	g.zero(24)
	g.loop("round", "R0", 1, func() {
		for v := range vreg(neonPeakFMAs) {
			g.op3("fmla", e, v, 24, 24)
		}
	})
	g.end()
}

package main

import "fmt"

// The routines of asm/dense.go.

// neonGemm: C in v0 to v23, three a row, B in v24 to v26, A in v27 to v30. The
// registers hold all rows of C and a strip of columns, for 48 bytes of B: of a row,
// or of a row in up to two of three panels. It makes no use of next, for want of a
// machine to measure on.
func neonGemm(g *neon, e elem, name string, panels bool) {
	const strip = 48
	g.begin(e, name, "c *float64, ldc int, a, b, next *T, k int, alpha float64, add int", "")
	g.p("LSL $3, R1, R1 // bytes of a row of C")
	for first := 0; first < gemmBytes; first += strip {
		p, rowB := first/lineBytes, gemmBytes
		g.p("ADD $%d, R3, R8 // b", first)
		if panels {
			rowB = lineBytes
			g.p("LSL $6, R5, R11 // bytes of a panel of B")
			g.p("MOVD $%d, R12", p)
			g.p("MADD R11, R3, R12, R8 // b")
			g.p("ADD R8, R11")
		}
		for v := range vreg(24) {
			g.zero(v)
		}
		g.p("MOVD R2, R7 // a")
		g.p("MOVD R5, R9")
		g.loop(fmt.Sprint("step", first), "R9", 1, func() {
			for j := range 3 {
				disp, base := 16*j, "R8"
				at := first + disp
				if panels {
					disp = at % lineBytes
					if at/lineBytes > p {
						base = "R11"
					}
				}
				g.p("FMOVQ %d(%s), F%d", disp, base, 24+j)
			}
			for i := 0; i < gemmRows*e.size; i += 32 {
				g.p("FLDPQ %d(R7), (F%d, F%d)", i, 27+i/16, 28+i/16)
			}
			g.p("ADD $%d, R7", gemmRows*e.size)
			g.p("ADD $%d, R8", rowB)
			if panels {
				g.p("ADD $%d, R11", rowB)
			}
			for i := range gemmRows {
				for j := range vreg(3) {
					g.opE("fmla", e, vreg(3*i)+j, 24+j, vreg(27+i/e.lanes()), i%e.lanes())
				}
			}
		})
		set, stored := fmt.Sprint("set", first), fmt.Sprint("stored", first)
		g.p("MOVD R0, R10")
		g.p("CBZ R6, %s", set)
		g.gemmStore(e, true)
		g.p("B %s", stored)
		g.at(set)
		g.gemmStore(e, false)
		g.at(stored)
		g.p("ADD $%d, R0", strip*8/e.size)
	}
	g.end()
}

// gemmStore adds the sums times alpha, in v31, to C, or sets C, which is float64.
func (g *neon) gemmStore(e elem, add bool) {
	for i := range vreg(gemmRows) {
		for j := range vreg(3) {
			v := 3*i + j
			if e.size == 8 {
				if add {
					g.p("FMOVQ %d(R10), F24", 16*j)
					g.opE("fmla", double, 24, v, 31, 0)
				} else {
					g.opE("fmul", double, 24, v, 31, 0)
				}
				g.p("FMOVQ F24, %d(R10)", 16*j)
				continue
			}
			g.convert("fcvtl", 24, v)
			g.convert("fcvtl2", 25, v)
			if add {
				g.p("FLDPQ %d(R10), (F26, F27)", 32*j)
				g.opE("fmla", double, 26, 24, 31, 0)
				g.opE("fmla", double, 27, 25, 31, 0)
			} else {
				g.opE("fmul", double, 26, 24, 31, 0)
				g.opE("fmul", double, 27, 25, 31, 0)
			}
			g.p("FSTPQ (F26, F27), %d(R10)", 32*j)
		}
		g.p("ADD R1, R10")
	}
}

// neonTriSolve: the unknowns of two right-hand sides in v0 to v23.
func neonTriSolve(g *neon) {
	g.begin(double, "TriSolve", "x *float64, stride int, l *float64", "")
	g.p("LSL $3, R1, R1 // bytes from row to row")
	g.p("MOVD $%d, R3", gemmBytes/8)
	g.loop("lanes", "R3", 2, func() {
		g.p("MOVD R0, R4")
		for r := range triUnit {
			g.p("FMOVQ (R4), F%d", r)
			g.p("ADD R1, R4")
		}
		g.p("MOVD R0, R4")
		for r := range triUnit {
			row := r * triUnit * 8
			g.p("FMOVD %d(R2), F24", row+8*r)
			g.opE("fmul", double, vreg(r), vreg(r), 24, 0)
			g.p("FMOVQ F%d, (R4)", r)
			g.p("ADD R1, R4")
			for k := r + 1; k < triUnit; {
				if k%2 == 1 {
					g.p("FMOVD %d(R2), F25", row+8*k)
					g.opE("fmls", double, vreg(k), vreg(r), 25, 0)
					k++
					continue
				}
				v := 26 + k/2%4
				g.p("FMOVQ %d(R2), F%d", row+8*k, v)
				g.opE("fmls", double, vreg(k), vreg(r), vreg(v), 0)
				g.opE("fmls", double, vreg(k+1), vreg(r), vreg(v), 1)
				k += 2
			}
		}
		g.p("ADD $16, R0")
	})
	g.end()
}

// neonTranspose: the columns of one vector of the eight rows at a time, in v0 to v7.
func neonTranspose(g *neon, e elem) {
	g.begin(e, "Transpose", "dst *T, dstStride int, src *T, srcStride, n int", "")
	g.p("LSL $%d, R1, R1", e.shift())
	g.p("LSL $%d, R3, R3", e.shift())
	g.loop("columns", "R4", e.lanes(), func() {
		g.p("MOVD R2, R5")
		for i := range transRows {
			g.p("FMOVQ (R5), F%d", i)
			g.p("ADD R3, R5")
		}
		if e.size == 8 {
			for i := range vreg(transRows / 2) {
				g.trn(double, 8+i, 12+i, 2*i, 2*i+1)
			}
			for k := range vreg(2) {
				g.store4("(R0)", 8+4*k)
				g.p("ADD R1, R0")
			}
		} else {
			for q := range vreg(2) { // four rows: 2×2 numbers, then 2×2 pairs of them
				r, t, out := 4*q, 8+4*q, 16+q
				g.trn(single, t, t+1, r, r+1)
				g.trn(single, t+2, t+3, r+2, r+3)
				g.trn(double, out, out+4, t, t+2)
				g.trn(double, out+2, out+6, t+1, t+3)
			}
			for k := range vreg(4) {
				g.p("FSTPQ (F%d, F%d), (R0)", 16+2*k, 17+2*k)
				g.p("ADD R1, R0")
			}
		}
		g.p("ADD $16, R2")
	})
	g.end()
}

// trn sets even and odd to the elements of even and of odd number of a and b,
// by turns.
func (g *neon) trn(e elem, even, odd, a, b vreg) {
	g.p("VTRN1 V%d.%s, V%d.%s, V%d.%s", b, e.goArr(), a, e.goArr(), even, e.goArr())
	g.p("VTRN2 V%d.%s, V%d.%s, V%d.%s", b, e.goArr(), a, e.goArr(), odd, e.goArr())
}

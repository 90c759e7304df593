package main

// The routines of asm/dense.go.

const (
	neonGemmCols = 6 // columns of C that the registers hold, for all 8 rows
	rowBytes     = neonGemmCols * 8
)

// neonGemm: C in v0 to v23, three a row, B in v24 to v26, A in v27 to v30.
func neonGemm(g *neon) {
	g.begin(double, "Gemm", "c *float64, ldc int, a, b *float64, k, add int", "")
	g.p("LSL $3, R1, R1 // bytes of a row of C")
	g.p("MOVD $%d, R6 // strips of columns", gemmCols/neonGemmCols)
	g.loop("strip", "R6", 1, func() {
		for v := range vreg(24) {
			g.zero(v)
		}
		g.p("MOVD R2, R7 // a")
		g.p("MOVD R3, R8 // b")
		g.p("MOVD R4, R9")
		g.loop("step", "R9", 1, func() {
			for j := range 3 {
				g.p("FMOVQ %d(R8), F%d", 16*j, 24+j)
			}
			g.p("FLDPQ (R7), (F27, F28)")
			g.p("FLDPQ 32(R7), (F29, F30)")
			g.p("ADD $%d, R7", gemmRows*8)
			g.p("ADD $%d, R8", gemmCols*8)
			for i := range gemmRows {
				for j := range vreg(3) {
					g.opE("fmla", double, vreg(3*i)+j, 24+j, vreg(27+i/2), i%2)
				}
			}
		})
		g.neonGemmStore()
		g.p("ADD $%d, R0", rowBytes)
		g.p("ADD $%d, R3", rowBytes)
	})
	g.end()
}

// neonGemmStore adds the sums to C, or sets C.
func (g *neon) neonGemmStore() {
	g.p("MOVD R0, R10")
	g.p("CBZ R5, set")
	for i := range vreg(gemmRows) {
		for j := range vreg(3) {
			g.p("FMOVQ %d(R10), F%d", 16*j, 24+j)
			g.op3("fadd", double, 3*i+j, 3*i+j, 24+j)
		}
		g.p("ADD R1, R10")
	}
	g.p("MOVD R0, R10")
	g.at("set")
	for i := range gemmRows {
		for j := range 3 {
			g.p("FMOVQ F%d, %d(R10)", 3*i+j, 16*j)
		}
		g.p("ADD R1, R10")
	}
}

// neonTriSolve: the unknowns of two right-hand sides in v0 to v23.
func neonTriSolve(g *neon) {
	g.begin(double, "TriSolve", "x *float64, stride int, l *float64", "")
	g.p("LSL $3, R1, R1 // bytes from row to row")
	g.p("MOVD $%d, R3", gemmCols)
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

// neonTranspose: two columns of the eight rows at a time, in v0 to v7.
func neonTranspose(g *neon) {
	g.begin(double, "Transpose", "dst *float64, dstStride int, src *float64, srcStride, n int", "")
	g.p("LSL $3, R1, R1")
	g.p("LSL $3, R3, R3")
	g.loop("pair", "R4", 2, func() {
		g.p("MOVD R2, R5")
		for i := range transRows {
			g.p("FMOVQ (R5), F%d", i)
			g.p("ADD R3, R5")
		}
		for i := range transRows / 2 {
			g.p("VTRN1 V%d.D2, V%d.D2, V%d.D2", 2*i+1, 2*i, 8+i)
			g.p("VTRN2 V%d.D2, V%d.D2, V%d.D2", 2*i+1, 2*i, 12+i)
		}
		for k := range vreg(2) {
			g.store4("(R0)", 8+4*k)
			g.p("ADD R1, R0")
		}
		g.p("ADD $16, R2")
	})
	g.end()
}

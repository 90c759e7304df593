package main

// The routines of asm/lanes.go: a number of a point in all lanes takes four
// vectors. The sums over k are made for half of the lanes at a time, as in
// cholRows: four rows by two columns, two vectors each, fill the registers.

func neonLanes(g *neon) {
	neonGatherLanes(g)
	for _, rows := range []int{cholUnit, 1} {
		neonLaneRows(g, "LaneDist", rows)
		neonLaneRows(g, "LaneSyrk", rows)
	}
	neonLaneScore(g)
}

// neonGatherLanes: two columns of eight rows at a time, as neonTranspose. R0 dst,
// R1 its row, R2 src, R3 the bytes from row to row, R4 idx, R5 rows, R6 n.
func neonGatherLanes(g *neon) {
	g.begin(double, "GatherLanes", "dst *float64, dstStride int, src *float64, stride int, idx *int32, rows, n int", "")
	g.p("LSL $6, R1, R1")
	g.p("LSL $3, R3, R3")
	from := []string{"R7", "R8", "R9", "R10", "R11", "R12", "R13", "R14"}
	g.loop("row", "R5", 1, func() {
		for _, p := range from {
			g.p("MOVW.P 4(R4), %s", p)
			g.p("MUL R3, %s, %s", p, p)
			g.p("ADD R2, %s, %s", p, p)
		}
		g.p("MOVD R0, R15")
		g.p("MOVD R6, R19")
		g.loop("pair", "R19", 2, func() {
			for i, p := range from {
				g.p("FMOVQ.P 16(%s), F%d", p, i)
			}
			for i := range transRows / 2 {
				g.p("VTRN1 V%d.D2, V%d.D2, V%d.D2", 2*i+1, 2*i, 8+i)
				g.p("VTRN2 V%d.D2, V%d.D2, V%d.D2", 2*i+1, 2*i, 12+i)
			}
			g.store4P("R15", 8)
			g.store4P("R15", 12)
		})
		g.p("ADD R1, R0")
	})
	g.end()
}

// neonLaneRows: R0 tri, then row i of it; R1 x; R2 the bytes of a row of x; R3
// the bytes left of column i; R15 row i of x; R20 the halves of the lanes. The
// rows of the triangle in R4 to R7, running pointers in R8 to R13, the column in
// R14.
func neonLaneRows(g *neon, name string, rows int) {
	dist, last, signature := name == "LaneDist", "", "tri, x *float64, d, i int"
	if dist {
		signature += ", clamp float64"
	}
	if rows == 1 {
		last = "Last"
	}
	g.begin(double, name+last, signature, "")
	if dist {
		g.p("VDUP V31.D[0], V31.D2")
	}
	g.triangle("R0", "R3", "R21", "R8")
	g.p("MOVD R21, R0")
	g.p("LSL $6, R2")
	g.p("MUL R2, R3, R15")
	g.p("ADD R1, R15")
	g.p("LSL $6, R3")
	g.p("MOVD $2, R20 // halves of the lanes")
	out := neonCholRow[:rows]
	g.loop("half", "R20", 1, func() {
		g.p("MOVD R0, R4")
		g.rowsAfter(out, "R3")
		g.p("MOVD R1, R21 // the row of x of column j")
		g.p("MOVD $0, R14 // j in bytes")
		g.p("CBZ R3, diagonal")
		g.at("left")
		g.laneSum(dist, out, 2)
		g.p("ADD $%d, R14", 2*neonElement)
		g.p("CMP R3, R14")
		g.p("BLT left")
		g.at("diagonal")
		g.laneSum(dist, out, 0)
		g.note("the other half")
		for _, p := range []string{"R0", "R1", "R15"} {
			g.p("ADD $32, %s", p)
		}
	})
	g.end()
}

// laneSum does the rows out by cols columns from R14 on, of rows of x from R15
// and from R21, which moves on behind them; with cols = 0 the triangle on the
// diagonal. Accumulators from v0 on, rows of x in v20 to v27, columns in v28 and
// v29, a difference in v30.
func (g *neon) laneSum(dist bool, out []string, cols int) {
	label, columns, count := "diag", len(out), func(r int) int { return r + 1 }
	if cols > 0 {
		label, columns, count = "block", cols, func(int) int { return cols }
	}
	acc := func(r, c int) vreg {
		if cols > 0 {
			return vreg(2 * (r*cols + c))
		}
		return vreg(2 * (r*(r+1)/2 + c))
	}
	left, right := []string{"R8", "R9", "R10", "R11"}[:len(out)], []string{"R12", "R13"}[:cols]
	g.laneEach(out, count, func(r, c int) {
		if dist {
			g.zero(acc(r, c), acc(r, c)+1)
		} else {
			g.p("FLDPQ %d(R22), (F%d, F%d)", c*neonElement, acc(r, c), acc(r, c)+1)
		}
	})
	g.laneRowsOf("R15", left)
	g.laneRowsOf("R21", right)
	g.p("MOVD R2, R19")
	g.loop(label, "R19", neonElement, func() {
		for r, p := range left {
			g.p("FLDPQ.P %d(%s), (F%d, F%d)", neonElement, p, 20+2*r, 21+2*r)
		}
		for c := range columns {
			y := vreg(20 + 2*c)
			if cols > 0 {
				y = 28
				g.p("FLDPQ.P %d(%s), (F28, F29)", neonElement, right[c])
			}
			for r := range out {
				if c < count(r) {
					g.laneTerm(dist, acc(r, c), vreg(20+2*r), y)
				}
			}
		}
	})
	g.laneEach(out, count, func(r, c int) {
		if dist {
			for h := range vreg(2) {
				g.op3("fmin", double, acc(r, c)+h, acc(r, c)+h, 31)
			}
		}
		g.p("FSTPQ (F%d, F%d), %d(R22)", acc(r, c), acc(r, c)+1, c*neonElement)
	})
	if cols > 0 {
		g.p("MOVD %s, R21", right[cols-1])
	}
}

// laneEach calls f for every element of a block, in row r of which count(r) are;
// R22 is the place of its first one.
func (g *neon) laneEach(out []string, count func(r int) int, f func(r, c int)) {
	for r, p := range out {
		g.p("ADD R14, %s, R22", p)
		for c := range count(r) {
			f(r, c)
		}
	}
}

// laneRowsOf sets the pointers to rows of x from first on.
func (g *neon) laneRowsOf(first string, rows []string) {
	for i, p := range rows {
		if i == 0 {
			g.p("MOVD %s, %s", first, p)
		} else {
			g.p("ADD R2, %s, %s", rows[i-1], p)
		}
	}
}

// laneTerm adds or subtracts a term of a pair of vectors.
func (g *neon) laneTerm(dist bool, acc, x, y vreg) {
	if !dist {
		g.pair("fmls", acc, x, y)
		return
	}
	for h := range vreg(2) {
		g.op3("fsub", double, 30, x+h, y+h)
		g.op3("fmla", double, acc+h, 30, 30)
	}
}

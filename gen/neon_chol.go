package main

// The routines of asm/cholbatch.go. An element of the interleaved triangle is
// the same element of eight matrices: 64 bytes, four vectors. Row r begins
// r(r+1)/2 elements into the triangle and has r+1 of them.
//
// cholRows takes half of the lanes at a time, two vectors, so that a block of 4
// rows by 2 columns has its 16 accumulators, the rows and the columns in
// registers. cholLast has one row only and takes all lanes at once.

const neonElement = 64 // bytes of an element of the triangle

// triangle sets dst to row r of the triangle at a; tmp is lost.
func (g *neon) triangle(a, r, dst, tmp string) {
	g.p("ADD $1, %s, %s", r, tmp)
	g.p("MUL %s, %s, %s", r, tmp, tmp)
	g.p("ADD %s<<5, %s, %s", tmp, a, dst)
}

// rowsAfter sets the pointers after the first to the rows of the triangle that
// follow it; bytes is the length of the part of a row left of the first
// one's diagonal.
func (g *neon) rowsAfter(rows []string, bytes string) {
	for i := 1; i < len(rows); i++ {
		g.p("ADD %s, %s, %s", bytes, rows[i-1], rows[i])
		g.p("ADD $%d, %s", i*neonElement, rows[i])
	}
}

// upTo repeats body, which moves its pointers on by an element, for the bytes
// in end; none is allowed. counter is lost.
func (g *neon) upTo(label, end, counter string, body func()) {
	g.p("MOVD %s, %s", end, counter)
	g.p("CBZ %s, %sEnd", counter, label)
	g.loop(label, counter, neonElement, body)
	g.at(label + "End")
}

// ones fills v with 1.
func (g *neon) ones(v vreg) {
	g.p("FMOVD $1.0, F%d", v)
	g.p("VDUP V%d.D[0], V%d.D2", v, v)
}

// Registers of cholRows: the four rows and the running pointers into them.
var (
	neonCholRow = []string{"R4", "R5", "R6", "R7"}
	neonCholX   = []string{"R8", "R9", "R10", "R11"}
)

// cholAcc is the pair of accumulators of row r and column c: v0 to v15.
func cholAcc(r, c int) vreg { return vreg(4*r + 2*c) }

// neonCholRows emits blocks of 4 rows by 2 columns to the left of the diagonal,
// then the triangle of 4 rows on it. R0 a, R1 tau at row i, R2 = the bytes left
// of the diagonal, R3 row i.
func neonCholRows(g *neon) {
	g.begin(double, "CholRows", "a, tau *float64, i int", "")
	g.triangle("R0", "R2", "R3", "R8")
	g.p("LSL $6, R2")
	g.p("ADD R2, R1")
	g.p("MOVD $2, R15 // halves of the lanes")
	g.loop("half", "R15", 1, func() {
		g.p("MOVD R3, R4")
		g.rowsAfter(neonCholRow, "R2")
		g.p("MOVD R0, R12 // the row of column j")
		g.p("MOVD $0, R14 // j in bytes")
		g.p("CBZ R2, diagonal")
		g.at("left")
		g.cholLeft()
		g.p("ADD $%d, R13, R12 // R13 stands at the diagonal of row j+1, less one", 2*neonElement)
		g.p("ADD $%d, R14", 2*neonElement)
		g.p("CMP R2, R14")
		g.p("BLT left")
		g.at("diagonal")
		g.cholDiagonal()
		g.note("the other half")
		for _, p := range []string{"R0", "R1", "R3"} {
			g.p("ADD $32, %s", p)
		}
	})
	g.end()
}

// cholLeft solves for two columns from j on; afterwards R12 and R13 stand at
// element j of the rows j and j+1.
func (g *neon) cholLeft() {
	other := []string{"R12", "R13"}
	g.rowsAfter(other, "R14")
	for r, p := range neonCholRow {
		g.p("ADD R14, %s, R8", p)
		for c := range 2 {
			g.p("FLDPQ %d(R8), (F%d, F%d)", c*neonElement, cholAcc(r, c), cholAcc(r, c)+1)
		}
	}
	for r, p := range neonCholRow {
		g.p("MOVD %s, %s", p, neonCholX[r])
	}
	g.upTo("sum", "R14", "R19", func() {
		for r, p := range neonCholX {
			g.p("FLDPQ.P %d(%s), (F%d, F%d)", neonElement, p, 16+2*r, 17+2*r)
		}
		for c, p := range other {
			g.p("FLDPQ.P %d(%s), (F%d, F%d)", neonElement, p, 24+2*c, 25+2*c)
			for r := range neonCholX {
				g.pair("fmls", cholAcc(r, c), vreg(16+2*r), vreg(24+2*c))
			}
		}
	})
	g.note("the block of 2 by 2 on the diagonal of the columns")
	for c, p := range other {
		for k := range c + 1 {
			g.p("FLDPQ %d(%s), (F24, F25)", k*neonElement, p)
			for r := range neonCholX {
				if k < c {
					g.pair("fmls", cholAcc(r, c), cholAcc(r, k), 24)
				} else {
					g.pair("fmul", cholAcc(r, c), cholAcc(r, c), 24)
				}
			}
		}
		for r, p := range neonCholX {
			g.p("FSTPQ (F%d, F%d), %d(%s)", cholAcc(r, c), cholAcc(r, c)+1, c*neonElement, p)
		}
	}
}

// pair emits an operation on pairs of registers.
func (g *neon) pair(op string, d, n, m vreg) {
	for h := range vreg(2) {
		g.op3(op, double, d+h, n+h, m+h)
	}
}

// cholDiagonal factors the triangle of four rows on the diagonal: accumulators
// v0 to v19, 1 in v28.
func (g *neon) cholDiagonal() {
	acc := func(r, c int) vreg { return vreg(2 * (r*(r+1)/2 + c)) }
	g.ones(28)
	for r, p := range neonCholRow {
		g.p("ADD R2, %s, R8", p)
		for c := range r + 1 {
			g.p("FLDPQ %d(R8), (F%d, F%d)", c*neonElement, acc(r, c), acc(r, c)+1)
		}
	}
	for r, p := range neonCholRow {
		g.p("MOVD %s, %s", p, neonCholX[r])
	}
	g.upTo("square", "R2", "R19", func() {
		for r, p := range neonCholX {
			g.p("FLDPQ.P %d(%s), (F%d, F%d)", neonElement, p, 20+2*r, 21+2*r)
			for c := range r + 1 {
				g.pair("fmls", acc(r, c), vreg(20+2*r), vreg(20+2*c))
			}
		}
	})
	for c := range 4 {
		for k := range c {
			for r := c; r < 4; r++ {
				g.pair("fmls", acc(r, c), acc(r, k), acc(c, k))
			}
		}
		g.note("pivot %d: 1/sqrt, or 0 where it is not above tau", c)
		g.p("FLDPQ %d(R1), (F20, F21)", c*neonElement)
		for h := range vreg(2) {
			d := acc(c, c) + h
			g.op3("fcmgt", double, 20+h, d, 20+h)
			g.op2("fsqrt", double, d, d)
			g.op3("fdiv", double, d, 28, d)
			g.p("VAND V%d.B16, V%d.B16, V%d.B16", 20+h, d, d)
		}
		for r, p := range neonCholX[c:] {
			if r > 0 {
				g.pair("fmul", acc(c+r, c), acc(c+r, c), acc(c, c))
			}
			g.p("FSTPQ (F%d, F%d), %d(%s)", acc(c+r, c), acc(c+r, c)+1, c*neonElement, p)
		}
	}
}

// neonCholLast: R0 a, R1 tau, R2 = the bytes left of the diagonal, R3 the last
// row; the pivot, then the scale, in v20 to v23.
func neonCholLast(g *neon) {
	other := []string{"R4", "R5", "R6", "R7"}
	g.begin(double, "CholLast", "a, tau *float64, n int", "")
	g.p("SUB $1, R2")
	g.triangle("R0", "R2", "R3", "R8")
	g.p("LSL $6, R2")
	g.p("ADD R2, R1")
	g.p("ADD R2, R3, R9")
	g.load4("(R9)", 20)
	g.p("CBZ R2, pivot")
	g.note("forward: four columns at a time, their squares off the pivot")
	g.p("MOVD R0, R4")
	g.p("MOVD $0, R14")
	g.at("forward")
	g.rowsAfter(other, "R14")
	g.cholForward(other)
	g.p("ADD $%d, R14", 4*neonElement)
	g.p("MOVD R7, R4 // R7 stands behind its row")
	g.p("CMP R2, R14")
	g.p("BLT forward")

	g.at("pivot")
	g.p("ADD R2, R3, R9")
	g.load4("(R1)", 16)
	g.ones(31)
	g.zero(30)
	four(func(h vreg) { g.op3("fcmgt", double, 24+h, 20+h, 16+h) })
	four(func(h vreg) { g.p("VBSL V%d.B16, V%d.B16, V%d.B16", 16+h, 20+h, 24+h) })
	four(func(h vreg) { g.op2("fsqrt", double, 24+h, 24+h) })
	four(func(h vreg) { g.op3("fdiv", double, 20+h, 31, 24+h) })
	g.store4("(R9)", 20)
	g.note("backward: four rows at a time, times -1/sqrt")
	four(func(h vreg) { g.op3("fsub", double, 20+h, 30, 20+h) })
	g.p("CBZ R2, done")
	g.at("backward")
	g.p("SUB $%d, R2", 4*neonElement)
	g.p("LSR $6, R2, R8")
	g.triangle("R0", "R8", "R4", "R9")
	g.rowsAfter(other, "R2")
	g.cholBackward(other)
	g.p("CBNZ R2, backward")
	g.at("done")
	g.end()
}

// cholForward solves for four elements of the last row, from column j (R14, in
// bytes) on; the pointers end behind their rows.
func (g *neon) cholForward(other []string) {
	g.p("ADD R14, R3, R9")
	for c := range vreg(4) {
		g.load4P("R9", 4*c)
	}
	g.p("MOVD R3, R9")
	g.upTo("sum", "R14", "R10", func() {
		g.load4P("R9", 24)
		for c, p := range other {
			g.load4P(p, 28)
			four(func(h vreg) { g.op3("fmls", double, vreg(4*c)+h, 24+h, 28+h) })
		}
	})
	for c, p := range other {
		v := vreg(4 * c)
		for k := range vreg(c) {
			g.load4P(p, 28)
			four(func(h vreg) { g.op3("fmls", double, v+h, 4*k+h, 28+h) })
		}
		g.load4P(p, 28)
		four(func(h vreg) { g.op3("fmul", double, v+h, v+h, 28+h) })
		four(func(h vreg) { g.op3("fmls", double, 20+h, v+h, v+h) })
		g.store4P("R9", v)
	}
}

// cholBackward solves for four elements of the last row, from column j (R2, in
// bytes) on, takes them off those before and multiplies them by the scale.
func (g *neon) cholBackward(other []string) {
	for c := 3; c >= 0; c-- {
		v := vreg(4 * c)
		g.p("ADD $%d, R2, R10", c*neonElement)
		g.p("ADD R10, R3, R9")
		g.load4("(R9)", v)
		for i := 3; i >= c; i-- {
			g.p("ADD R10, %s, R11", other[i])
			g.load4("(R11)", 24)
			if i > c {
				four(func(h vreg) { g.op3("fmls", double, v+h, vreg(4*i)+h, 24+h) })
			} else {
				four(func(h vreg) { g.op3("fmul", double, v+h, v+h, 24+h) })
			}
		}
		four(func(h vreg) { g.op3("fmul", double, 24+h, v+h, 20+h) })
		g.store4("(R9)", 24)
	}
	g.p("MOVD R3, R9")
	g.upTo("take", "R2", "R10", func() {
		g.load4("(R9)", 24)
		for i := 3; i >= 0; i-- {
			g.load4P(other[i], 28)
			four(func(h vreg) { g.op3("fmls", double, 24+h, vreg(4*i)+h, 28+h) })
		}
		g.store4P("R9", 24)
	})
}

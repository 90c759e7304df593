package main

import (
	"fmt"
	"math"
)

// Functions of the distance: k(sqrt(s)) = 2^-r q(r), see asm.Cov and asm.Weight.
//
// A step treats four vectors side by side, and issues the square roots of the
// next four before the polynomial of these, so that the divider, the slowest
// unit, works all the time. The accumulator of fmla is also its result, so each
// step of the Horner scheme starts from a copy of its coefficient, loaded from
// a table: there are load ports to spare, and fewer vector operations than with
// register moves.
//
//	v0-v3, v4-v7   r of this step and of the next, taking turns
//	v8-v11         t = r + magic, whose low bits hold round(r)
//	v12-v15        f = round(r) - r
//	v16-v19        the result p; v20-v23 the next value of the Horner scheme
//	v24            magic
//	v25, v26       scalars for multiplication by element: see neonScalars

// neonFactor says what 2^-r is multiplied by.
type neonFactor int

const (
	timesOne       neonFactor = iota
	timesLinear               // 1 + ln2 r
	timesQuadratic            // 1 + ln2 r + (ln2 r)²/3
	overR                     // 1/r, 0 where r is too small
)

// The factors of each family.
var (
	neonCovFactor    = [families]neonFactor{timesOne, timesLinear, timesQuadratic, timesOne}
	neonWeightFactor = [families]neonFactor{overR, timesOne, timesLinear, timesOne}
)

// neonPair is the size of an entry of the table of constants: each twice a
// vector, so that one load of a pair fills two registers. The order is that of
// constValues; the scalars follow.
const neonPair = 32

// neonScalars are the constants that stay in the elements of v25 (and v26).
func neonScalars(e elem) []float64 {
	v := constValues(e.size, false)
	return []float64{v[len(v)-1], v[constLn2], v[constLn2sq3], v[constMinR]}
}

// Places in neonScalars.
const (
	scalarTop = iota // the leading coefficient of the polynomial
	scalarLn2
	scalarLn2sq3
	scalarMinR
)

// neonTable emits the table of an element type.
func neonTable(g *neon, e elem) {
	off := 0
	emit := func(v float64) {
		bits := fmt.Sprintf("$0x%016x", math.Float64bits(v))
		if e.size == 4 {
			bits = fmt.Sprintf("$0x%08x", math.Float32bits(float32(v)))
		}
		fmt.Fprintf(&g.asm, "DATA neonConst%d<>+%d(SB)/%d, %s // %v\n", 8*e.size, off, e.size, bits, v)
		off += e.size
	}
	fmt.Fprintln(&g.asm)
	for _, v := range constValues(e.size, false) {
		for range neonPair / e.size {
			emit(v)
		}
	}
	for _, v := range neonScalars(e) {
		emit(v)
	}
	fmt.Fprintf(&g.asm, "GLOBL neonConst%d<>(SB), RODATA|NOPTR, $%d\n", 8*e.size, off)
}

// scalar returns the register and the element that hold neonScalars()[i].
func (e elem) scalar(i int) (vreg, int) { return vreg(25 + i/e.lanes()), i % e.lanes() }

// loadTable sets R15 to the table and loads the constants that stay in registers.
func (g *neon) loadTable(e elem) {
	g.p("MOVD $neonConst%d<>(SB), R15", 8*e.size)
	g.p("FMOVQ %d(R15), F24", constMagic*neonPair)
	g.p("ADD $%d, R15, R14", len(constValues(e.size, false))*neonPair)
	g.p("FMOVQ (R14), F25")
	if e.size == 8 {
		g.p("FMOVQ 16(R14), F26")
	}
}

// pairs loads the value of the table's entry i into four registers.
func (g *neon) pairs(i int, v vreg) {
	g.p("FLDPQ %d(R15), (F%d, F%d)", i*neonPair, v, v+1)
	g.p("FLDPQ %d(R15), (F%d, F%d)", i*neonPair, v+2, v+3)
}

// four runs f for each of the four vectors.
func four(f func(i vreg)) {
	for i := range vreg(4) {
		f(i)
	}
}

// function emits p = 2^-r q(r) for the four vectors r from cur on (v0 or v4), and
// returns p, the first register of the result: v16 or v20.
func (g *neon) function(e elem, q neonFactor, cur vreg) vreg {
	g.note("t = r + magic, f = (t - magic) - r")
	four(func(i vreg) { g.op3("fadd", e, 8+i, cur+i, 24) })
	four(func(i vreg) { g.op3("fsub", e, 12+i, 8+i, 24) })
	four(func(i vreg) { g.op3("fsub", e, 12+i, 12+i, cur+i) })
	g.note("p = 2^f")
	p, next := vreg(16), vreg(20)
	top, lane := e.scalar(scalarTop)
	k := len(constValues(e.size, false)) - 2
	g.pairs(k, p)
	four(func(i vreg) { g.opE("fmla", e, p+i, 12+i, top, lane) })
	for k--; k >= constPoly; k-- {
		g.pairs(k, next)
		four(func(i vreg) { g.op3("fmla", e, next+i, p+i, 12+i) })
		p, next = next, p
	}
	g.note("p = 2^-r, by way of the exponent")
	shift := map[int]int{4: 23, 8: 52}[e.size]
	four(func(i vreg) { g.p("VSHL $%d, V%d.%s, V%d.%s", shift, 8+i, e.goArr(), 8+i, e.goArr()) })
	four(func(i vreg) { g.p("VSUB V%d.%s, V%d.%s, V%d.%s", 8+i, e.goArr(), p+i, e.goArr(), p+i, e.goArr()) })
	g.factor(e, q, cur, p, next)
	return p
}

// factor multiplies p by the factor q of r; v8 to v11 and next are free.
func (g *neon) factor(e elem, q neonFactor, r, p, next vreg) {
	ln2, ln2Lane := e.scalar(scalarLn2)
	third, thirdLane := e.scalar(scalarLn2sq3)
	least, leastLane := e.scalar(scalarMinR)
	switch q {
	case timesLinear:
		g.note("times 1 + ln2 r")
		g.pairs(constOne, next)
		four(func(i vreg) { g.opE("fmla", e, next+i, r+i, ln2, ln2Lane) })
		four(func(i vreg) { g.op3("fmul", e, p+i, p+i, next+i) })
	case timesQuadratic:
		g.note("times 1 + (ln2 + ln2²/3 r) r")
		g.pairs(constLn2, 8)
		g.pairs(constOne, next)
		four(func(i vreg) { g.opE("fmla", e, 8+i, r+i, third, thirdLane) })
		four(func(i vreg) { g.op3("fmla", e, next+i, 8+i, r+i) })
		four(func(i vreg) { g.op3("fmul", e, p+i, p+i, next+i) })
	case overR:
		g.note("divided by r, zero where r is too small")
		g.p("VDUP V%d.%s[%d], V8.%s", least, e.goScalar(), leastLane, e.goArr())
		four(func(i vreg) { g.op3("fdiv", e, p+i, p+i, r+i) })
		four(func(i vreg) { g.op3("fcmgt", e, next+i, 8, r+i) })
		four(func(i vreg) { g.bic(p+i, p+i, next+i) })
	}
}

// fetch loads four vectors of s from ptr and takes their roots.
func (g *neon) fetch(e elem, root bool, ptr string, v vreg) {
	g.load4("("+ptr+")", v)
	if root {
		four(func(i vreg) { g.op2("fsqrt", e, v+i, v+i) })
	}
}

// fetchNext moves ptr on, unless it has reached last, and fetches from there.
// After the last step it fetches the last vectors once more: nobody uses them.
func (g *neon) fetchNext(e elem, root bool, ptr, last string, v vreg) {
	g.p("ADD $64, %s, R14", ptr)
	g.p("CMP %s, %s", last, ptr)
	g.p("CSEL LO, R14, %s, %s", ptr, ptr)
	g.fetch(e, root, ptr, v)
}

// neonElementwise emits the routine that replaces s by f, in place.
func neonElementwise(g *neon, e elem, name string, root bool, q neonFactor) {
	g.begin(e, name, "buf *T, n int", "")
	g.loadTable(e)
	g.p("MOVD R0, R2 // where to read; R0 is where to write")
	g.p("SUB $%d, R1, R3", e.block())
	g.p("ADD R3<<%d, R0, R3 // the last 64 bytes", e.shift())
	g.fetch(e, root, "R2", 0)
	g.loop("loop", "R1", 2*e.block(), func() {
		for _, cur := range []vreg{0, 4} {
			g.fetchNext(e, root, "R2", "R3", 4-cur)
			g.store4P("R0", g.function(e, q, cur))
		}
	})
	g.end()
}

// neonFused emits the function and both accumulations for p = 1 or 2, in one
// loop over a row of the tile. The sums of the I side stay in v28 and v29,
// those of the J side in memory; vi is in the elements of v27.
func neonFused(g *neon, e elem, f family, p int) {
	g.begin(e, fmt.Sprintf("Fused%d%v", p, f), "yi *float64, yj, buf, vi, vj *T, rows, cols int", "")
	g.loadTable(e)
	g.p("MUL R5, R6, R7")
	g.p("SUB $%d, R7, R7", e.block())
	g.p("ADD R7<<%d, R2, R7 // the last 64 bytes of buf", e.shift())
	g.p("LSL $%d, R6, R8 // bytes of a row", e.shift())
	g.fetch(e, f.root(), "R2", 0)
	g.at("row")
	g.p("MOVD R1, R9 // yj")
	g.p("MOVD R4, R10 // vj")
	g.p("FMOV%s.P %d(R3), F27", map[int]string{4: "S", 8: "D", 16: "Q"}[p*e.size], p*e.size)
	g.zero(28, 29)
	g.p("MOVD R6, R11")
	g.loop("loop", "R11", 2*e.block(), func() {
		for _, cur := range []vreg{0, 4} {
			g.fetchNext(e, f.root(), "R2", "R7", 4-cur)
			k := g.function(e, neonCovFactor[f], cur)
			for c := range p {
				g.accumulate(e, c, k)
			}
			g.p("ADD $64, R9")
			g.p("ADD $64, R10")
		}
	})
	g.note("the sums of this row")
	for c := range vreg(p) {
		g.sumLanes(e, 28+c)
		g.p("FMOVD %d(R0), F30", 8*c)
		g.p("FADDD F%d, F30, F30", 28+c)
		g.p("FMOVD F30, %d(R0)", 8*c)
	}
	g.p("ADD $%d, R0", 8*p)
	g.p("SUBS $1, R5")
	g.p("BNE row")
	g.end()
}

// accumulate adds k v_i to yj and k v_j to the sum of the row, for column c.
func (g *neon) accumulate(e elem, c int, k vreg) {
	g.note("column %d", c)
	yj, vj := "R9", "R10"
	if c == 1 {
		yj, vj = "R12", "R13"
		g.p("ADD R8, R9, R12")
		g.p("ADD R8, R10, R13")
	}
	g.load4("("+yj+")", 8)
	g.load4("("+vj+")", 12)
	four(func(i vreg) { g.opE("fmla", e, 8+i, k+i, 27, c) })
	four(func(i vreg) { g.op3("fmla", e, vreg(28+c), k+i, 12+i) })
	g.store4("("+yj+")", 8)
}

// sumLanes adds the lanes of v and leaves the sum as a float64 in its first.
func (g *neon) sumLanes(e elem, v vreg) {
	g.op3("faddp", e, v, v, v)
	if e.size == 4 {
		g.op3("faddp", e, v, v, v)
		g.p("FCVTSD F%d, F%d", v, v)
	}
}

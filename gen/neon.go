package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// The Go assembler for arm64 knows hardly any floating-point vector
// instruction (VFMLA and VFMLS, without the by-element form), so neon prints
// text: plain Go assembly where that can say it, and for the rest
//
//	WORD $0x4e21d443 // fadd v3.4s, v2.4s, v1.4s
//
// with the instruction in the order of the Arm manual as the comment. A test
// disassembles every word and compares it with its comment.

// vreg is a vector register.
type vreg uint8

// elem is an element type and with it the arrangement of a 128-bit vector.
type elem struct {
	gotyp string
	arr   string // arrangement in the Arm manual's notation
	size  int    // bytes of an element
}

var (
	single = elem{"float32", "4s", 4}
	double = elem{"float64", "2d", 8}
)

// lanes is the number of elements of a vector.
func (e elem) lanes() int { return 16 / e.size }

// block is the number of elements in 64 bytes, the unit of XJ.
func (e elem) block() int { return 64 / e.size }

// goArr is the arrangement in the notation of the Go assembler.
func (e elem) goArr() string { return strings.ToUpper(e.arr[1:]) + e.arr[:1] }

// letter names one element in the Arm manual, goScalar in the Go assembler.
func (e elem) letter() string { return e.arr[1:] }

func (e elem) goScalar() string { return e.goArr()[:1] }

// shift is log2 of the size.
func (e elem) shift() int { return 1 + e.size/4 }

// wide is bit 22 of the encodings: 0 for single, 1 for double.
func (e elem) wide() uint32 { return uint32(e.size>>3) << 22 }

// Base encodings for 4s; bit 22 selects 2d.
var (
	neonThree = map[string]uint32{ // Vd = Vn op Vm; fmla: Vd += Vn Vm
		"fadd": 0x4e20d400, "fsub": 0x4ea0d400, "fmul": 0x6e20dc00, "fdiv": 0x6e20fc00,
		"fmla": 0x4e20cc00, "fmls": 0x4ea0cc00, "faddp": 0x6e20d400,
		"fmin": 0x4ea0f400, "fcmgt": 0x6ea0e400,
	}
	neonTwo = map[string]uint32{ // Vd = op Vn
		"fsqrt": 0x6ea1f800,
	}
	neonByElem = map[string]uint32{ // Vd op= Vn Vm[i]
		"fmla": 0x4f801000, "fmls": 0x4f805000, "fmul": 0x4f809000,
	}
	// Instructions with one form only: the arrangements of Vd and Vn are fixed.
	neonFixed = map[string]struct {
		base uint32
		d, n string
	}{
		"fcvtl":  {0x0e617800, "2d", "2s"},
		"fcvtl2": {0x4e617800, "2d", "4s"},
	}
)

// neon collects one assembly file and the Go declarations that go with it.
type neon struct {
	asm, stubs bytes.Buffer
	result     int // offset of the result of the routine
}

// p prints a line of plain Go assembly.
func (g *neon) p(format string, args ...any) {
	fmt.Fprintf(&g.asm, "\t"+format+"\n", args...)
}

// note prints a comment that names a step of the algorithm.
func (g *neon) note(format string, args ...any) {
	fmt.Fprintf(&g.asm, "\t// "+format+"\n", args...)
}

func (g *neon) word(w uint32, format string, args ...any) {
	g.p("WORD $0x%08x // %s", w, fmt.Sprintf(format, args...))
}

// op3 emits d = n op m, or d ±= n m for fmla and fmls.
func (g *neon) op3(op string, e elem, d, n, m vreg) {
	if op == "fmla" || op == "fmls" { // the assembler knows these two
		g.p("V%s V%d.%s, V%d.%s, V%d.%s", strings.ToUpper(op), m, e.goArr(), n, e.goArr(), d, e.goArr())
		return
	}
	w := encoding(neonThree, op) | e.wide() | fields(d, n, m)
	g.word(w, "%s v%d.%s, v%d.%s, v%d.%s", op, d, e.arr, n, e.arr, m, e.arr)
}

// op2 emits d = op n.
func (g *neon) op2(op string, e elem, d, n vreg) {
	w := encoding(neonTwo, op) | e.wide() | fields(d, n, 0)
	g.word(w, "%s v%d.%s, v%d.%s", op, d, e.arr, n, e.arr)
}

// opE emits d op= n m[i].
func (g *neon) opE(op string, e elem, d, n, m vreg, i int) {
	if i < 0 || i >= e.lanes() {
		panic("gen: bad element index")
	}
	w := encoding(neonByElem, op) | e.wide() | fields(d, n, m)
	if e.size == 4 { // index = H:L, bits 11 and 21
		w |= uint32(i&1)<<21 | uint32(i>>1)<<11
	} else { // index = H
		w |= uint32(i) << 11
	}
	g.word(w, "%s v%d.%s, v%d.%s, v%d.%s[%d]", op, d, e.arr, n, e.arr, m, e.letter(), i)
}

// convert emits one of neonFixed.
func (g *neon) convert(op string, d, n vreg) {
	f, ok := neonFixed[op]
	if !ok {
		panic("gen: no encoding for " + op)
	}
	g.word(f.base|fields(d, n, 0), "%s v%d.%s, v%d.%s", op, d, f.d, n, f.n)
}

// bic emits d = n and not m, on all bits.
func (g *neon) bic(d, n, m vreg) {
	g.word(0x4e601c00|fields(d, n, m), "bic v%d.16b, v%d.16b, v%d.16b", d, n, m)
}

// zero clears registers.
func (g *neon) zero(r ...vreg) {
	for _, v := range r {
		g.p("VEOR V%d.B16, V%d.B16, V%d.B16", v, v, v)
	}
}

// load4 and store4 move 64 bytes between memory and four registers from v on; with
// a P at the end the pointer moves on.
func (g *neon) load4(addr string, v vreg) { g.p("VLD1 %s, %s", addr, list4(v)) }

func (g *neon) load4P(ptr string, v vreg) { g.p("VLD1.P 64(%s), %s", ptr, list4(v)) }

func (g *neon) store4(addr string, v vreg) { g.p("VST1 %s, %s", list4(v), addr) }

func (g *neon) store4P(ptr string, v vreg) { g.p("VST1.P %s, 64(%s)", list4(v), ptr) }

func list4(v vreg) string {
	fields(v+3, 0, 0)
	return fmt.Sprintf("[V%d.B16, V%d.B16, V%d.B16, V%d.B16]", v, v+1, v+2, v+3)
}

func encoding(m map[string]uint32, op string) uint32 {
	w, ok := m[op]
	if !ok {
		panic("gen: no encoding for " + op)
	}
	return w
}

// fields places the register numbers of d, n and m.
func fields(d, n, m vreg) uint32 {
	if d > 31 || n > 31 || m > 31 {
		panic("gen: no such vector register")
	}
	return uint32(m)<<16 | uint32(n)<<5 | uint32(d)
}

// param is a parameter of a routine: its Go name and type.
type param struct{ name, typ string }

func params(s string) []param {
	var out []param
	for f := range strings.SplitSeq(s, ",") {
		name, typ, _ := strings.Cut(strings.TrimSpace(f), " ")
		out = append(out, param{name, typ})
	}
	// a, b T: the type of the last one is that of those before it.
	for i := len(out) - 2; i >= 0; i-- {
		if out[i].typ == "" {
			out[i].typ = out[i+1].typ
		}
	}
	return out
}

// begin starts a routine and loads its parameters: pointers and integers into
// R0, R1, ... in their order, floats into F31, F30, ... T in the signature
// stands for the element type, and such a routine has its type in its name.
func (g *neon) begin(e elem, name, sig, result string) {
	full := "neon" + name
	if strings.Contains(sig, "T") {
		full += fmt.Sprintf("F%d", 8*e.size)
		sig = strings.ReplaceAll(sig, "T", e.gotyp)
	}
	decl := strings.TrimSpace(fmt.Sprintf("func %s(%s) %s", full, sig, result))
	fmt.Fprintf(&g.stubs, "\n// %s %s\n//\n//go:noescape\n%s\n", full, neonDoc(name), decl)
	var loads []string
	off, r, f := 0, 0, 31
	for _, p := range params(sig) {
		switch p.typ {
		case "float32":
			loads = append(loads, fmt.Sprintf("FMOVS %s+%d(FP), F%d", p.name, off, f))
			off, f = off+4, f-1
		case "float64":
			loads = append(loads, fmt.Sprintf("FMOVD %s+%d(FP), F%d", p.name, off, f))
			off, f = off+8, f-1
		default:
			off = (off + 7) / 8 * 8 // after a float32
			loads = append(loads, fmt.Sprintf("MOVD %s+%d(FP), R%d", p.name, off, r))
			off, r = off+8, r+1
		}
	}
	g.result = off
	if result != "" {
		off += 8
	}
	fmt.Fprintf(&g.asm, "\n// %s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", decl, full, off)
	for _, l := range loads {
		g.p("%s", l)
	}
}

// neonDoc returns the comment of a routine: its reference in asm/generic.go.
func neonDoc(name string) string {
	if strings.HasPrefix(name, "Peak") {
		return fmt.Sprintf("runs n rounds of %d independent vector FMAs.", neonPeakFMAs)
	}
	for f := range families {
		name = strings.TrimSuffix(name, f.String())
	}
	return "works like generic" + strings.TrimRight(name, "12") + "."
}

// end finishes a routine.
func (g *neon) end() { g.p("RET") }

// at prints a label; labels are local to a routine.
func (g *neon) at(label string) { fmt.Fprintf(&g.asm, "%s:\n", label) }

// loop prints a loop whose body runs while the counter register, which the
// body does not touch and which starts positive, counts down to zero by step.
func (g *neon) loop(label, counter string, step int, body func()) {
	g.at(label)
	body()
	g.p("SUBS $%d, %s", step, counter)
	g.p("BNE %s", label)
}

// neonFiles returns the generated files for arm64, by their names in asm.
func neonFiles() (map[string][]byte, error) {
	g := new(neon)
	const head = "// Code generated by bbgp.dev/gen. DO NOT EDIT.\n\n//go:build !purego\n\n"
	g.asm.WriteString(head + "#include \"textflag.h\"\n")
	g.stubs.WriteString(head + "package asm\n")
	for _, e := range []elem{single, double} {
		neonTable(g, e)
		neonDist(g, e)
		neonOuter(g, e)
		for f := range families {
			neonElementwise(g, e, "Cov"+f.String(), f.root(), neonCovFactor[f])
			neonElementwise(g, e, "Weight"+f.String(), f.root(), neonWeightFactor[f])
			neonFused(g, e, f, 1)
			neonFused(g, e, f, 2)
		}
		neonAccJ(g, e)
		neonAccI(g, e)
		neonRowSum(g, e)
		neonGemm(g, e, "Gemm", false)
		neonGemm(g, e, "GemmPanels", true)
		neonTranspose(g, e)
		neonDot(g, e)
		neonAxpy(g, e)
		neonPeak(g, e)
	}
	neonWiden(g)
	neonWidenAdd(g)
	neonCut(g)
	neonCutTwo(g)
	neonWithin(g)
	neonTriSolve(g)
	neonCholRows(g)
	neonCholLast(g)
	neonLanes(g)
	neonGatherRows(g)
	neonScatterRows(g)
	return map[string][]byte{
		"neon_arm64.s":   slices.Clone(g.asm.Bytes()),
		"stubs_arm64.go": slices.Clone(g.stubs.Bytes()),
	}, nil
}

package main

import (
	"encoding/binary"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"
)

var wordLine = regexp.MustCompile(`^\tWORD \$(0x[0-9a-f]{8}) // (.+)$`)

// checkWords disassembles every WORD of the text and compares it with its
// comment. It returns the number of words.
func checkWords(t *testing.T, text string) int {
	t.Helper()
	n := 0
	for i, line := range strings.Split(text, "\n") {
		if !strings.Contains(line, "WORD") {
			continue
		}
		m := wordLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("line %d is not of the form WORD $0x... // instruction: %s", i+1, line)
		}
		w, err := strconv.ParseUint(m[1], 0, 32)
		if err != nil {
			t.Fatal(err)
		}
		inst, err := arm64asm.Decode(binary.LittleEndian.AppendUint32(nil, uint32(w)))
		if err != nil {
			t.Errorf("line %d: %s (%s): %v", i+1, m[1], m[2], err)
			continue
		}
		if got := arm64asm.GNUSyntax(inst); got != m[2] {
			t.Errorf("line %d: %s is %q, the comment says %q", i+1, m[1], got, m[2])
		}
		n++
	}
	return n
}

// TestNeonWords checks the file as it is generated.
func TestNeonWords(t *testing.T) {
	files, err := neonFiles()
	if err != nil {
		t.Fatal(err)
	}
	if n := checkWords(t, string(files["neon_arm64.s"])); n < 1000 {
		t.Errorf("only %d words", n)
	}
}

// TestNeonEncodings checks every instruction of the encoder, with every
// register in each field and every element.
func TestNeonEncodings(t *testing.T) {
	g := new(neon)
	for r := range vreg(32) {
		d, n, m := r, (r+11)%32, (r+22)%32
		for _, e := range []elem{single, double} {
			for _, op := range slices.Sorted(maps.Keys(neonThree)) {
				g.op3(op, e, d, n, m)
			}
			for _, op := range slices.Sorted(maps.Keys(neonTwo)) {
				g.op2(op, e, d, n)
			}
			for _, op := range slices.Sorted(maps.Keys(neonByElem)) {
				for i := range e.lanes() {
					g.opE(op, e, d, n, m, i)
				}
			}
		}
		for _, op := range slices.Sorted(maps.Keys(neonFixed)) {
			g.convert(op, d, n)
		}
		g.bic(d, n, m)
	}
	checkWords(t, g.asm.String())
}

// TestNeonRegisters looks for registers that belong to Go or to the platform:
// R16 to R18 and R27 to R30.
func TestNeonRegisters(t *testing.T) {
	files, err := neonFiles()
	if err != nil {
		t.Fatal(err)
	}
	reserved := regexp.MustCompile(`\bR(1[6-8]|2[7-9]|30)\b`)
	for i, line := range strings.Split(string(files["neon_arm64.s"]), "\n") {
		if reserved.MatchString(line) {
			t.Errorf("line %d: %s", i+1, line)
		}
	}
}

// TestNeonBadOperands wants a panic for what cannot be encoded.
func TestNeonBadOperands(t *testing.T) {
	for name, f := range map[string]func(g *neon){
		"unknown":  func(g *neon) { g.op3("fadds", single, 0, 0, 0) },
		"register": func(g *neon) { g.op2("fsqrt", double, 32, 0) },
		"element":  func(g *neon) { g.opE("fmla", double, 0, 0, 0, 2) },
		"fixed":    func(g *neon) { g.convert("fcvtx", 0, 0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f(new(neon))
		}()
	}
}

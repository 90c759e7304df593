package main

import (
	"bytes"
	"fmt"
	"go/format"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/buildtags"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

// A target is an implementation that is written with avo.
type target struct {
	name  string // "avx2": prefix of its routines and files
	bytes int    // bytes of a vector
	regs  int    // number of vector registers
	vec   func(*build.Context) reg.VecVirtual
}

func x86Targets() []target {
	return []target{
		{"avx2", 32, 16, (*build.Context).YMM},
		{"avx512", 64, 32, (*build.Context).ZMM},
	}
}

// Sizes of the contract, as in ../asm/impl.go.
const (
	panel   = 12 // rows of a panel of XI
	block   = 64 // bytes of a block of XJ
	colUnit = 4  // unit of p
)

// x86Files returns the assembly, the declarations and the needed features of
// all x86 targets.
func x86Files() (map[string][]byte, error) {
	all := map[string][]byte{}
	cfg := printer.Config{Name: "bbgp.dev/gen", Pkg: "asm"}
	var needs bytes.Buffer
	fmt.Fprintf(&needs, "// %s\n\n//go:build !purego\n\npackage asm\n\n", cfg.GeneratedWarning())
	needs.WriteString("import \"github.com/klauspost/cpuid/v2\"\n")
	fmt.Fprintf(&needs, "\n// peakFMAs is the number of vector multiply-adds in a round of a peak routine.\nconst "+
		"peakFMAs = %d\n", peakFMAs)
	for _, t := range x86Targets() {
		f, err := compile(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		for name, make := range map[string]printer.Builder{
			t.name + "_amd64.s":             printer.NewGoAsm,
			"stubs_" + t.name + "_amd64.go": printer.NewStubs,
		} {
			if all[name], err = make(cfg).Print(f); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		writeNeeds(&needs, t, f)
	}
	var err error
	all["needs_amd64.go"], err = format.Source(needs.Bytes())
	return all, err
}

// compile builds the file of a target: all routines for both element types.
func compile(t target) (*ir.File, error) {
	c := build.NewContext()
	c.Constraint(buildtags.Not("purego"))
	for _, size := range []int{4, 8} {
		e := &emitter{Context: c, target: t, size: size}
		e.constTable()
		e.dist()
		e.outer()
		for f := range families {
			e.function(f, 0)
			for _, early := range e.earlyParts() {
				if f.root() {
					e.function(f, early)
				}
			}
		}
		for _, early := range e.earlyParts() {
			e.distRoot(early)
		}
		e.accJ()
		e.accI()
		e.rowSum()
		e.gemm("Gemm", false)
		e.gemm("GemmPanels", true)
		e.transpose()
		e.dot()
		e.axpy()
		e.peak()
	}
	convert(&emitter{Context: c, target: t, size: 8})
	(&emitter{Context: c, target: t, size: 4}).within()
	(&emitter{Context: c, target: t, size: 8}).triSolve()
	cholesky(&emitter{Context: c, target: t, size: 8})
	lanes(&emitter{Context: c, target: t, size: 8})
	sparse(&emitter{Context: c, target: t, size: 8})
	f, err := c.Result()
	if err != nil {
		return nil, err
	}
	return f, pass.Compile.Execute(f)
}

// function emits the routines that evaluate f.
func (e *emitter) function(f family, early int) {
	e.cov(f, early)
	e.weight(f, early)
	e.fused(f, 1, early)
	e.fused(f, 2, early)
}

// writeNeeds writes the list of features that the routines of f use, as avo
// derived it from their instructions.
func writeNeeds(w *bytes.Buffer, t target, f *ir.File) {
	var isa []string
	for _, fn := range f.Functions() {
		isa = append(isa, fn.ISA...)
		for _, i := range fn.Instructions() {
			if slices.ContainsFunc(i.Registers(), needsVL) {
				isa = append(isa, "AVX512VL")
			}
		}
	}
	for i, name := range isa {
		if name == "MMX+" { // of PREFETCHT0, which came with SSE; cpuid names AMD's part of that set only
			isa[i] = "SSE"
		}
	}
	slices.Sort(isa)
	fmt.Fprintf(w, "\n// %sNeeds are the CPU features that the routines of %s use.\n", t.name, t.name)
	fmt.Fprintf(w, "var %sNeeds = []cpuid.FeatureID{cpuid.%s}\n", t.name, strings.Join(slices.Compact(isa), ", cpuid."))
}

// needsVL tells whether r is a short vector register that only AVX-512VL has.
// avo chooses the form of an instruction, and so its feature, before it
// chooses the register.
func needsVL(r reg.Register) bool {
	p, ok := r.(reg.Physical)
	return ok && p.Kind() == reg.KindVector && p.Size() < 64 && p.PhysicalIndex() >= 16
}

package main

import (
	"fmt"
	"slices"
	"strings"

	"bbgp.dev/bbgp/enum"
)

// usualStdErr is the default of --lml-se.
const usualStdErr = 1e-3

// takers says of flags of modelling whether they are set, and which methods take something from them.
var takers = []struct {
	flag string
	set  func(*modelling) bool
	by   []enum.Method
}{
	{"rank", func(m *modelling) bool { return m.rank != auto },
		[]enum.Method{enum.MethodBBGP, enum.MethodSGPR, enum.MethodCGLB, enum.MethodIterative, enum.MethodRR}},
	{"neighbours", func(m *modelling) bool { return m.neighbours != auto }, []enum.Method{enum.MethodBBGP}},
	{"probes", func(m *modelling) bool { return m.probes != auto },
		[]enum.Method{enum.MethodBBGP, enum.MethodIterative, enum.MethodRR}},
	{"lml-se", func(m *modelling) bool { return m.lmlStdErr != usualStdErr },
		[]enum.Method{enum.MethodBBGP, enum.MethodIterative, enum.MethodRR}},
	{"precision", func(m *modelling) bool { return m.precision == string(enum.PrecisionF32) },
		[]enum.Method{enum.MethodBBGP, enum.MethodIterative, enum.MethodRR}},
	{"product", func(m *modelling) bool { return m.product == string(enum.ProductH2) },
		[]enum.Method{enum.MethodBBGP}},
	{"tolerance", func(m *modelling) bool { return m.tolerance != 0 }, []enum.Method{enum.MethodBBGP}},
}

// unused returns the flags that are set and of which a method takes nothing.
func (m *modelling) unused(method enum.Method) (flags []string) {
	for _, t := range takers {
		if t.set(m) && !slices.Contains(t.by, method) {
			flags = append(flags, "--"+t.flag)
		}
	}
	return flags
}

// checkUnused refuses flags that would do nothing.
func (m *modelling) checkUnused() error {
	if m.tolerance != 0 && m.product == string(enum.ProductDense) {
		return usagef("--tolerance: product dense takes nothing from it; leave it out")
	}
	method := enum.Method(m.method)
	if !slices.Contains(enum.Methods(), method) { // chosen later, or refused as a word
		return nil
	}
	if flags := m.unused(method); len(flags) > 0 {
		return usagef("%s: method %s takes nothing from it; leave it out", flags[0], method)
	}
	if m.rank == "0" && (method == enum.MethodSGPR || method == enum.MethodCGLB) {
		return usagef("--rank 0: method %s needs inducing rows", method)
	}
	return nil
}

// unusedNote says which flags did nothing as a method was chosen that takes nothing from them, "" for none.
func (m *modelling) unusedNote(method enum.Method) string {
	flags := m.unused(method)
	if len(flags) == 0 || m.method != "" {
		return ""
	}
	return fmt.Sprintf("method %s was chosen, which takes nothing from %s; --method bbgp does", method,
		strings.Join(flags, ", "))
}

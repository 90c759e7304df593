package asm

import (
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// Peak runs n rounds of fused multiply-adds on registers and returns how many
// floating-point operations they were (two for each multiply-add of a lane).
// The multiply-adds of a round are independent and many enough to keep two
// pipes busy, so the time of Peak, measured beside another routine on the same
// core, gives the limit that the vector units set. One call should stay below
// 100 µs: n of some thousands.
func (k *Kit[T]) Peak(n int) float64 {
	if n < 1 {
		panic("asm: Peak: bad length")
	}
	k.peak(n)
	return float64(n) * float64(k.peakFlops)
}

// genericPeakFMAs is the number of multiply-adds in a round of genericPeak.
const genericPeakFMAs = 4

// genericPeak is the limit of plain Go, one element at a time.
func genericPeak[T Float](n int) {
	var a, b, c, d, x T
	for range n {
		a, b, c, d = fma(x, x, a), fma(x, x, b), fma(x, x, c), fma(x, x, d)
	}
	if a+b+c+d != 0 {
		panic("asm: Peak: not zero") // keeps the loop from being dropped
	}
}

// CPU names the processor and those of its features that the choice of an
// implementation depends on.
func CPU() string {
	name := strings.TrimSpace(cpuid.CPU.BrandName)
	if name == "" {
		name = "unknown processor"
	}
	var have []string
	for _, f := range []cpuid.FeatureID{
		cpuid.AVX2, cpuid.FMA3, cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.ASIMD,
	} {
		if cpuid.CPU.Supports(f) {
			have = append(have, f.String())
		}
	}
	if len(have) == 0 {
		return name
	}
	return name + " (" + strings.Join(have, " ") + ")"
}

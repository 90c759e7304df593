package gp

import (
	"math"
	"math/rand/v2"

	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// KernelOf returns the covariance function of p, whose family has been checked.
func KernelOf(p Params) kernelmv.Kernel {
	f, err := kernelmv.ParseFamily(p.Kernel)
	if err != nil {
		panic("gp: KernelOf: unchecked kernel name")
	}
	return kernelmv.Kernel{Family: f, Variance: p.Variance, Lengthscales: p.Lengthscales}
}

// NoiseOf returns the diagonal σ_n² d_i + e_i.
func NoiseOf(p Params, d *Table) []float64 {
	v := make([]float64, d.X.Rows)
	for i := range v {
		v[i] = p.Noise
		if d.NoiseScale != nil {
			v[i] *= d.NoiseScale[i]
		}
		if d.NoiseExtra != nil {
			v[i] += d.NoiseExtra[i]
		}
	}
	return v
}

// MeanInfo returns 1'A⁻¹1 for n×n A, where solve sets dst = A⁻¹ src.
func MeanInfo(e *linalg.Engine, n int, solve func(dst, src linalg.Matrix)) float64 {
	ones, x := linalg.NewMatrix(n, 1), linalg.NewMatrix(n, 1)
	for i := range ones.Data {
		ones.Data[i] = 1
	}
	solve(x, ones)
	return max(e.Dot(ones.Data, x.Data), 0)
}

// SignProbes returns n×s random signs: of all probes with independent entries of
// unit variance, signs make the least variance of w'log(A)w.
func SignProbes(n, s int, seed uint64) linalg.Matrix { return SignRows(n, s, seed, 0, n) }

// SignRows returns the rows from..to-1 of SignProbes.
func SignRows(n, s int, seed uint64, from, to int) linalg.Matrix {
	rng := rand.New(rand.NewPCG(seed, 0x70726f6265))
	w := linalg.NewMatrix(to-from, s)
	for range from * ((s + 63) / 64) {
		rng.Uint64()
	}
	for i := range to - from {
		bits := uint64(0)
		for j := range s {
			if j%64 == 0 {
				bits = rng.Uint64()
			}
			w.Data[i*s+j] = float64(int(bits&1)*2 - 1)
			bits >>= 1
		}
	}
	return w
}

// DropFar returns p with +Inf in place of FarLength.
func DropFar(p Params) Params {
	q := p.Clone()
	for j, l := range q.Lengthscales {
		if l == FarLength {
			q.Lengthscales[j] = math.Inf(1)
		}
	}
	return q
}

// FarLength stands for a lengthscale of +Inf where the gradient by w = 1/ℓ² at w = 0
// is wanted: ∂L/∂log ℓ = -2 w ∂L/∂w keeps its digits. Values are those of +Inf: beside a noise of 1e-9 σ_f² the 1e-8
// of a distance that it leaves is too much, and inputs that are not standardised may be larger.
const FarLength = 1e8

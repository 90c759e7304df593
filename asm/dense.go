package asm

import (
	"math"
	"unsafe"
)

// Routines of dense linear algebra, float64.

const (
	GemmRows = 8  // rows of a micro-tile of Gemm
	GemmCols = 24 // its columns

	TriUnit = 24 // unknowns that TriSolve solves for

	TransRows = 8 // rows that Transpose takes
)

// Gemm sets the micro-tile C = A B, or adds C += A B. C has GemmRows rows and
// GemmCols columns, row stride ldc; A is packed [depth][GemmRows], B
// [depth][GemmCols].
func (im *Impl) Gemm(c []float64, ldc int, a, b []float64, depth int, add bool) {
	if depth < 1 || ldc < GemmCols || len(c) < (GemmRows-1)*ldc+GemmCols || len(a) < depth*GemmRows || len(b) < depth*GemmCols {
		panic("asm: Gemm: bad lengths")
	}
	flag := 0
	if add {
		flag = 1
	}
	im.gemm(&c[0], ldc, &a[0], &b[0], depth, flag)
}

// TriSolve solves triangular systems by substitution for GemmCols right-hand
// sides: with x_r the GemmCols numbers at x[at+r·stride], r < TriUnit, in turn
//
//	x_r = x_r l[r][r],   x_k -= l[r][k] x_r for r < k < TriUnit.
//
// So l is L' row by row, with 1/L_rr on the diagonal; what is below is not
// read. stride may be negative, which solves for an upper triangle from its
// end. Same bits in every implementation.
func (im *Impl) TriSolve(x []float64, at, stride int, l []float64) {
	last := at + (TriUnit-1)*stride
	if max(stride, -stride) < GemmCols || min(at, last) < 0 ||
		max(at, last)+GemmCols > len(x) || len(l) < TriUnit*TriUnit {
		panic("asm: TriSolve: bad lengths")
	}
	im.triSolve(&x[at], stride, &l[0])
}

// Transpose sets dst[k·dstStride+i] = src[i·srcStride+k], i < TransRows, k < n.
// dst and src do not overlap.
func (im *Impl) Transpose(dst []float64, dstStride int, src []float64, srcStride, n int) {
	if n < 1 || dstStride < TransRows || srcStride < n || len(dst) < (n-1)*dstStride+TransRows ||
		len(src) < (TransRows-1)*srcStride+n {
		panic("asm: Transpose: bad lengths")
	}
	whole := n / TransRows * TransRows
	if whole > 0 {
		im.transpose(&dst[0], dstStride, &src[0], srcStride, whole)
	}
	for k := whole; k < n; k++ {
		for i := range TransRows {
			dst[k*dstStride+i] = src[i*srcStride+k]
		}
	}
}

func genericGemm(c *float64, ldc int, a, b *float64, k, add int) {
	out := unsafe.Slice(c, (GemmRows-1)*ldc+GemmCols)
	x, y := unsafe.Slice(a, k*GemmRows), unsafe.Slice(b, k*GemmCols)
	for i := range GemmRows {
		for j := range GemmCols {
			s := 0.0
			for l := range k {
				s = math.FMA(x[l*GemmRows+i], y[l*GemmCols+j], s)
			}
			if add != 0 {
				s += out[i*ldc+j]
			}
			out[i*ldc+j] = s
		}
	}
}

func genericTriSolve(x *float64, stride int, l *float64) {
	row := func(r int) []float64 {
		return unsafe.Slice((*float64)(unsafe.Add(unsafe.Pointer(x), 8*r*stride)), GemmCols)
	}
	coef := unsafe.Slice(l, TriUnit*TriUnit)
	for r := range TriUnit {
		xr := row(r)
		for j := range xr {
			xr[j] *= coef[r*TriUnit+r]
		}
		for k := r + 1; k < TriUnit; k++ {
			v := -coef[r*TriUnit+k]
			for j, y := range row(k) {
				row(k)[j] = math.FMA(v, xr[j], y)
			}
		}
	}
}

func genericTranspose(dst *float64, dstStride int, src *float64, srcStride, n int) {
	out := unsafe.Slice(dst, (n-1)*dstStride+TransRows)
	in := unsafe.Slice(src, (TransRows-1)*srcStride+n)
	for i := range TransRows {
		for k, v := range in[i*srcStride:][:n] {
			out[k*dstStride+i] = v
		}
	}
}

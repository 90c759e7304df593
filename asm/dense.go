package asm

import (
	"math"
	"unsafe"
)

// Routines of dense linear algebra.

const (
	GemmRows = 8  // rows of a micro-tile of Gemm
	GemmCols = 24 // its columns for float64: see GemmWidth

	TriUnit = 24 // unknowns that TriSolve solves for

	TransRows = 8 // rows that Transpose takes
)

// GemmWidth is the number of columns of a micro-tile of Gemm: 192 bytes of B,
// which are 24 float64 or 48 float32.
func GemmWidth[T Float]() int { return 3 * Block[T]() }

// Gemm sets the micro-tile C = alpha A B, or adds C += alpha A B. C has GemmRows
// rows and GemmWidth columns, row stride ldc; A is packed [depth][GemmRows], B
// [depth][GemmWidth]. The sum over the depth is taken in T, in order, and added
// to C in float64: a caller whose depth grows with the data cuts it.
func (k *Kit[T]) Gemm(c []float64, ldc int, alpha float64, a, b []T, depth int, add bool) {
	k.checkGemm(c, ldc, a, b, depth)
	k.gemm(&c[0], ldc, &a[0], &b[0], nil, depth, alpha, flag(add))
}

// GemmPanels is Gemm for B packed as three panels [depth][GemmWidth/3]: for float64
// such a panel is an A as well. next is an A, or a part of one, that will be read
// soon: depth/4 lines of the cache from there on may be fetched meanwhile.
func (k *Kit[T]) GemmPanels(c []float64, ldc int, alpha float64, a, b, next []T, depth int, add bool) {
	k.checkGemm(c, ldc, a, b, depth)
	k.gemmPanels(&c[0], ldc, &a[0], &b[0], &next[0], depth, alpha, flag(add))
}

func (k *Kit[T]) checkGemm(c []float64, ldc int, a, b []T, depth int) {
	if width := GemmWidth[T](); depth < 1 || ldc < width || len(c) < (GemmRows-1)*ldc+width ||
		len(a) < depth*GemmRows || len(b) < depth*width {
		panic("asm: Gemm: bad lengths")
	}
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
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
func (k *Kit[T]) Transpose(dst []T, dstStride int, src []T, srcStride, n int) {
	if n < 1 || dstStride < TransRows || srcStride < n || len(dst) < (n-1)*dstStride+TransRows ||
		len(src) < (TransRows-1)*srcStride+n {
		panic("asm: Transpose: bad lengths")
	}
	whole := n / TransRows * TransRows
	if whole > 0 {
		k.transpose(&dst[0], dstStride, &src[0], srcStride, whole)
	}
	for j := whole; j < n; j++ {
		for i := range TransRows {
			dst[j*dstStride+i] = src[i*srcStride+j]
		}
	}
}

func genericGemm[T Float](c *float64, ldc int, a, b, _ *T, k int, alpha float64, add int) {
	width := GemmWidth[T]()
	gemmOf(c, ldc, a, unsafe.Slice(b, k*width), width, width, k, alpha, add)
}

func genericGemmPanels[T Float](c *float64, ldc int, a, b, _ *T, k int, alpha float64, add int) {
	width := Block[T]()
	gemmOf(c, ldc, a, unsafe.Slice(b, 3*k*width), width, k*width, k, alpha, add)
}

// gemmOf takes B in panels of some width, each at panel numbers from the last.
func gemmOf[T Float](c *float64, ldc int, a *T, y []T, width, panel, k int, alpha float64, add int) {
	cols := GemmWidth[T]()
	out, x := unsafe.Slice(c, (GemmRows-1)*ldc+cols), unsafe.Slice(a, k*GemmRows)
	for i := range GemmRows {
		for j := range cols {
			var s T
			for l := range k {
				s = fma(x[l*GemmRows+i], y[j/width*panel+l*width+j%width], s)
			}
			sum := float64(s)
			if add != 0 {
				out[i*ldc+j] = math.FMA(alpha, sum, out[i*ldc+j])
			} else {
				out[i*ldc+j] = alpha * sum
			}
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

func genericTranspose[T Float](dst *T, dstStride int, src *T, srcStride, n int) {
	out := unsafe.Slice(dst, (n-1)*dstStride+TransRows)
	in := unsafe.Slice(src, (TransRows-1)*srcStride+n)
	for i := range TransRows {
		for k, v := range in[i*srcStride:][:n] {
			out[k*dstStride+i] = v
		}
	}
}

package linalg

import "bbgp.dev/asm"

// packAlong packs columns j .. j+width-1 and rows k0 .. k0+depth-1 of m as
// [depth][w], w = len(dst)/depth >= width, zero beyond width.
func packAlong(dst []float64, m Matrix, j, width, k0, depth int) {
	w := len(dst) / depth
	if width < w {
		clear(dst)
		for k := range depth {
			copy(dst[k*w:][:width], m.Data[(k0+k)*m.Stride+j:])
		}
		return
	}
	src := m.Data[k0*m.Stride+j:]
	switch w {
	case gemmMR:
		for k := range depth {
			v := *(*[gemmMR]float64)(src[k*m.Stride:]) // a copy: operands that may overlap cost a call
			*(*[gemmMR]float64)(dst[k*gemmMR:]) = v
		}
	case gemmNR:
		for k := range depth {
			v := *(*[gemmNR]float64)(src[k*m.Stride:])
			*(*[gemmNR]float64)(dst[k*gemmNR:]) = v
		}
	default:
		panic("linalg: packAlong: no such width")
	}
}

// packAcross packs rows j .. j+width-1 and columns k0 .. k0+depth-1 of m as
// [depth][w], w = len(dst)/depth >= width, zero beyond width.
func packAcross(impl *asm.Impl, dst []float64, m Matrix, j, width, k0, depth int) {
	w, i := len(dst)/depth, 0
	for ; i+asm.TransRows <= width; i += asm.TransRows {
		impl.Transpose(dst[i:], w, m.Data[(j+i)*m.Stride+k0:], m.Stride, depth)
	}
	if i == w {
		return
	}
	for k := range depth {
		clear(dst[k*w+i : (k+1)*w])
	}
	for ; i < width; i++ {
		for k, v := range m.Data[(j+i)*m.Stride+k0:][:depth] {
			dst[k*w+i] = v
		}
	}
}

// unpackAcross is the inverse of packAcross for all of m: m[i][k] = src[k·w+i].
func unpackAcross(impl *asm.Impl, m Matrix, src []float64, w int) {
	done := 0
	for ; done+asm.TransRows <= m.Cols && m.Rows > 0; done += asm.TransRows {
		impl.Transpose(m.Data[done:], m.Stride, src[done*w:], w, m.Rows)
	}
	for i := range m.Rows {
		for k := done; k < m.Cols; k++ {
			m.Data[i*m.Stride+k] = src[k*w+i]
		}
	}
}

// reserve returns a slice of length n, s itself if it is large enough. Its
// contents are undefined.
func reserve(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}

// roundUp is the smallest multiple of unit that is at least n.
func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// reserveParts returns n numbers of scratch memory that lives until the next call.
func (e *Engine) reserveParts(n int) []float64 {
	e.parts = reserve(e.parts, n)
	return e.parts
}

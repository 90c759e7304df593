package linalg

import "bbgp.dev/asm"

// packGroup is the number of panels that are packed together, so that a row is
// read in pieces of several cache lines.
const packGroup = 4

// packAlong packs columns j .. j+width-1 and rows k0 .. k0+depth-1 of m as panels
// [⌈width/w⌉][depth][w], w = gemmMR or gemmNR, the last one with zeros beyond width.
func packAlong(dst []float64, w int, m Matrix, j, width, k0, depth int) {
	for width >= w {
		count := min(packGroup, width/w)
		for k := range depth {
			row := m.Data[(k0+k)*m.Stride+j:][:count*w]
			for p := range count {
				out := dst[(p*depth+k)*w:]
				if w == gemmMR {
					v := *(*[gemmMR]float64)(row[p*gemmMR:]) // a copy: operands that may overlap cost a call
					*(*[gemmMR]float64)(out) = v
				} else {
					v := *(*[gemmNR]float64)(row[p*gemmNR:])
					*(*[gemmNR]float64)(out) = v
				}
			}
		}
		dst, j, width = dst[count*w*depth:], j+count*w, width-count*w
	}
	if width == 0 {
		return
	}
	for k := range depth {
		out := dst[k*w:][:w]
		copy(out, m.Data[(k0+k)*m.Stride+j:][:width])
		clear(out[width:])
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

package linalg

import (
	"bbgp.dev/asm"
	"bbgp.dev/linalg/internal/room"
)

const (
	// packCols columns, of several panels, are packed together, so that a row is
	// read in pieces of many cache lines.
	packCols = 96
	// packRows rows of A are packed together, just before they are used.
	packRows = 4 * gemmMR
)

// packAlong packs columns j .. j+width-1 and rows k0 .. k0+depth-1 of m as panels
// [⌈width/w⌉][depth][w], w = gemmMR or gemmNR, the last one with zeros beyond
// width.
func packAlong(dst []float64, w int, m Matrix, j, width, k0, depth int) {
	for width >= w {
		count := min(packCols/w, width/w)
		for k := range depth {
			row := m.Data[(k0+k)*m.Stride+j:][:count*w]
			for p := range count {
				copyPanel(dst[(p*depth+k)*w:], row[p*w:], w)
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

// copyPanel copies w elements, by way of an array: operands that may overlap
// cost a call.
func copyPanel(dst, src []float64, w int) {
	if w == gemmNR {
		v := *(*[gemmNR]float64)(src)
		*(*[gemmNR]float64)(dst) = v
		return
	}
	v := *(*[gemmMR]float64)(src)
	*(*[gemmMR]float64)(dst) = v
}

// packAcross packs rows j .. j+width-1 and columns k0 .. k0+depth-1 of m as
// [depth][w], w = len(dst)/depth >= width, zero beyond width.
func packAcross(kit *asm.Kit[float64], dst []float64, m Matrix, j, width, k0, depth int) {
	w, i := len(dst)/depth, 0
	for ; i+asm.TransRows <= width; i += asm.TransRows {
		kit.Transpose(dst[i:], w, m.Data[(j+i)*m.Stride+k0:], m.Stride, depth)
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
func unpackAcross(kit *asm.Kit[float64], m Matrix, src []float64, w int) {
	done := 0
	for ; done+asm.TransRows <= m.Cols && m.Rows > 0; done += asm.TransRows {
		kit.Transpose(m.Data[done:], m.Stride, src[done*w:], w, m.Rows)
	}
	for i := range m.Rows {
		for k := done; k < m.Cols; k++ {
			m.Data[i*m.Stride+k] = src[k*w+i]
		}
	}
}

// TransposeTo sets dst = src' on the calling thread. They do not overlap.
func (e *Engine) TransposeTo(dst, src Matrix) {
	check(dst, src)
	if dst.Rows != src.Cols || dst.Cols != src.Rows {
		panic("linalg: TransposeTo: shapes do not fit")
	}
	if len(src.Data) > 0 {
		unpackAcross(&e.Impl.F64, dst, src.Data, src.Stride)
	}
}

// Scratch returns n numbers of memory that lives until the next call.
func (e *Engine) Scratch(n int) []float64 {
	e.parts = room.Reserve(e.parts, n)
	return e.parts
}

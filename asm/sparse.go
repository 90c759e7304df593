package asm

import (
	"math"
	"unsafe"
)

// SparseCols is the number of columns of the dense block that GatherRows and
// ScatterRows work on at a time.
const SparseCols = 8

// GatherRows sets y = W x for a sparse W with the same number of entries in
// each row:
//
//	y[q] = Σ_k w[q width + k] x[idx[q width + k]],   y[q], x[i] rows of SparseCols
//
// width is 4 m + 1. The first term starts the sum, the others go to four sums
// by k mod 4, in index order by fused multiply-adds; y = ((s0+s2) + (s1+s3)).
// All implementations give the same bits. The indices must lie within x.
// y and x do not overlap.
func (im *Impl) GatherRows(y, w []float64, idx []int32, x []float64, rows, width int) {
	if width < 1 || width%4 != 1 || rows < 0 || len(y) < rows*SparseCols || len(w) < rows*width ||
		len(idx) < rows*width {
		panic("asm: GatherRows: bad lengths")
	}
	if rows > 0 {
		im.gatherRows(&y[0], &w[0], &idx[0], &x[0], rows, width)
	}
}

// ScatterRows adds y += W'x for such a W:
//
//	y[idx[q width + k]] += w[q width + k] x[q]
//
// for q and k in index order by fused multiply-adds. All implementations give
// the same bits. The indices must lie within y. y and x do not overlap.
func (im *Impl) ScatterRows(y, w []float64, idx []int32, x []float64, rows, width int) {
	if width < 1 || width%4 != 1 || rows < 0 || len(x) < rows*SparseCols || len(w) < rows*width ||
		len(idx) < rows*width {
		panic("asm: ScatterRows: bad lengths")
	}
	if rows > 0 {
		im.scatterRows(&y[0], &w[0], &idx[0], &x[0], rows, width)
	}
}

type sparseRow = [SparseCols]float64

// sparseAt returns row i of a block of SparseCols columns.
func sparseAt(x *float64, i int) *sparseRow {
	return (*sparseRow)(unsafe.Add(unsafe.Pointer(x), i*SparseCols*8))
}

func genericGatherRows(y, w *float64, idx *int32, x *float64, rows, width int) {
	ws, is := unsafe.Slice(w, rows*width), unsafe.Slice(idx, rows*width)
	for q := range rows {
		wq, iq := ws[q*width:(q+1)*width], is[q*width:(q+1)*width]
		var s [4]sparseRow
		for c, v := range sparseAt(x, int(iq[0])) {
			s[0][c] = wq[0] * v
		}
		for k := 1; k < width; k++ {
			fma8(&s[k%4], wq[k], sparseAt(x, int(iq[k])))
		}
		out := sparseAt(y, q)
		for c := range out {
			out[c] = (s[0][c] + s[2][c]) + (s[1][c] + s[3][c])
		}
	}
}

func genericScatterRows(y, w *float64, idx *int32, x *float64, rows, width int) {
	ws, is := unsafe.Slice(w, rows*width), unsafe.Slice(idx, rows*width)
	for q := range rows {
		in := sparseAt(x, q)
		for k, v := range ws[q*width : (q+1)*width] {
			fma8(sparseAt(y, int(is[q*width+k])), v, in)
		}
	}
}

// fma8 sets y += a x.
func fma8(y *sparseRow, a float64, x *sparseRow) {
	for c := range y {
		y[c] = math.FMA(a, x[c], y[c])
	}
}

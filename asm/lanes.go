package asm

import "unsafe"

// Routines that prepare the matrices of CholBatch: they work on CholLanes sets
// of n points (or rows of a factor) at a time, a lane for each set, and write
// lower triangles in the layout of CholBatch. n is 4 m + 1. Elementwise: sums
// are taken in index order by fused multiply-adds, so all implementations give
// the same bits.

// GatherLanes sets dst[(i n + k) CholLanes + l] = src[idx[i CholLanes + l] stride + k]
// for i < rows, k < n: CholLanes rows of src side by side. The rows that idx
// names must lie within src. dst and src do not overlap.
func (im *Impl) GatherLanes(dst, src []float64, stride int, idx []int32, rows, n int) {
	if rows < 1 || n < 1 || stride < n || len(src) < n || len(dst) < rows*n*CholLanes || len(idx) < rows*CholLanes {
		panic("asm: GatherLanes: bad lengths")
	}
	whole := n / CholLanes * CholLanes
	if whole > 0 {
		im.gatherLanes(&dst[0], n, &src[0], stride, &idx[0], rows, whole)
	}
	if whole == n {
		return
	}
	for i := range rows {
		for l, r := range idx[i*CholLanes : (i+1)*CholLanes] {
			for k, v := range src[int(r)*stride+whole : int(r)*stride+n] {
				dst[(i*n+whole+k)*CholLanes+l] = v
			}
		}
	}
}

// LaneDist sets the triangles
//
//	tri[(i(i+1)/2 + j) CholLanes + l] = min(Σ_k (x_ik - x_jk)², clamp),   j <= i < n, k < d
//
// where x_ik is x[(i d + k) CholLanes + l].
func (im *Impl) LaneDist(tri, x []float64, n, d int, clamp float64) {
	if badLanes(tri, x, n, d) {
		panic("asm: LaneDist: bad lengths")
	}
	for i := 0; i < n-1; i += 4 {
		im.laneDist(&tri[0], &x[0], d, i, clamp)
	}
	im.laneDistLast(&tri[0], &x[0], d, n-1, clamp)
}

// LaneSyrk subtracts Σ_k x_ik x_jk from the triangles.
func (im *Impl) LaneSyrk(tri, x []float64, n, depth int) {
	if badLanes(tri, x, n, depth) {
		panic("asm: LaneSyrk: bad lengths")
	}
	for i := 0; i < n-1; i += 4 {
		im.laneSyrk(&tri[0], &x[0], depth, i)
	}
	im.laneSyrkLast(&tri[0], &x[0], depth, n-1)
}

func badLanes(tri, x []float64, n, d int) bool {
	return n < 1 || n%4 != 1 || d < 1 || len(tri) < n*(n+1)/2*CholLanes || len(x) < n*d*CholLanes
}

func genericGatherLanes(dst *float64, dstStride int, src *float64, stride int, idx *int32, rows, n int) {
	from := unsafe.Slice(idx, rows*CholLanes)
	for i := range rows {
		out := unsafe.Slice((*lane8)(unsafe.Add(unsafe.Pointer(dst), i*dstStride*CholLanes*8)), n)
		for l, r := range from[i*CholLanes : (i+1)*CholLanes] {
			for k, v := range unsafe.Slice((*float64)(unsafe.Add(unsafe.Pointer(src), int(r)*stride*8)), n) {
				out[k][l] = v
			}
		}
	}
}

// laneRow returns the d numbers of point i in all lanes.
func laneRow(x *float64, d, i int) []lane8 {
	return unsafe.Slice((*lane8)(unsafe.Add(unsafe.Pointer(x), i*d*CholLanes*8)), d)
}

// genericLaneDist does rows i..i+3 of the triangle, genericLaneDistLast row i.
func genericLaneDist(tri, x *float64, d, i int, clamp float64) {
	for r := i; r < i+4; r++ {
		genericLaneDistLast(tri, x, d, r, clamp)
	}
}

func genericLaneDistLast(tri, x *float64, d, i int, clamp float64) {
	a := laneRow(x, d, i)
	for j, out := range cholRow(tri, i) {
		b := laneRow(x, d, j)
		for l := range out {
			var s float64
			for k := range d {
				t := a[k][l] - b[k][l]
				s = fma(t, t, s)
			}
			out[l] = min(s, clamp) // of NaN, NaN
		}
		cholRow(tri, i)[j] = out
	}
}

// genericLaneSyrk does rows i..i+3 of the triangle, genericLaneSyrkLast row i.
func genericLaneSyrk(tri, x *float64, depth, i int) {
	for r := i; r < i+4; r++ {
		genericLaneSyrkLast(tri, x, depth, r)
	}
}

func genericLaneSyrkLast(tri, x *float64, depth, i int) {
	a, row := laneRow(x, depth, i), cholRow(tri, i)
	for j := range row {
		b := laneRow(x, depth, j)
		for k := range depth {
			fnma8(&row[j], &a[k], &b[k])
		}
	}
}

package asm

import (
	"math"
	"unsafe"
)

// CholLanes is the number of matrices that CholBatch works on at a time.
const CholLanes = 8

// CholBatch regresses the last of n variables on the others, for CholLanes
// covariance matrices A at a time (a row of a Vecchia factor each):
//
//	A = [ N  c ]   (n-1),   b = N^-1 c,   v = d - c'b,   last row := [-b'/√v, 1/√v]
//	    [ c' d ]   1
//
// The lower triangles lie interleaved: element (i, j), j <= i, of matrix l is
// a[(i(i+1)/2 + j) CholLanes + l]. n is 4 m + 1; pad with rows of the identity.
// On return the last row holds the result and the rest the factor L of N, with
// 1/L_ii on its diagonal.
//
// tau[i CholLanes + l] > 0 guards pivot i of matrix l. A pivot of N that is not
// above it (or NaN) drops its variable: 1/L_ii = 0, hence b_i = 0. In the last
// row v is raised to tau. Elementwise: lanes run across matrices, every sum is
// taken in index order by fused multiply-adds, so all implementations give the
// same bits.
func (im *Impl) CholBatch(a, tau []float64, n int) {
	if n < 1 || n%4 != 1 || len(a) < n*(n+1)/2*CholLanes || len(tau) < n*CholLanes {
		panic("asm: CholBatch: bad lengths")
	}
	// Four rows a call keep the calls short: assembly cannot be preempted.
	for i := 0; i < n-1; i += 4 {
		im.cholRows(&a[0], &tau[0], i)
	}
	im.cholLast(&a[0], &tau[0], n)
}

// CholSolve solves N b = c with the factors of N that CholBatch has left in a: it
// replaces the first n-1 elements of the last rows, which hold c, by -b and the last
// one by 1; b_i = 0 for the variables that CholBatch dropped. The guards of the last
// pivots are lost. Elementwise as CholBatch.
func (im *Impl) CholSolve(a, tau []float64, n int) {
	if n < 1 || n%4 != 1 || len(a) < n*(n+1)/2*CholLanes || len(tau) < n*CholLanes {
		panic("asm: CholSolve: bad lengths")
	}
	// A last pivot of -Inf is raised to its guard 1, and b is scaled by -1/√1.
	for l := range CholLanes {
		a[(n*(n+1)/2-1)*CholLanes+l], tau[(n-1)*CholLanes+l] = math.Inf(-1), 1
	}
	im.cholLast(&a[0], &tau[0], n)
}

type lane8 = [CholLanes]float64

// cholRow returns row i of the interleaved triangle.
func cholRow(a *float64, i int) []lane8 {
	return unsafe.Slice((*lane8)(unsafe.Add(unsafe.Pointer(a), i*(i+1)/2*CholLanes*8)), i+1)
}

// genericCholRows factors rows i..i+3, the rows above being done.
func genericCholRows(a, tau *float64, i int) {
	guard := unsafe.Slice((*lane8)(unsafe.Pointer(tau)), i+4)
	for r := i; r < i+4; r++ {
		row := cholRow(a, r)
		cholForward(a, row[:r])
		d := cholPivot(row)
		for l, v := range d {
			row[r][l] = 0
			if v > guard[r][l] {
				row[r][l] = 1 / math.Sqrt(v)
			}
		}
	}
}

// cholForward sets row = L^-1 row for the rows of L before it.
func cholForward(a *float64, row []lane8) {
	for j := range row {
		other, acc := cholRow(a, j), row[j]
		for k := range j {
			fnma8(&acc, &row[k], &other[k])
		}
		for l, v := range acc {
			row[j][l] = v * other[j][l]
		}
	}
}

// cholPivot returns the last element of row less the squares of the others.
func cholPivot(row []lane8) lane8 {
	i := len(row) - 1
	d := row[i]
	for k := range i {
		fnma8(&d, &row[k], &row[k])
	}
	return d
}

// genericCholLast does row n-1: forward solve, v, back solve, scaling.
func genericCholLast(a, tau *float64, n int) {
	row := cholRow(a, n-1)
	cholForward(a, row[:n-1])
	d := cholPivot(row)
	guard := unsafe.Slice((*lane8)(unsafe.Pointer(tau)), n)[n-1]
	for l, v := range d {
		if !(v > guard[l]) {
			v = guard[l]
		}
		row[n-1][l] = 1 / math.Sqrt(v)
	}
	for i := n - 2; i >= 0; i-- {
		other := cholRow(a, i)
		for l, v := range row[i] {
			row[i][l] = v * other[i][l]
		}
		for j := range i {
			fnma8(&row[j], &other[j], &row[i])
		}
	}
	var scale lane8
	for l, v := range row[n-1] {
		scale[l] = 0 - v // +0 where v is 0, other than -v
	}
	for i := range n - 1 {
		for l, v := range row[i] {
			row[i][l] = v * scale[l]
		}
	}
}

// fnma8 sets c -= a b, lane by lane.
func fnma8(c, a, b *lane8) {
	for l := range c {
		c[l] = math.FMA(-a[l], b[l], c[l])
	}
}

package asm

import "unsafe"

// LaneScore adds to acc what the gradient of a Vecchia likelihood needs of matrices
// whose derivative by a parameter k < d is T_ij (x_ik - x_jk)², CholLanes of them at a
// time in the layout of LaneDist:
//
//	acc[2k CholLanes + l]     += Σ_{j<i<n} w_i w_j T_ij (x_ik - x_jk)²
//	acc[(2k+1) CholLanes + l] += Σ_{j<i<n} (w_i v_j + v_i w_j) T_ij (x_ik - x_jk)²
//
// with element i of w and of v, in lane l, at i CholLanes + l. Elementwise, as LaneDist:
// in all implementations the same bits.
func (im *Impl) LaneScore(acc, tri, w, v, x []float64, n, d int) {
	if badLanes(tri, x, n, d) || len(acc) < 2*d*CholLanes || len(w) < n*CholLanes || len(v) < n*CholLanes {
		panic("asm: LaneScore: bad lengths")
	}
	for i := 1; i < n; i++ {
		im.laneScore(&acc[0], &tri[0], &w[0], &v[0], &x[0], d, i)
	}
}

// genericLaneScore adds the terms of row i.
func genericLaneScore(acc, tri, w, v, x *float64, d, i int) {
	sums := unsafe.Slice((*[2]lane8)(unsafe.Pointer(acc)), d)
	ws, vs := laneRow(w, i+1, 0), laneRow(v, i+1, 0)
	a, row := laneRow(x, d, i), cholRow(tri, i)
	for k := range d {
		var s, t lane8
		for j := range i {
			b := laneRow(x, d, j)
			for l, weight := range row[j] {
				e := a[k][l] - b[k][l]
				e *= e
				s[l] = fma(weight*ws[j][l], e, s[l])
				t[l] = fma(weight*vs[j][l], e, t[l])
			}
		}
		for l := range CholLanes {
			sums[k][0][l] = fma(ws[i][l], s[l], sums[k][0][l])
			sums[k][1][l] = fma(vs[i][l], s[l], fma(ws[i][l], t[l], sums[k][1][l]))
		}
	}
}

package kernelmv

import (
	"math"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// The terms of a Vecchia likelihood, asm.CholLanes at a time.

// batch computes the terms of batch b.
func (v *Vecchia) batch(s *vecchiaWork, b int) {
	const L = asm.CholLanes
	o, n := v.op, v.near.width
	im, d := o.engine.Impl, o.pts.dim
	rows := v.near.rows[b*n*L : (b+1)*n*L]
	s.reserve(n, d)
	im.GatherLanes(s.x, o.pts.x, d, rows, n, d)
	im.LaneDist(s.tri, s.x, n, d, asm.Clamp[float64](o.kernel.Family))
	copy(s.weight, s.tri)
	im.F64.Cov(o.kernel.Family, s.tri)
	im.F64.Weight(o.kernel.Family, s.weight)
	v.diagonal(s, rows)
	for l := range L {
		s.pad(n, l, int(v.near.count[b*L+l]))
	}
	im.CholBatch(s.tri, s.tau, n)
	last := s.tri[n*(n-1)/2*L : n*(n+1)/2*L]
	copy(s.w, last)
	copy(last, s.r)
	im.CholSolve(s.tri, s.tau, n)
	for i, u := range last[:(n-1)*L] {
		s.beta[i] = -u
	}
	clear(s.beta[(n-1)*L:])
	clear(s.acc)
	im.LaneScore(s.acc, s.weight, s.w, s.beta, s.x, n, d)
	v.finish(s, rows, b)
}

func (s *vecchiaWork) reserve(n, d int) {
	const L = asm.CholLanes
	if len(s.w) == n*L && len(s.acc) == 2*d*L {
		return
	}
	s.tri, s.weight = grow(s.tri, linalg.TriangleRoom(n)), grow(s.weight, linalg.TriangleRoom(n))
	s.x, s.acc = grow(s.x, n*d*L), grow(s.acc, 2*d*L)
	for _, p := range []*[]float64{&s.tau, &s.r, &s.noise, &s.w, &s.beta} {
		*p = grow(*p, n*L)
	}
}

// diagonal gathers residuals and noise, and adds the noise to the diagonals. The guards
// of the pivots are those of precond.Vecchia.
func (v *Vecchia) diagonal(s *vecchiaWork, rows []int32) {
	const L = asm.CholLanes
	n, s2 := v.near.width, v.op.kernel.Variance
	scale, eps := 1/math.Sqrt(s2), 0x1p-52*float64(n+8)
	for i := range n {
		diag := s.tri[(i*(i+1)/2+i)*L:][:L]
		for l, row := range rows[i*L : (i+1)*L] {
			noise := v.op.noise[row] / s2
			diag[l] += noise
			at := i*L + l
			s.noise[at], s.r[at], s.tau[at] = noise, v.r[row]*scale, eps*diag[l]
			if i == n-1 {
				s.tau[at] = max(s.tau[at], noise)
			}
		}
	}
}

// pad makes rows of the identity of the neighbours that lane l does not have, beyond
// the first count.
func (s *vecchiaWork) pad(n, l, count int) {
	const L = asm.CholLanes
	for i := count; i < n-1; i++ {
		for j := range i {
			s.tri[(i*(i+1)/2+j)*L+l] = 0
		}
		s.tri[(i*(i+1)/2+i)*L+l], s.tau[i*L+l], s.r[i*L+l], s.noise[i*L+l] = 1, 0.5, 0, 0
		for r := i + 1; r < n; r++ {
			s.tri[(r*(r+1)/2+i)*L+l] = 0
		}
	}
}

// finish writes what batch b adds to value, gradient and information.
func (v *Vecchia) finish(s *vecchiaWork, rows []int32, b int) {
	const L = asm.CholLanes
	o, n := v.op, v.near.width
	d, s2 := o.Inputs(), o.kernel.Variance
	f := o.kernel.Family.WeightFactor()
	var sum float64
	for l := range min(L, len(v.at)-b*L) {
		var z, one, noiseS, noiseT, shareS, shareT float64
		for i := range n {
			w, at := s.w[i*L+l], i*L+l
			if w == 0 {
				continue // a row of padding among others, whose share is not its own
			}
			share := v.share[rows[at]] / s2
			z += w * s.r[at]
			one += w
			noiseS += w * w * s.noise[at]
			noiseT += w * s.beta[at] * s.noise[at]
			shareS += w * w * share
			shareT += w * s.beta[at] * share
		}
		sum += math.Log(s.w[(n-1)*L+l]) - 0.5*z*z
		term := 2 * (b*L + l)
		ps, pt := v.parts.Row(term), v.parts.Row(term+1)
		for k, in := range o.pts.dims {
			ps[in], pt[in] = math.Sqrt2*f*s.acc[2*k*L+l], f*s.acc[(2*k+1)*L+l]
		}
		ps[d], pt[d] = math.Sqrt2/2*(1-noiseS), -noiseT
		ps[d+1], pt[d+1] = math.Sqrt2/2*shareS, shareT
		ps[d+2], pt[d+2] = 0, one
		v.right.Data[term], v.right.Data[term+1] = -math.Sqrt2/2*(1-z*z), z
	}
	v.sums[b] = sum
}

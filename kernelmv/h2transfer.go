package kernelmv

import (
	"bbgp.dev/asm"
)

// The ways up and down the tree. The values of a box's Lagrange polynomials at the
// points of a leaf, or at the nodes of its halves (in three inputs: those that h2ball.go
// makes these from) are a tile W: rows are the points,
// columns the nodes. Up, M = W'V and M = Σ W'M of the halves (AccJ); down, Y += W L and L
// of the halves += W L (AccI). W is made anew each time.

// polynomialsTo sets w (rows×cols) to the polynomials of box id at the live points of x
// (·×dim); other rows and columns are 0.
func (f *h2Product[T]) polynomialsTo(w []T, x []float64, live, rows, cols int, id int32) {
	b, side, d := &f.plan.tree.boxes[id], &f.plan.sides[id], f.plan.tree.dim
	cheb := f.plan.orders.cheb
	var ell [h2MaxDim][maxOrder]float64
	for k := range ell {
		ell[k][0] = 1
	}
	q := side.q
	for k := d; k < h2MaxDim; k++ {
		q[k] = 1
	}
	for i := range rows {
		out := w[i*cols : (i+1)*cols]
		if i >= live {
			clear(out)
			continue
		}
		for k, v := range x[i*d : (i+1)*d] {
			t := 0.0
			if h := (b.hi[k] - b.lo[k]) / 2; h > 0 {
				t = (v - b.centre(k)) / h
			}
			if side.ball != nil {
				chebyshevTo(ell[k][:q[k]], t)
			} else {
				cheb.lagrangeTo(ell[k][:q[k]], t)
			}
		}
		if side.ball != nil {
			ballTo(out, side.ball.runs, &ell)
			continue
		}
		ex, a := ell[0][:q[0]], 0
		for _, z := range ell[2][:q[2]] {
			for _, y := range ell[1][:q[1]] {
				productTo(out[a:a+len(ex)], ex, z*y)
				a += len(ex)
			}
		}
		clear(out[a:])
	}
}

// productTo sets dst = a x.
func productTo[T asm.Float](dst []T, x []float64, a float64) {
	dst = dst[:len(x)]
	for len(x) >= 4 && len(dst) >= 4 {
		dst[0], dst[1], dst[2], dst[3] = T(a*x[0]), T(a*x[1]), T(a*x[2]), T(a*x[3])
		dst, x = dst[4:], x[4:]
	}
	for i, v := range x {
		dst[i] = T(a * v)
	}
}

// up sets M of box id from V, or from M of its halves.
func (f *h2Product[T]) up(s *h2Scratch[T], id int32) {
	b, side, p := &f.plan.tree.boxes[id], &f.plan.sides[id], f.p
	m := f.m[side.slot*p : (side.slot+side.rows)*p]
	if side.points {
		clear(m)
		for a := range b.size() {
			for c, v := range f.vi[(b.from+a)*p : (b.from+a+1)*p] {
				m[c*side.rows+a] = v
			}
		}
		return
	}
	cols := padTo(side.nodes, asm.Pad)
	s.acc = grow(s.acc, cols*p)
	clear(s.acc)
	if b.leaf() {
		f.lift(s, id, f.vi[b.from*p:], f.plan.tree.x[b.from*f.plan.tree.dim:], b.size(), cols)
	} else {
		for _, child := range []int32{b.left, b.right} {
			e := &f.plan.sides[child]
			s.vi = grow(s.vi, e.rows*p)
			from := f.m[e.slot*p:]
			for a := range e.rows {
				for c := range p {
					s.vi[a*p+c] = from[c*e.rows+a]
				}
			}
			f.lift(s, id, s.vi, f.plan.xn[e.slot*f.plan.tree.dim:], e.nodes, cols)
		}
	}
	if side.ball != nil {
		f.raise(s, side.ball)
	}
	for c := range p {
		for a := range side.rows {
			m[c*side.rows+a] = 0
			if a < side.nodes {
				m[c*side.rows+a] = T(s.acc[c*cols+a])
			}
		}
	}
}

// lift adds W'V to s.acc for the live rows of vi, which are at x. Sums in T run over
// at most maxSum rows.
func (f *h2Product[T]) lift(s *h2Scratch[T], id int32, vi []T, x []float64, live, cols int) {
	p, d := f.p, f.plan.tree.dim
	s.w, s.sum = grow(s.w, maxSum*cols), grow(s.sum, cols*p)
	for r := 0; r < live; r += maxSum {
		rows := min(maxSum, padTo(live-r, asm.RowUnit))
		f.polynomialsTo(s.w, x[r*d:], live-r, rows, cols, id)
		clear(s.sum)
		f.kit.AccJ(s.sum, s.w[:rows*cols], vi[r*p:(r+rows)*p], rows, cols, p)
		f.add(s.acc, s.sum)
	}
}

// drop adds W L of box id to y (·×p), for live points at x.
func (f *h2Product[T]) drop(s *h2Scratch[T], y []float64, id int32, x []float64, live int) {
	side, p, d := &f.plan.sides[id], f.p, f.plan.tree.dim
	cols := padTo(side.nodes, asm.Pad)
	s.w, s.vj = grow(s.w, maxSum*cols), grow(s.vj, cols*p)
	l := f.l[side.slot*p:]
	if side.ball != nil {
		f.lower(s, side.ball, l, side.rows)
	}
	for c := 0; c < p && side.ball == nil; c++ {
		out := s.vj[c*cols : (c+1)*cols]
		for a, v := range l[c*side.rows:][:side.nodes] {
			out[a] = T(v)
		}
		clear(out[side.nodes:])
	}
	for r := 0; r < live; r += maxSum {
		rows := min(maxSum, padTo(live-r, asm.RowUnit))
		f.polynomialsTo(s.w, x[r*d:], live-r, rows, cols, id)
		f.kit.AccI(y[r*p:(r+rows)*p], s.w[:rows*cols], s.vj, rows, cols, p)
	}
}

// down adds the part of box id to L of its halves.
func (f *h2Product[T]) down(s *h2Scratch[T], id int32) {
	b, p := &f.plan.tree.boxes[id], f.p
	for _, child := range []int32{b.left, b.right} {
		e := &f.plan.sides[child]
		s.yi = grow(s.yi, e.rows*p)
		clear(s.yi)
		f.drop(s, s.yi, id, f.plan.xn[e.slot*f.plan.tree.dim:], e.nodes)
		f.addRows(e, s.yi)
	}
}

// addRows adds y (rows×p) to L of a box.
func (f *h2Product[T]) addRows(side *h2Side, y []float64) {
	p, l := f.p, f.l[side.slot*f.p:]
	for c := range p {
		out := l[c*side.rows : c*side.rows+side.nodes]
		for a := range out {
			out[a] += y[a*p+c]
		}
	}
}

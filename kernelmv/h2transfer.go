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

// up sets M of box id from V, or from M of the boxes below.
func (f *h2Product[T]) up(s *h2Scratch[T], id int32) {
	t, side, p := f.plan.tree, &f.plan.sides[id], f.p
	b := &t.boxes[id]
	if side.points {
		m := f.m[side.slot*p : (side.slot+side.rows)*p]
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
		f.lift(s, id, -1, f.vi[b.from*p:], b.size(), cols)
	}
	t.each(id, func(below int32) {
		e := &f.plan.sides[below]
		from := f.m
		at := e.slot
		if e.cube {
			from, at = f.c, e.spot
		}
		from = from[at*p:]
		s.vi = grow(s.vi, e.rows*p)
		for a := range e.rows {
			for c := range p {
				s.vi[a*p+c] = from[c*e.rows+a]
			}
		}
		f.lift(s, id, below, s.vi, e.nodes, cols)
	})
	if side.spot >= 0 {
		f.keep(f.c[side.spot*p:], s.acc, side, cols)
	}
	if side.slot >= 0 {
		if side.ball != nil {
			f.raise(s, side.ball)
		}
		f.keep(f.m[side.slot*p:], s.acc, side, cols)
	}
}

// keep sets to ([p][rows]) to acc ([p][cols]).
func (f *h2Product[T]) keep(to []T, acc []float64, side *h2Side, cols int) {
	for c := range f.p {
		out := to[c*side.rows : (c+1)*side.rows]
		for a, v := range acc[c*cols:][:side.nodes] {
			out[a] = T(v)
		}
		clear(out[side.nodes:])
	}
}

// lift adds W'V to s.acc, with W the polynomials of box above in a box below, whose live rows vi
// are; -1: at the points of its own. Sums in T run over at most maxSum rows.
func (f *h2Product[T]) lift(s *h2Scratch[T], above, below int32, vi []T, live, cols int) {
	p := f.p
	s.w, s.sum = grow(s.w, maxSum*cols), grow(s.sum, cols*p)
	whole, x := f.linkOf(s, above, below, cols)
	for r := 0; r < live; r += maxSum {
		rows := min(maxSum, padTo(live-r, asm.RowUnit))
		w := f.partOf(s, whole, x, r, live, rows, cols, above)
		clear(s.sum)
		f.kit.AccJ(s.sum, w, vi[r*p:(r+rows)*p], rows, cols, p)
		f.add(s.acc, s.sum)
	}
}

// drop adds W L of box above to y (·×p) of so many live rows.
func (f *h2Product[T]) drop(s *h2Scratch[T], y []float64, above, below int32, live int) {
	p, cols := f.p, padTo(f.plan.sides[above].nodes, asm.Pad)
	s.w = grow(s.w, maxSum*cols)
	whole, x := f.linkOf(s, above, below, cols)
	for r := 0; r < live; r += maxSum {
		rows := min(maxSum, padTo(live-r, asm.RowUnit))
		w := f.partOf(s, whole, x, r, live, rows, cols, above)
		f.kit.AccI(y[r*p:(r+rows)*p], w, s.vj, rows, cols, p)
	}
}

// linkOf returns the polynomials of box above in those of a cube below, or else the points or nodes
// where they are wanted.
func (f *h2Product[T]) linkOf(s *h2Scratch[T], above, below int32, cols int) (whole []T, x []float64) {
	t := f.plan.tree
	switch {
	case below < 0:
		return nil, t.x[t.boxes[above].from*t.dim:]
	case !f.plan.sides[below].cube:
		return nil, f.plan.xn[f.plan.sides[below].slot*t.dim:]
	}
	if step, ok := t.stepOf(above, below); ok {
		return f.tiles[step], nil
	}
	s.whole = grow(s.whole, f.plan.sides[below].rows*cols)
	linkTo(f.plan, s.whole, above, below, cols)
	return s.whole, nil
}

// partOf returns some rows of what linkOf returned, or of what it stands for.
func (f *h2Product[T]) partOf(s *h2Scratch[T], whole []T, x []float64, r, live, rows, cols int, above int32) []T {
	if whole != nil {
		return whole[r*cols:][:rows*cols]
	}
	f.polynomialsTo(s.w, x[r*f.plan.tree.dim:], live-r, rows, cols, above)
	return s.w[:rows*cols]
}

// setDrop sets s.vj (p×cols) to what the polynomials of box id are multiplied by on the way down.
func (f *h2Product[T]) setDrop(s *h2Scratch[T], id int32) {
	side, p := &f.plan.sides[id], f.p
	cols := padTo(side.nodes, asm.Pad)
	s.vj = grow(s.vj, cols*p)
	clear(s.vj)
	switch {
	case side.slot < 0:
	case side.ball != nil:
		f.lower(s, side.ball, f.l[side.slot*p:], side.rows)
	default:
		f.addTo(s.vj, f.l[side.slot*p:], side, cols)
	}
	if side.spot >= 0 {
		f.addTo(s.vj, f.lc[side.spot*p:], side, cols)
	}
}

// addTo adds l ([p][rows]) to v ([p][cols]).
func (f *h2Product[T]) addTo(v []T, l []float64, side *h2Side, cols int) {
	for c := range f.p {
		out := v[c*cols:][:side.nodes]
		for a, x := range l[c*side.rows:][:side.nodes] {
			out[a] += T(x)
		}
	}
}

// down adds the part of box id to L of those below.
func (f *h2Product[T]) down(s *h2Scratch[T], id int32) {
	f.setDrop(s, id)
	f.plan.tree.each(id, func(below int32) {
		e := &f.plan.sides[below]
		s.yi = grow(s.yi, e.rows*f.p)
		clear(s.yi)
		f.drop(s, s.yi, id, below, e.nodes)
		if e.cube {
			addRows(f.lc[e.spot*f.p:], s.yi, e, f.p)
		} else {
			addRows(f.l[e.slot*f.p:], s.yi, e, f.p)
		}
	})
}

// addRows adds y (rows×p) to l ([p][rows]).
func addRows(l, y []float64, side *h2Side, p int) {
	for c := range p {
		out := l[c*side.rows:][:side.nodes]
		for a := range out {
			out[a] += y[a*p+c]
		}
	}
}

package kernelmv

import (
	"math"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// Polynomials in three inputs. Of the products T_a(x) T_b(y) T_c(z) of Chebyshev
// polynomials, those outside the ball of degrees
//
//	A:  Σ_k (a_k / (q_k - 1 + ballRoom))² <= 1
//
// are as small for a function of the distance as what q_k nodes a side leave out (Trefethen
// 2017, Cubature, approximation, and isotropy in the hypercube): half of the nodes of the
// grid do. With the nodes of a side in such an order that the first of them are spread (Leja),
// node i of the grid is taken where i is in A. For with V = LU of one side, V_ia = T_a(x_i),
//
//	Π_k V_k restricted to A = (Π_k L_k restricted to A) (Π_k U_k restricted to A),
//
// as A holds all that is below its members, and so for the inverse, which is made side by
// side (Dyn and Floater 2014, Multivariate polynomial interpolation on lower sets).
//
//	symbol    name    shape
//	A         runs    the degrees, and the places of the nodes; a_0 goes from 0 within a run
//	t(x)              m: T_a(x) of A in this order
//	ξ         grid    m places in the grid of nodes
//	V^-1      inv     m×m, padded; V_ia = T_a(ξ_i)
//
// The Lagrange polynomials are V'^-1 t(x): M = V'^-1 Σ t(x_j) v_j, and values t(x)'V^-1 L.
type ball struct {
	q          [h2MaxDim]int
	runs       []ballRun
	nodes      int // m
	grid       []int
	inv        []float64 // [rows][cols]
	rows, cols int
}

// A ballRun holds the members (0..len-1, y, z) of A, which begin at number from.
type ballRun struct{ from, len, y, z int }

const (
	ballRoom = 0.5
	// ballGrid is the largest grid that a ball is taken from in boxes that are no cubes. Those with
	// more have no partners but in rare cases.
	ballGrid = 729
)

// ballOf returns the ball for q nodes a side.
func (c *chebyshev) ballOf(q [h2MaxDim]int) *ball {
	if b, ok := c.balls[q]; ok {
		return b
	}
	b := &ball{q: q}
	part := func(a, k int) float64 {
		r := float64(a) / (float64(q[k]-1) + ballRoom)
		return r * r
	}
	for z := range q[2] {
		for y := range q[1] {
			run := ballRun{from: b.nodes, y: y, z: z}
			for run.len < q[0] && part(run.len, 0)+part(y, 1)+part(z, 2) <= 1 {
				run.len++
			}
			if run.len > 0 {
				b.runs, b.nodes = append(b.runs, run), b.nodes+run.len
			}
		}
	}
	c.balls[q] = b
	return b
}

// solve sets grid and inv, once.
func (b *ball) solve(c *chebyshev) {
	if b.grid != nil {
		return
	}
	var lower, upper [h2MaxDim]linalg.Matrix
	var order [h2MaxDim][]int
	for k, q := range b.q {
		order[k] = leja(c.x[q])
		lower[k], upper[k] = inverseFactors(c.x[q], order[k])
	}
	m := b.nodes
	for _, r := range b.runs {
		for x := range r.len {
			b.grid = append(b.grid, order[0][x]+b.q[0]*(order[1][r.y]+b.q[1]*order[2][r.z]))
		}
	}
	v := linalg.NewMatrix(m, m)
	for i := range m {
		v.Set(i, i, 1)
	}
	for k := range h2MaxDim {
		b.along(v, k, lower[k], true)
	}
	for k := range h2MaxDim {
		b.along(v, k, upper[k], false)
	}
	b.rows, b.cols = padTo(m, asm.RowUnit), padTo(m, asm.Pad)
	b.inv = make([]float64, b.rows*b.cols)
	for i := range m {
		copy(b.inv[i*b.cols:], v.Row(i))
	}
}

// leja returns the order of nodes in which each is the one whose product of distances from
// those before it is the largest.
func leja(x []float64) []int {
	order, size := make([]int, 0, len(x)), make([]float64, len(x))
	for i := range size {
		size[i] = 1 + math.Abs(x[i])
	}
	for range x {
		best := 0
		for i, s := range size {
			if s > size[best] {
				best = i
			}
		}
		order = append(order, best)
		for i := range size {
			size[i] *= math.Abs(x[i] - x[best])
		}
	}
	return order
}

// inverseFactors returns L^-1 and U^-1 of V_ia = T_a(x_i), rows in that order, L with a
// diagonal of 1.
func inverseFactors(x []float64, order []int) (lower, upper linalg.Matrix) {
	q := len(x)
	v := linalg.NewMatrix(q, q)
	for i, at := range order {
		chebyshevTo(v.Row(i), x[at])
	}
	lower, upper = linalg.NewMatrix(q, q), linalg.NewMatrix(q, q)
	for k := range q {
		lower.Set(k, k, 1)
		upper.Set(k, k, 1)
	}
	for k := range q { // L^-1 V = U
		for i := k + 1; i < q; i++ {
			f := v.At(i, k) / v.At(k, k)
			for c := range q {
				v.Set(i, c, v.At(i, c)-f*v.At(k, c))
				lower.Set(i, c, lower.At(i, c)-f*lower.At(k, c))
			}
		}
	}
	for k := q - 1; k >= 0; k-- { // U X = I
		for c := range q {
			upper.Set(k, c, upper.At(k, c)/v.At(k, k))
			for i := range k {
				upper.Set(i, c, upper.At(i, c)-v.At(i, k)*upper.At(k, c))
			}
		}
	}
	return lower, upper
}

// along multiplies v (m×·), whose rows are the members of A, from the left by a triangle that
// acts on degree k: rows from the last one to the first where that is a lower one.
func (b *ball) along(v linalg.Matrix, k int, tri linalg.Matrix, lower bool) {
	at := map[[h2MaxDim]int]int{}
	var members [][h2MaxDim]int
	for _, r := range b.runs {
		for x := range r.len {
			at[[h2MaxDim]int{x, r.y, r.z}] = len(members)
			members = append(members, [h2MaxDim]int{x, r.y, r.z})
		}
	}
	for j := range members {
		i := j
		if lower {
			i = len(members) - 1 - j
		}
		own := members[i]
		row := v.Row(i)
		for c := range row {
			row[c] *= tri.At(own[k], own[k])
		}
		for a := range b.q[k] {
			other := own
			other[k] = a
			e, ok := at[other]
			if f := tri.At(own[k], a); ok && a != own[k] && f != 0 {
				for c, x := range v.Row(e) {
					row[c] += f * x
				}
			}
		}
	}
}

// chebyshevTo sets out[k] = T_k(t).
func chebyshevTo(out []float64, t float64) {
	last, next := 1.0, t
	for k := range out {
		out[k] = last
		last, next = next, 2*t*next-last
	}
}

// ballTo sets the first numbers of out to t(x), given T_a of every coordinate, and the others to 0.
func ballTo[T asm.Float](out []T, runs []ballRun, t *[h2MaxDim][maxOrder]float64) {
	a := 0
	for _, r := range runs {
		productTo(out[a:a+r.len], t[0][:r.len], t[1][r.y]*t[2][r.z])
		a += r.len
	}
	clear(out[a:])
}

// raise sets s.acc (p×cols) to V'^-1 of itself.
func (f *h2Product[T]) raise(s *h2Scratch[T], b *ball) {
	p := f.p
	s.fold = grow(s.fold, b.rows*p)
	for a := range b.rows {
		for c := range p {
			s.fold[a*p+c] = s.acc[c*b.cols+a]
		}
	}
	clear(s.acc)
	f.op.engine.Impl.F64.AccJ(s.acc, b.inv, s.fold, b.rows, b.cols, p)
}

// lower sets s.vj (p×cols) to V^-1 L, given L (p×stride).
func (f *h2Product[T]) lower(s *h2Scratch[T], b *ball, l []float64, stride int) {
	p := f.p
	s.wide, s.fold = grow(s.wide, p*b.cols), grow(s.fold, b.rows*p)
	clear(s.fold)
	for c := range p {
		out := s.wide[c*b.cols : (c+1)*b.cols]
		clear(out[copy(out, l[c*stride:][:b.nodes]):])
	}
	f.op.engine.Impl.F64.AccI(s.fold, b.inv, s.wide, b.rows, b.cols, p)
	for c := range p {
		out := s.vj[c*b.cols : (c+1)*b.cols]
		for a := range out {
			out[a] = 0
			if a < b.nodes {
				out[a] = T(s.fold[a*p+c])
			}
		}
	}
}

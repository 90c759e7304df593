package krylov

import (
	"math"

	"bbgp.dev/linalg"
)

// A bandEig finds the eigenvalues of a symmetric band matrix H = V diag(λ) V'
// and the first rows of V, at O(k² (b + p)) operations and O(k (b + p)) memory:
// plane rotations take the band to a tridiagonal matrix (Rutishauser 1963,
// Schwarz 1968), implicit QL takes that to its eigenvalues (Golub and Van Loan,
// Matrix Computations, section 8.3), and every rotation is also applied to the
// p leading rows of the identity.
type bandEig struct {
	k, b, p int       // order, half bandwidth, rows of V wanted
	band    []float64 // [k][b+2]: band[i*(b+2)+d] = H(i, i-d), one diagonal for the bulge
	z       []float64 // [k][p]: column i of the leading rows of V
	d, e    []float64
}

func clearOf(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n, n+n/2)
	}
	x = x[:n]
	clear(x)
	return x
}

// load takes H in; where ext has rows, H is extended by one block row with the
// coupling of H and the diagonal block ext.
func (q *bandEig) load(h *BlockTri, ext linalg.Matrix) {
	k := h.Dim() + ext.Rows
	b := 1
	for j := range h.a {
		b = max(b, h.a[j].Rows-1)
		if j+1 < h.Blocks() || ext.Rows > 0 {
			b = max(b, reach(h.b[j]))
		}
	}
	b = min(max(b, ext.Rows-1), max(k-1, 1))
	q.k, q.b, q.p = k, b, h.R0.Rows
	q.band, q.z = clearOf(q.band, k*(b+2)), clearOf(q.z, k*q.p)
	q.d, q.e = clearOf(q.d, k), clearOf(q.e, k)
	for i := range min(k, q.p) {
		q.z[i*q.p+i] = 1
	}
	for j := range h.a {
		q.put(h.a[j], h.off[j], h.off[j])
		if j+1 < h.Blocks() || ext.Rows > 0 {
			q.put(h.b[j], h.off[j+1], h.off[j])
		}
	}
	q.put(ext, h.Dim(), h.Dim())
}

// reach is the largest distance of a nonzero of a subdiagonal block from the
// diagonal: p for an upper triangular block, up to 2p-1.
func reach(b linalg.Matrix) int {
	far := 1
	for r := range b.Rows {
		for c, v := range b.Row(r) {
			if v != 0 {
				far = max(far, b.Cols+r-c)
				break
			}
		}
	}
	return far
}

func (q *bandEig) put(m linalg.Matrix, ro, co int) {
	w := q.b + 2
	for r := range m.Rows {
		for c, v := range m.Row(r) {
			if d := ro + r - co - c; d >= 0 && v != 0 {
				q.band[(ro+r)*w+d] = v
			}
		}
	}
}

// solve leaves the eigenvalues in q.d, in no order, and the leading rows of V
// in q.z. It reports false if QL does not converge (NaN or Inf in H).
func (q *bandEig) solve() bool {
	for j := 0; j < q.k-2; j++ {
		for d := min(q.b, q.k-1-j); d >= 2; d-- {
			q.chase(j, d)
		}
	}
	w := q.b + 2
	for i := range q.k {
		q.d[i] = q.band[i*w]
		if i > 0 {
			q.e[i-1] = q.band[i*w+1]
		}
	}
	return q.ql()
}

// chase zeroes H(j+d, j) and drives the bulge that this makes off the end.
func (q *bandEig) chase(j, d int) {
	w := q.b + 2
	col, row := j, j+d
	for row < q.k {
		x, y := q.band[(row-1)*w+row-1-col], q.band[row*w+row-col]
		if y == 0 {
			return
		}
		r := math.Hypot(x, y)
		q.rotate(row, x/r, y/r, col)
		q.band[(row-1)*w+row-1-col], q.band[row*w+row-col] = r, 0
		col, row = row-1, row+q.b
	}
}

// rotate applies the rotation [c s; -s c] to rows and columns m-1, m of H, from
// column left+1 on: column left is the caller's.
func (q *bandEig) rotate(m int, c, s float64, left int) {
	w := q.b + 2
	lo, hi := q.band[(m-1)*w:m*w], q.band[m*w:(m+1)*w]
	for col := max(left+1, m-q.b); col < m-1; col++ {
		u, v := lo[m-1-col], hi[m-col]
		lo[m-1-col], hi[m-col] = c*u+s*v, c*v-s*u
	}
	a, b, g := lo[0], hi[1], hi[0]
	lo[0] = c*c*a + 2*c*s*b + s*s*g
	hi[0] = s*s*a - 2*c*s*b + c*c*g
	hi[1] = c*s*(g-a) + (c*c-s*s)*b
	for r := m + 1; r <= min(m+q.b, q.k-1); r++ {
		row := q.band[r*w : (r+1)*w]
		u, v := row[r-m+1], row[r-m]
		row[r-m+1], row[r-m] = c*u+s*v, c*v-s*u
	}
	rotateRows(q.z[(m-1)*q.p:m*q.p], q.z[m*q.p:(m+1)*q.p], c, s)
}

func rotateRows(x, y []float64, c, s float64) {
	y = y[:len(x)]
	for i, u := range x {
		v := y[i]
		x[i], y[i] = c*u+s*v, c*v-s*u
	}
}

// ql runs the implicit QL algorithm on (d, e).
func (q *bandEig) ql() bool {
	const sweeps = 60 // QL needs about 1.7 a value; 30 is EISPACK's limit
	d, e := q.d, q.e
	for l := range q.k {
		for sweep := 0; ; sweep++ {
			m := l
			for ; m < q.k-1; m++ {
				// Equivalent to EISPACK's test of e against its neighbours.
				if t := math.Abs(d[m]) + math.Abs(d[m+1]); math.Abs(e[m])+t == t {
					break
				}
			}
			if m == l {
				break
			}
			if sweep == sweeps || math.IsNaN(d[l]) {
				return false
			}
			q.qlSweep(l, m)
		}
	}
	return true
}

func (q *bandEig) qlSweep(l, m int) {
	d, e, p := q.d, q.e, q.p
	g := (d[l+1] - d[l]) / (2 * e[l])
	r := math.Hypot(g, 1)
	g = d[m] - d[l] + e[l]/(g+math.Copysign(r, g))
	s, c, t := 1.0, 1.0, 0.0
	i := m - 1
	for ; i >= l; i-- {
		f, b := s*e[i], c*e[i]
		r = math.Hypot(f, g)
		e[i+1] = r
		if r == 0 {
			d[i+1] -= t
			e[m] = 0
			return
		}
		s, c = f/r, g/r
		g = d[i+1] - t
		r = (d[i]-g)*s + 2*c*b
		t = s * r
		d[i+1] = g + t
		g = c*r - b
		rotateRows(q.z[(i+1)*p:(i+2)*p], q.z[i*p:(i+1)*p], c, s)
	}
	d[l] -= t
	e[l] = g
	e[m] = 0
}

package main

import (
	"math"

	"bbgp.dev/linalg"
)

// A refined knows K̂ in twice the precision and its factor K̂ ≈ LL' in float64, n³/3 of the quick
// operations of the library. Solutions are refined by residuals in twice the precision until
// nothing changes, and the determinant is
//
//	log det K̂ = 2 Σ log L_ii + log det(I + M),   M = L⁻¹EL⁻ᵀ,   E = K̂ - LL',
//
// where LL' is computed without rounding in its first 80 bits: a row of L is cut into three
// parts, two of integers of 20 bits times a power of 2, whose sums of products are exact in
// float64 for up to 4096 rows (Ozaki et al. 2012).
type refined struct {
	e    *linalg.Engine
	k    [][]twice // K̂, n×n
	chol *linalg.Cholesky
	log  float64 // log det K̂
	// exact serves where residuals do not refine.
	exact *exactly
}

const (
	refinedLeast = 400  // rows, below which a factor in twice the precision costs little
	refinedMost  = 4096 // for sums of parts to be exact
	partBits     = 20
	refineSteps  = 60
	formTol      = 1e-7 // of the least that a form is compared with: what z may leave of it
)

// newRefined returns nil where float64 has no factor, or one that is far off.
func newRefined(e *linalg.Engine, k [][]twice) *refined {
	n := len(k)
	a := linalg.NewMatrix(n, n)
	for i, row := range k {
		for j, v := range row {
			a.Set(i, j, v.hi)
		}
	}
	chol, err := e.NewCholesky(a)
	if err != nil {
		return nil
	}
	r := &refined{e: e, k: k, chol: chol}
	m := r.error()
	chol.SolveLTo(m, m)
	flip(m)
	chol.SolveLTo(m, m)
	for i := range n {
		for j := range i {
			s := (m.At(i, j) + m.At(j, i)) / 2
			m.Set(i, j, s)
			m.Set(j, i, s)
		}
		m.Set(i, i, 1+m.At(i, i))
	}
	rest, err := e.NewCholesky(m)
	if err != nil {
		return nil
	}
	r.log = r.chol.LogDet() + rest.LogDet()
	return r
}

// flip transposes a square matrix in place.
func flip(m linalg.Matrix) {
	for i := range m.Rows {
		for j := range i {
			a, b := m.At(i, j), m.At(j, i)
			m.Set(i, j, b)
			m.Set(j, i, a)
		}
	}
}

// error returns K̂ - LL', both triangles.
func (r *refined) error() linalg.Matrix {
	n, l := len(r.k), r.chol.Factor()
	var parts [3]linalg.Matrix
	for c := range parts {
		parts[c] = linalg.NewMatrix(n, n)
	}
	for i := range n {
		most := 0.0
		for _, v := range l.Row(i)[:i+1] {
			most = max(most, math.Abs(v))
		}
		_, exp := math.Frexp(most)
		for j, v := range l.Row(i)[:i+1] {
			for c := range 2 {
				unit := math.Ldexp(1, exp-(c+1)*partBits)
				part := math.Round(v/unit) * unit
				parts[c].Set(i, j, part)
				v -= part
			}
			parts[2].Set(i, j, v)
		}
	}
	e := linalg.NewMatrix(n, n)
	sums := r.products(parts)
	for i := range n {
		for j := range i + 1 {
			d := r.k[i][j].sub(wide(sums[0].At(i, j))).sub(wide(sums[1].At(i, j))).sub(wide(sums[1].At(j, i)))
			d = d.sub(wide(sums[2].At(i, j) + sums[2].At(j, i)))
			e.Set(i, j, d.float())
			e.Set(j, i, d.float())
		}
	}
	return e
}

// products returns L1L1', L1L2', and L1L3' + L2(L2/2 + L3)', of which LL' is the first and the
// others with their transposes, but for L3L3'.
func (r *refined) products(parts [3]linalg.Matrix) (sums [3]linalg.Matrix) {
	const block = 512
	n := len(r.k)
	half := parts[1].Clone()
	for i, v := range parts[2].Data {
		half.Data[i] = half.Data[i]/2 + v
	}
	for c := range sums {
		sums[c] = linalg.NewMatrix(n, n)
	}
	for i := 0; i < n; i += block {
		for j := 0; j < n; j += block {
			to, end := min(i+block, n), min(j+block, n)
			depth := min(to, end) // L is lower triangular
			add := func(c int, a, b linalg.Matrix) {
				r.e.GemmTo(sums[c].Sub(i, to, j, end), 1, a.Sub(i, to, 0, depth), false,
					b.Sub(j, end, 0, depth), true, 1)
			}
			if j <= i {
				add(0, parts[0], parts[0])
			}
			add(1, parts[0], parts[1])
			add(2, parts[0], parts[2])
			add(2, parts[1], half)
		}
	}
	return sums
}

// try returns K̂⁻¹b, and whether residuals lead there.
func (r *refined) try(b []twice) (x []twice, ok bool) {
	n := len(b)
	x = make([]twice, n)
	rest, d := append([]twice{}, b...), linalg.NewMatrix(n, 1)
	before := math.Inf(1)
	for range refineSteps {
		for i, v := range rest {
			d.Data[i] = v.float()
		}
		r.chol.SolveTo(d, d)
		step, size := 0.0, 0.0
		for i, v := range d.Data {
			x[i] = x[i].add(wide(v))
			step, size = max(step, math.Abs(v)), max(size, math.Abs(x[i].hi))
		}
		switch {
		case step <= 0x1p-96*size:
			return x, true
		case !(step < before/2):
			return x, before <= 0x1p-80*size // what twice the precision leaves
		}
		before = step
		for i := range rest {
			rest[i] = b[i].sub(dot(r.k[i], x))
		}
	}
	return x, false
}

// solve returns K̂⁻¹b, by a factor in twice the precision where residuals do not lead there.
func (r *refined) solve(b []twice) []twice {
	if r.exact == nil {
		if x, ok := r.try(b); ok {
			return x
		}
		exact, err := newExactly(r.k)
		if err != nil {
			panic("audit: no factor in twice the precision beside one in float64: " + err.Error())
		}
		r.exact = exact
	}
	return r.exact.solve(b)
}

// forms returns b'K̂⁻¹b from one residual: with z ≈ K̂⁻¹b in float64 and r = b - K̂z it is
// b'z + z'r + r'K̂⁻¹r, whose last term has all the error of z, squared.
func (r *refined) forms(b [][]twice) []twice {
	n := len(r.k)
	z, rest := linalg.NewMatrix(n, len(b)), linalg.NewMatrix(len(b), n)
	for c, v := range b {
		for i := range v {
			z.Set(i, c, v[i].float())
		}
	}
	r.chol.SolveTo(z, z)
	out, column := make([]twice, len(b)), make([]float64, n)
	for c, v := range b {
		for i := range column {
			column[i] = z.At(i, c)
		}
		out[c] = dotFloat(v, column)
		for i := range column {
			rest.Set(c, i, v[i].sub(dotFloat(r.k[i], column)).float())
		}
		out[c] = out[c].add(wide(r.e.Dot(column, rest.Row(c))))
	}
	for c := range b {
		for i, v := range rest.Row(c) {
			z.Set(i, c, v)
		}
	}
	r.chol.SolveTo(z, z)
	for c, v := range b {
		last := 0.0
		for i, w := range rest.Row(c) {
			last += w * z.At(i, c)
		}
		if last > formTol*min(math.Abs(out[c].hi), math.Abs(r.k[0][0].hi-out[c].hi)) {
			out[c] = dot(v, r.solve(v))
			continue
		}
		out[c] = out[c].add(wide(last))
	}
	return out
}

func (r *refined) logDet() float64 { return r.log }

func (r *refined) inverse() linalg.Matrix {
	out := linalg.NewMatrix(len(r.k), len(r.k))
	r.chol.InverseTo(out)
	return out
}

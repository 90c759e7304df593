package kernelmv

import (
	"cmp"
	"math"
	"slices"

	"bbgp.dev/linalg"
)

// A basis of few functions for all that far cubes do to a cube. The coefficients of k(·, y), y
// in a cube two or three away, are the columns of E, in functions φ_a = T_a/s_a that are
// orthonormal by Chebyshev's measure. Its left singular vectors, the largest first, are the best
// basis: k = Σ u_i(x) C_ij u_j(y), u = U'φ, where C has all of its weight in the corner. As k
// depends on the distance alone, each of them is even or odd in every input: they are found among
// the degrees of one parity each. (Fong and Darve 2009, The black-box fast multipole method, 3.)

// orthonormal returns s_a of the members of a ball, and their parities, bit by bit.
func (b *ball) orthonormal() (s []float64, parity []int) {
	for _, r := range b.runs {
		for x := range r.len {
			norm := 1.0
			for _, a := range [...]int{x, r.y, r.z} {
				if a > 0 {
					norm *= math.Sqrt2 / 2
				}
			}
			s = append(s, norm)
			parity = append(parity, x&1|r.y&1<<1|r.z&1<<2)
		}
	}
	return s, parity
}

// farBasis returns rows of U' for E (m×N), so many that the squares of what others would have of E
// add up to tol², and their parities.
func farBasis(e linalg.Matrix, parity []int, tol float64) (u linalg.Matrix, parities []int) {
	type vector struct {
		size   float64
		parity int
		at     []float64
	}
	var all []vector
	for class := range 1 << h2MaxDim {
		var in []int
		for a, c := range parity {
			if c == class {
				in = append(in, a)
			}
		}
		if len(in) == 0 {
			continue
		}
		sizes, left := leftVectors(lowerFactor(e, in))
		for i, size := range sizes {
			v := vector{size, class, make([]float64, len(parity))}
			for j, a := range in {
				v.at[a] = left.At(i, j)
			}
			all = append(all, v)
		}
	}
	slices.SortStableFunc(all, func(a, b vector) int { return cmp.Compare(b.size, a.size) })
	for sum := 0.0; len(all) > 1; all = all[:len(all)-1] {
		if sum += all[len(all)-1].size * all[len(all)-1].size; sum > tol*tol {
			break
		}
	}
	u = linalg.NewMatrix(len(all), len(parity))
	for i, v := range all {
		copy(u.Row(i), v.at)
		parities = append(parities, v.parity)
	}
	return u, parities
}

// lowerFactor returns L with L L' = E E' of the rows in, by Householder reflections of E'.
func lowerFactor(e linalg.Matrix, in []int) linalg.Matrix {
	m := len(in)
	l, rows := linalg.NewMatrix(m, m), make([][]float64, m)
	for i, a := range in {
		rows[i] = slices.Clone(e.Row(a))
	}
	for i := 0; i < m && i < e.Cols; i++ {
		v := rows[i][i:]
		norm := 0.0
		for _, x := range v {
			norm = math.Hypot(norm, x)
		}
		if norm == 0 {
			continue
		}
		if v[0] > 0 {
			norm = -norm
		}
		head := v[0] - norm
		scale := 1 / (norm * head) // of v v', v[0] being head: I + scale v v'
		for j := i + 1; j < m; j++ {
			w := rows[j][i:][:len(v)]
			dot := head * w[0]
			for k := 1; k < len(v); k++ {
				dot += v[k] * w[k]
			}
			dot *= scale
			w[0] += dot * head
			for k := 1; k < len(v); k++ {
				w[k] += dot * v[k]
			}
		}
		v[0] = norm
	}
	for i := range m {
		for j := 0; j <= i && j < e.Cols; j++ {
			l.Set(i, j, rows[i][j])
		}
	}
	return l
}

// leftVectors returns the singular values of l and its left singular vectors as rows, by Jacobi
// rotations of pairs of rows until these are orthogonal. Small ones are as exact as large ones.
func leftVectors(l linalg.Matrix) (sizes []float64, u linalg.Matrix) {
	const sweeps, tolerance = 12, 1e-9
	m := l.Rows
	u = linalg.NewMatrix(m, m)
	for i := range m {
		u.Set(i, i, 1)
	}
	for range sweeps {
		turned := false
		for i := range m {
			for j := range i {
				x, y := l.Row(i), l.Row(j)
				var xx, yy, xy float64
				for k, v := range x {
					xx, yy, xy = xx+v*v, yy+y[k]*y[k], xy+v*y[k]
				}
				if math.Abs(xy) <= tolerance*math.Sqrt(xx*yy) {
					continue
				}
				turned = true
				zeta := (yy - xx) / (2 * xy)
				t := math.Copysign(1, zeta) / (math.Abs(zeta) + math.Hypot(1, zeta))
				c := 1 / math.Hypot(1, t)
				turn(x, y, c, c*t)
				turn(u.Row(i), u.Row(j), c, c*t)
			}
		}
		if !turned {
			break
		}
	}
	for i := range m {
		size := 0.0
		for _, v := range l.Row(i) {
			size = math.Hypot(size, v)
		}
		sizes = append(sizes, size)
	}
	return sizes, u
}

// turn sets x, y = c x - s y, s x + c y.
func turn(x, y []float64, c, s float64) {
	for k, v := range x {
		w := y[k]
		x[k], y[k] = c*v-s*w, s*v+c*w
	}
}

package krylov

import (
	"fmt"
	"math"

	"bbgp.dev/linalg"
)

// The derivative of the log determinant as a matrix of low rank.
//
// With everything but Khat fixed, d (1/s) Σ_i c_i' log(H) c_i = tr(G dH). In the
// eigenbasis of H, G is (1/s) Σ c_i c_i' times, element by element, the Loewner
// matrix of log, (log λ_a - log λ_b)/(λ_a - λ_b). Its rank is low because
//
//	(log λ - log μ)/(λ - μ) = ∫_0^∞ dx / ((λ + x)(μ + x)),
//	G = (1/s) Σ_i ∫_0^∞ (H + x)^-1 c_i c_i' (H + x)^-1 dx,
//
// and the integral needs few nodes: with x = e^τ the integrand is analytic for
// |Im τ| < π, so the trapezoidal rule of step h is off by about exp(-2π²/h), and
// what it leaves out beyond x_0 and x_1 is x_0/λ_min and λ_max/x_1 (Hale, Higham and
// Trefethen 2008 treat such integrals in general). So no eigenvector of H is
// needed, only block tridiagonal solves, O(k p²) for each node.
//
// The columns of all nodes and probes are then compressed in the metric of H,
// where tr(G H) = (1/s) Σ c_i'c_i holds exactly and a part dropped is measured in
// nats per unit of log variance: pivoted Cholesky of their Gram matrix, then the
// leading eigenvectors of what that leaves.

// A LogGrad computes G ≈ Y Y', k×R. The zero value is not ready: set Engine.
type LogGrad struct {
	Engine *linalg.Engine

	ldl      BlockLDL
	z, hz, m []float64
}

// FactorTo returns Y, k×R, with tr(H (G - Y Y')) <= tol tr(H G), for the first s
// columns of the start block; [low, high] holds the eigenvalues of H.
func (g *LogGrad) FactorTo(h *BlockTri, s int, low, high, tol float64) (linalg.Matrix, error) {
	if s < 1 || s > h.R0.Cols || !(low > 0) || !(high >= low) || !(tol > 0) {
		panic("krylov: LogGrad: bad arguments")
	}
	z, err := g.nodes(h, s, low, high, tol/4)
	if err != nil {
		return linalg.Matrix{}, err
	}
	k, cols := z.Rows, z.Cols
	g.hz, g.m = growOf(g.hz, k*cols), growOf(g.m, cols*cols)
	hz, m := view(g.hz, k, cols), view(g.m, cols, cols)
	h.MulTo(hz, z)
	g.Engine.GemmTo(m, 1, z, true, hz, false, 0)
	// What Cholesky drops enters G once squared and once mixed with what it
	// keeps, hence the square of the tolerance.
	l, pivots := cholPivoted(m, tol*tol/16)
	return g.compress(z, l, pivots, tol/2)
}

// nodes returns the columns sqrt(h x_q/s) (H + x_q)^-1 c_i.
func (g *LogGrad) nodes(h *BlockTri, s int, low, high, tol float64) (linalg.Matrix, error) {
	// exp(-2π²/h) comes with a factor 4 (2π²/h): the poles at log λ ± iπ are double.
	decay := math.Log(8 / tol)
	step := 2 * math.Pi * math.Pi / (decay + math.Log(decay+3))
	from, to := math.Log(low*tol/2), math.Log(high*2/tol)
	count := int(math.Ceil((to-from)/step)) + 1
	k := h.Dim()
	g.z = growOf(g.z, k*count*s)
	z := view(g.z, k, count*s)
	z.Zero()
	for q := range count {
		x := math.Exp(from + float64(q)*step)
		if !g.ldl.Reset(h, -x) {
			return linalg.Matrix{}, fmt.Errorf("gradient of the log determinant: %w", g.ldl.Err())
		}
		col, w := z.Sub(0, k, q*s, (q+1)*s), math.Sqrt(step*x/float64(s))
		for i := range h.R0.Rows {
			for j := range s {
				col.Set(i, j, w*h.R0.At(i, j))
			}
		}
		g.ldl.SolveTo(col)
	}
	return z, nil
}

// cholPivoted returns L, N×R, and the pivots of M ≈ L L', stopped when the trace
// of the rest is below tol times that of M. The diagonal of m is overwritten.
func cholPivoted(m linalg.Matrix, tol float64) (linalg.Matrix, []int) {
	n, total := m.Rows, 0.0
	for i := range n {
		total += m.At(i, i)
	}
	l, pivots := linalg.NewMatrix(n, n), []int{}
	for r := range n {
		best, rest := 0, 0.0
		for i := range n {
			d := m.At(i, i)
			rest += max(d, 0)
			if d > m.At(best, best) {
				best = i
			}
		}
		// 1e-15 of the largest is rounding error of the Gram matrix itself.
		if rest <= tol*total || m.At(best, best) <= 1e-15*total {
			break
		}
		root := math.Sqrt(m.At(best, best))
		pivots = append(pivots, best)
		pr := l.Row(best)[:r]
		for i := range n {
			v := m.At(i, best)
			if i == best {
				v = root * root
			} else {
				for c, x := range l.Row(i)[:r] {
					v -= float64(x * pr[c])
				}
			}
			l.Set(i, r, v/root)
		}
		for i := range n {
			v := l.At(i, r)
			m.Data[i*m.Stride+i] -= v * v
		}
		for _, i := range pivots {
			m.Data[i*m.Stride+i] = 0
			if i != best {
				l.Set(i, r, 0)
			}
		}
	}
	return l.Sub(0, n, 0, len(pivots)), pivots
}

// compress forms Y = Z_p L_p'^-1 V Λ^1/2, where L'L = V Λ V' keeps the largest
// eigenvalues: Z_p L_p'^-1 has orthonormal columns in the metric of H, and L'L is
// H^1/2 G H^1/2 in them.
func (g *LogGrad) compress(z, l linalg.Matrix, pivots []int, tol float64) (linalg.Matrix, error) {
	n, r := l.Rows, l.Cols
	inner := linalg.NewMatrix(r, r)
	g.Engine.GemmTo(inner, 1, l.Sub(0, n, 0, r), true, l, false, 0)
	values, vectors, err := linalg.EigenSym(inner)
	if err != nil {
		return linalg.Matrix{}, fmt.Errorf("gradient of the log determinant: %w", err)
	}
	total, rest, keep := 0.0, 0.0, r
	for _, v := range values {
		total += v
	}
	// Values ascend: drop from the front.
	for _, v := range values {
		if rest += max(v, 0); rest > tol*total {
			break
		}
		keep--
	}
	mix := linalg.NewMatrix(r, keep)
	for c := range keep {
		root := math.Sqrt(max(values[r-1-c], 0))
		for i := range r {
			mix.Set(i, c, root*vectors.At(i, r-1-c))
		}
	}
	lp, zp := linalg.NewMatrix(r, r), linalg.NewMatrix(z.Rows, r)
	for i, b := range pivots {
		copy(lp.Row(i), l.Row(b))
		for row := range z.Rows {
			zp.Set(row, i, z.At(row, b))
		}
	}
	solveLowerTrans(lp, mix, 0)
	y := linalg.NewMatrix(z.Rows, keep)
	g.Engine.GemmTo(y, 1, zp, false, mix, false, 0)
	return y, nil
}

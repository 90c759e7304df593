package krylov

import (
	"fmt"
	"math"
	"math/rand/v2"

	"bbgp.dev/linalg"
)

// InvSqrt returns H^-1/2 [R0; 0], k×p, to the relative accuracy tol: in the basis
// T of the process it stands for A^-1/2 W0. From
//
//	λ^-1/2 = 2/π ∫_0^∞ dt / (λ + t²),   t = a^1/2 sc(u),   dt = a^1/2 dn(u)/cn²(u) du,
//
// by the midpoint rule in u on (0, K'), with Jacobi's functions of modulus (1 - a/b)^1/2, where the eigenvalues lie
// in [a, b]: its error is of the order exp(-2π²N/(log(b/a) + 3)) for N points (Hale, Higham and Trefethen 2008).
// It fails with ErrNotDefinite.
func InvSqrt(h *BlockTri, tol float64) (linalg.Matrix, error) {
	if !(tol > 0 && tol < 1) {
		panic("krylov: InvSqrt: bad tolerance")
	}
	low, high, err := enclose(h)
	if err != nil {
		return linalg.Matrix{}, err
	}
	k, p := h.Dim(), h.R0.Cols
	sum, col := linalg.NewMatrix(k, p), linalg.NewMatrix(k, p)
	count := int(math.Ceil(math.Log(8/tol) * (math.Log(high/low) + 3) / (2 * math.Pi * math.Pi)))
	j := newJacobi(math.Sqrt(low / high))
	var ldl BlockLDL
	for q := range count {
		sn, cn, dn := j.at((float64(q) + 0.5) / float64(count))
		if t := sn / cn; !ldl.Reset(h, -low*t*t) {
			return linalg.Matrix{}, fmt.Errorf("inverse root: %w", ldl.Err())
		}
		col.Zero()
		for i := range h.R0.Rows {
			copy(col.Row(i), h.R0.Row(i))
		}
		ldl.SolveTo(col)
		axpyRow(sum.Data, 2*j.quarter*math.Sqrt(low)*dn/(math.Pi*float64(count)*cn*cn), col.Data)
	}
	return sum, nil
}

// A jacobi has Jacobi's elliptic functions of one modulus by arithmetic-geometric means.
type jacobi struct {
	a, c    []float64
	kc      float64
	quarter float64 // K', of the period
}

// newJacobi returns the functions with the complementary modulus kc, 0 < kc < 1.
func newJacobi(kc float64) jacobi {
	a, b := 1.0, kc
	j := jacobi{a: []float64{a}, c: []float64{math.Sqrt(1 - kc*kc)}, kc: kc}
	for j.c[len(j.c)-1] > 1e-15*a {
		j.c = append(j.c, (a-b)/2)
		a, b = (a+b)/2, math.Sqrt(a*b)
		j.a = append(j.a, a)
	}
	j.quarter = math.Pi / (2 * a)
	return j
}

// at returns sn, cn and dn of u quarter, 0 < u < 1.
func (j *jacobi) at(u float64) (sn, cn, dn float64) {
	last := len(j.a) - 1
	phi := math.Ldexp(u*math.Pi/2, last)
	for i := last; i > 0; i-- {
		phi = (phi + math.Asin(j.c[i]*math.Sin(phi)/j.a[i])) / 2
	}
	sn, cn = math.Sincos(phi)
	return sn, cn, math.Hypot(cn, j.kc*sn)
}

// enclose returns bounds of the eigenvalues of H, the lower one within a factor 4.
func enclose(h *BlockTri) (low, high float64, err error) {
	for j := range h.Blocks() {
		for i := range h.Diag(j).Rows {
			s := 0.0
			for _, v := range h.Diag(j).Row(i) {
				s += math.Abs(v)
			}
			if j > 0 {
				for _, v := range h.Sub(j - 1).Row(i) {
					s += math.Abs(v)
				}
			}
			if j+1 < h.Blocks() {
				for r := range h.Sub(j).Rows {
					s += math.Abs(h.Sub(j).At(r, i))
				}
			}
			high = max(high, s)
		}
	}
	var ldl BlockLDL
	for low = high; low > 1e-30*high; low /= 4 {
		if ldl.Reset(h, low) {
			return low, high, nil
		}
	}
	return 0, 0, ldl.Err()
}

// SolveResidual returns the largest |w_i - A x_i| / |w_i| over the columns of the
// start block, where x_i = T H^-1 c_i approximates A^-1 w_i: the residual lies in
// the next block, B_t (H^-1 c_i)_t. 0 once the space is exhausted. It fails with
// ErrNotDefinite.
func SolveResidual(h *BlockTri) (float64, error) {
	k, p := h.Dim(), h.R0.Cols
	var ldl BlockLDL
	if !ldl.Reset(h, 0) {
		return 0, ldl.Err()
	}
	x := linalg.NewMatrix(k, p)
	for i := range h.R0.Rows {
		copy(x.Row(i), h.R0.Row(i))
	}
	ldl.SolveTo(x)
	b := h.Coupling()
	res := linalg.NewMatrix(b.Rows, p)
	addMul(res, 0, b, x, k-b.Cols, 1)
	worst := 0.0
	for c := range p {
		r, w := 0.0, 0.0
		for i := range b.Rows {
			r += res.At(i, c) * res.At(i, c)
		}
		for i := range h.R0.Rows {
			w += h.R0.At(i, c) * h.R0.At(i, c)
		}
		if w > 0 {
			worst = max(worst, math.Sqrt(r/w))
		}
	}
	return worst, nil
}

// endTurns is how often Ends applies H and its inverse: the ends are then off by a few per cent where others are near.
const endTurns = 12

// Ends returns the smallest and the largest eigenvalue of H, from within, by iterations of one vector with H⁻¹
// and with H. It fails with ErrNotDefinite.
func Ends(h *BlockTri) (low, high float64, err error) {
	var ldl BlockLDL
	if !ldl.Reset(h, 0) {
		return 0, 0, ldl.Err()
	}
	rng := rand.New(rand.NewPCG(1, 0x656e6473)) // the second word is the stream of this use
	k := h.Dim()
	small, large, hx := linalg.NewMatrix(k, 1), linalg.NewMatrix(k, 1), linalg.NewMatrix(k, 1)
	for i := range k {
		small.Data[i] = rng.NormFloat64()
	}
	large.CopyFrom(small)
	for range endTurns {
		ldl.SolveTo(small)
		toUnit(small.Data)
		h.MulTo(hx, large)
		toUnit(hx.Data)
		large, hx = hx, large
	}
	rayleigh := func(x linalg.Matrix) float64 {
		h.MulTo(hx, x)
		sum := 0.0
		for i, v := range x.Data {
			sum += v * hx.Data[i]
		}
		return sum
	}
	return rayleigh(small), rayleigh(large), nil
}

// toUnit divides x by its length.
func toUnit(x []float64) {
	square := 0.0
	for _, v := range x {
		square += v * v
	}
	scaleRow(x, 1/math.Sqrt(square))
}

package posterior

import (
	"math"
	"slices"

	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// What rounding may do to bounds of variances and means. All bounds of this package
// that are called exact, rigorous or probable take it in: with u = 2^-53,
//
//	e_i     error of an entry K_ij of row i, in σ_f² (kernelmv.EntryRounding)
//	γ       error of a sum Σ_j K_ij v_j, in σ_f² Σ|v_j| (kernelmv.SumRounding)
//	κ²      σ_f² + the largest noise: the largest element of K̂
//	size    1 + Σ|x_i|  of a combination f* - x'y,
//	loud    (γ + e_*) + Σ|x_i| (γ + e_i).
//
// Regressions. f* - b'y_N, or what V leaves of these, has the variance
// w'Rw, w = (1, -b), R = K̂ - BB' on the rows N and *. Entries of R are off by
// σ_f² e + (m + 2) u κ², |B_i|² <= κ², and its Cholesky factor is that of a matrix
// that differs from R by (n_N + 2) u |L||L'| (Higham 2002, theorem 10.3), whose
// elements are at most (n_N + 2) u κ². Hence the computed variance is that of b but for
//
//	2 σ_f² size loud + (m + n_N + 8) 2u κ² size²;                               (1)
//
// the error of b itself enters by its square. What Regress raises a pivot by is in it.
// With V, c = V'k* is off by |δc| <= (γ + e_*) σ_f² n^1/2 ‖V‖_F, V'K̂V from I by E_H, and
// B from K̂V by E_B: with a = c - B_N'b, |a| <= κ size, this moves the variance by
//
//	2 κ size |δc| + κ² size² ‖E_H‖ + 2 κ size² max_i |E_B,i|;                      (2)
//
// E_H and E_B are measured by products with random vectors (probes.go).
//
// R is nearly singular where N holds what V explains: b would be rounding, times 1e7. So
// the noise is taken 1 + ridge times as large there: for b = (R + D)⁻¹ r,
// D = ridge·noise, the variance is what elimination leaves less b'Db, and
// |b|² <= var/D: no |b_i| exceeds (var/(ridge noise))^1/2.
//
// Probes. ω'ρ = k*'(ω - Vs) - b'(ε - Bs)_N holds for x = V(c - B_N'b) + b and s = V'ε
// whatever B is, and is off by
//
//	loud σ_f² n^1/2 (|ω| + ‖V‖_F |s|),                                         (3)
//
// as Σ_j |K_ij v_j| <= σ_f² n^1/2 |v|.
//
// Iterations. With ρ = k* - K̂x computed from x, each element is off by κ² loud, so
// k*'x + ρ'x by 2 κ² size loud, and (ρ'P⁻¹ρ/a)^1/2 by n^1/2 κ² loud/(a min noise)^1/2.
// P itself is known to elements of K̂, so ρ'P⁻¹ρ to 4 κ² size loud of z = P⁻¹ρ, and to what
// its Q is not orthonormal by: to formSlack of itself. With low rank alone K̂ >= P up to that.
//
// Dense. L is the factor of a matrix that is off from K̂ by (n + 2) u κ² in each element:
// σ_f² - |L⁻¹k*|² by 2 κ² size loud of x = K̂⁻¹k*, whose |x|₁ <= (n var/min noise)^1/2 is enough for most rows (var
// has the noise of x'y in it), and v_i = 1/(K̂⁻¹)_ii of a row left
// out by as much of x = (K̂⁻¹)_ji v_i.
//
// Means. The residual of α and a sum k*'α are off by δr = (γ + max e) κ² Σ|α_i|, and
// the mean by (1 + |x*|₁) δr, x* = K̂⁻¹k*,
//
//	|x*|₁ <= |x|₁ + n^1/2 (gap/min noise)^1/2,   |x*|₁ <= n^1/2 σ_f/(min noise)^1/2.
//
// Sums of n terms are taken to be as bad as they may: n u of Σ|terms|.

// ridge is what the noise is enlarged by where V explains part of the rows.
const ridge = 1.0 / 64

// A rounding holds what these bounds need of a model.
type rounding struct {
	n        float64
	sum      float64   // γ
	entry    []float64 // e_i of the training rows
	worst    float64   // the largest
	variance float64   // σ_f²
	top      float64   // κ²
	least    float64   // smallest noise
	residual float64   // δr
}

func newRounding(op *kernelmv.Op) (*rounding, error) {
	n, noise, s := op.Dim(), op.Noise(), op.Kernel().Variance
	r := &rounding{n: float64(n), sum: op.SumRounding(), entry: make([]float64, n), variance: s,
		top: s + slices.Max(noise), least: slices.Min(noise)}
	if err := op.EntryRounding(r.entry, linalg.Matrix{}); err != nil {
		return nil, err
	}
	r.worst = slices.Max(r.entry)
	return r, nil
}

// weigh sets what depends on the weights of the mean.
func (r *rounding) weigh(weights []float64) {
	sum := 0.0
	for _, a := range weights {
		sum += math.Abs(a)
	}
	r.residual = (r.sum + r.worst) * r.top * sum
}

// A combination f* - x'y, by what rounding makes of it.
type combination struct{ size, loud float64 }

// alone is f* itself, with the rounding e of its entries.
func (r *rounding) alone(e float64) combination { return combination{1, r.sum + e} }

// add takes x_i for training row i in.
func (r *rounding) add(c *combination, i int, x float64) {
	x = math.Abs(x)
	c.size += x
	c.loud += x * (r.sum + r.entry[i])
}

// within is f* - x'y, x = K̂⁻¹k* by a factor, of which no more is known than that its variance is at most v: so is
// that of its noise, |x|₂² min noise, but for what the factor is off by, n times that of an element.
func (r *rounding) within(e, v float64) combination {
	least := r.least - r.n*(r.n+2)*0x1p-53*r.top
	if !(least > 0) {
		return combination{math.Inf(1), math.Inf(1)}
	}
	x := math.Sqrt(r.n * v / least)
	return combination{1 + x, r.sum + e + x*(r.sum+r.worst)}
}

// combine takes the columns of x into combinations.
func (r *rounding) combine(combs []combination, x linalg.Matrix) {
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			if v != 0 {
				r.add(&combs[j], i, v)
			}
		}
	}
}

// regression is (1), for V of m columns and nn rows.
func (r *rounding) regression(c combination, m, nn int) float64 {
	return 2*r.variance*c.size*c.loud + float64(m+nn+8)*0x1p-52*r.top*c.size*c.size
}

// mean is what rounding may do to a mean, with |x|₁ <= size, up to a gap.
func (r *rounding) mean(size, gap float64) float64 {
	far := math.Sqrt(r.n / r.least)
	return r.residual * (1 + min(size+far*math.Sqrt(max(gap, 0)), far*math.Sqrt(r.variance)))
}

// Package kernelmv multiplies by covariance matrices that are never stored.
//
// K_ij = s2 h(r_ij) for n points with D inputs, r² = Σ_d ((x_id - x_jd)/l_d)²,
// h Matérn 1/2, 3/2, 5/2 or Gaussian, and K̂ = K + diag(noise). A product
// Y = K V evaluates K tile by tile, each unordered pair of points once, and
// uses a tile twice, for Y_I += K V_J and for Y_J += K' V_I.
//
// # Symbols
//
//	symbol     name         shape
//	X          x            n×D, row-major
//	x'         scaled       n×dim, (x - mean) c/l, in the order of X
//	s2 (σ_f²)  variance
//	l (ℓ)      lengthscales D; +Inf takes an input out of the distance
//	noise      noise        n
//	V, Y       src, dst     n×p
//	M          u, g         M = Σ_r g_r u_r u_r', u n×R, g R
//
// # The way of the data
//
// X and a [Kernel] → [NewOp] → [Op.MulTo], [Op.GradTo], [Op.CrossMulTo].
// Points are packed (padded to whole tiles, for D ≤ 3 sorted by a k-d tree so
// that far tiles can be skipped) and cut into superblocks whose size depends
// on n only. Every two superblocks meet once, on one thread of one rank (tiles.go, deal.go), and that adds
// one term to the sums of each: sums without rounding, so their order does not matter (bins.go, exactsum.go)
// and the result has the same bits for every number of threads and ranks (walk.go, product.go,
// grad.go; cross.go for K(X*, X)). Shorter ways where they hold: sums in O(n) for one input
// (line.go), trees of interpolations below n² for up to three (h2.go), and the likelihood
// of rows given near ones (vecchia.go).
package kernelmv

// Package posterior has what a Gaussian process says once it is given its rows, at fixed
// parameters and in standardised units: means and variances with bounds, draws, rows left
// out, residuals, sensitivities. Units, laws of observations and files are left to package
// bbgp.
//
// # Symbols
//
//	X, y      Posterior.data         n×D and n, standardised rows and target
//	θ         Posterior.params       c, ℓ, σ_f², σ_n²
//	K̂         op                     n×n, K + diag(σ_n² d_i + e_i), known by its products
//	α         weights                n, K̂⁻¹(y - c)
//	r         -                      n, the residual y - c - K̂α
//	P = FF'   pre                    preconditioner; a (node) is a lower bound of F⁻¹K̂F⁻ᵀ
//	L         chol                   n×n, K̂ = LL', where the spec is dense
//	k*, q     -                      K(X, x*) and k*'K̂⁻¹k*: var f(x*) = σ_f² - q
//	V, B      gapProbes.cols, low    n×m, V'K̂V = I, B = K̂V
//	ω, ε      gapProbes.cols, own    n×S, probes with covariance K̂⁻¹, and K̂ω
//	size      combination.size       1 + Σ|x_i| of f* - x'y: rounding.go
//
// # The way of the data
//
// New takes rows, parameters and weights; the first answer prepares the operator
// (runner.go), the first variance P or L (posterior.go), the first many of them the probes (probes.go).
// A mean is k*'α (mean.go), by trees for many rows. A variance is what a regression on near
// rows leaves, less what the probes measure of its gap (variance.go), or, where that stays
// wide, what conjugate gradients find (cgvariance.go). Every bound takes in what rounding
// may have done (rounding.go). Leaving a row out is a regression on its neighbours, too
// (loo.go); draws correct a draw of the prior (sample.go, features.go).
package posterior

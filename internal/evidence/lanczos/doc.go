// Package lanczos bounds the log evidence from both sides by one block Lanczos process:
// Burt, Artemev and van der Wilk, "Barely Biased Learning for Gaussian Process
// Regression" (2021).
//
// # Symbols
//
//	P = F F'          Estimator.pre       preconditioner
//	A = F⁻¹K̂F⁻ᵀ       process             the whitened matrix
//	w_i               Estimator.probes    n×s, signs
//	T, H              Estimator.lanczos   basis, T'AT = H
//	v                 solution.v          about K̂⁻¹(y - c)
//	w'log(A)w         bounds              Gauss above, Gauss-Radau below
//
// # The way of the data
//
// estimator.go: Rebuild makes P and the probes, Evaluate runs a process (process.go): warm
// start, iterations, bounds (bounds.go) until they are close. Then solution.go finds v, its
// residual and the gradient; float32.go and form.go say what float32 and products
// below n² have left, and ask for better ones where that is not small; precision.go
// chooses. foresee.go: sizes of P before there is one.
package lanczos

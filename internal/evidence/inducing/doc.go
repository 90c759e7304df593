// Package inducing has the lower bounds of the log evidence by inducing rows: SGPR
// (Titsias 2009) and CGLB (Artemev, Burt, van der Wilk 2021), and their gradients.
//
// # Symbols
//
//	u, m         inducing rows, of n
//	K_uu, K_uf   m×m, m×n
//	Q            K_fu K_uu⁻¹ K_uf, in place of K
//	v            of CGLB, an approximate solution of K̂v = y - c
//
// # The way of the data
//
// [New] → Rebuild chooses the rows by a pivoted Cholesky factor → Evaluate: factors of
// factor.go → the bound and, from the same factors, its gradient.
package inducing

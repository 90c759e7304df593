// Package gp is the model in standardised units: parameters, table, covariance function
// and noise, and the dense matrix with its Cholesky factor.
//
// # Symbols
//
//	θ             Params            c, ℓ_1..ℓ_D, σ_f², σ_n²
//	X, y          Table.X, Table.Y  n×D, n
//	d, e          Table.NoiseScale, Table.NoiseExtra; the noise of row i is σ_n² d_i + e_i
//	K̂ = K + N     Cholesky          n×n, stored
//	K, N          KernelOf, NoiseOf
//
// # The way of the data
//
// A table of all rows → [Table.Merged], repeated rows as one → standardised by its
// caller → what evaluates or predicts takes a Table and Params.
package gp

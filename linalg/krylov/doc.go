// Package krylov solves with operators, and bounds forms w'f(A)w, by their products alone.
//
// # Symbols
//
//	K̂, F      linalg.SymOp, Preconditioner   n×n; A = F⁻¹K̂F⁻ᵀ is never formed
//	W          Lanczos.Start                  n×p, the start block in whitened coordinates
//	T, H       Lanczos, BlockTri              basis n×k with orthonormal columns, T'A T = H
//	c_i        BlockTri.R0                    coordinates of start column i in the basis
//	a          Quad.RadauTo, node             a lower end of the spectrum of A
//	G ≈ Y Y'   LogGrad                        k×R, the derivative of Σ_i c_i' log(H) c_i by H
//	X, B, r    CG, MultiCG                    n×p: solution, right-hand sides, residual B - K̂X
//
// # The way of the data
//
// [Lanczos.Start] takes a block of columns; a step is a product, orthogonalisation (orth.go) against the basis
// (basis.go), and one block more of H (blocktri.go). [Quad] bounds w'log(A)w from H by its eigenvalues (quad.go,
// bandeig.go), [LogGrad] is the derivative (loewner.go), [InvSqrt] a draw (invsqrt.go). Solves go the shorter way:
// operator and preconditioner → [CG] (cg.go), or a process a column, [MultiCG] (multicg.go).
package krylov

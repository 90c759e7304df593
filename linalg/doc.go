// Package linalg is linear algebra on operators that are known by their
// products, and the dense factorisations that they need.
//
// # Symbols
//
//	K̂          SymOp, ColOp           n×n: by its products, by its entries
//	P = F F'    Preconditioner         n×n, near K̂; Precond makes it, Identity is none
//	L           PivotedCholesky        n×m, the low-rank part of P
//	W           Vecchia                n×n sparse, W'W ≈ (K - L L' + noise)⁻¹
//	A           Lanczos                F⁻¹K̂F⁻ᵀ, n×n, never formed
//	T, H        Lanczos, BlockTri      basis n×k with orthonormal columns, T'A T = H
//	c_i         BlockTri.R0            coordinates of start column i in the basis
//	a           Quad.RadauTo, node     a lower end of the spectrum of A
//	G ≈ Y Y'    LogGrad                k×R, the derivative of Σ_i c_i' log(H) c_i by H
//	X, B, r     CG, MultiCG            n×p: solution, right-hand sides, residual B - K̂X
//	C C'        Cholesky               of a dense matrix, beside EigenSym, the thin QR and Gemm
//
// # The way of the data
//
// An [Engine] (routines of one CPU, threads, ranks) is handed to everything that computes.
// A [SymOp] gives products, a [ColOp] entries → [NewPrecond]: [Engine] and ColOp →
// PivotedCholesky (pivchol.go) → Vecchia of what that leaves (vecchia.go and its
// vecchia_build.go, vecchia_apply.go) → thin QR (qr.go) → P → [Lanczos.Start] on a block of columns,
// then a step a product: orthogonalisation (orth.go) against the basis (basis.go), one block
// more of H (blocktri.go) → [Quad]: bounds of w'log(A)w from H by its eigenvalues
// (bandeig.go) → [LogGrad]: their derivative (loewner.go). Solves go the shorter way, SymOp
// and P → [CG]. [Engine.Regress] regresses rows on their neighbours by the routines of
// Vecchia. Sums over rows are made in an order that depends on n alone (inner.go), so that the
// bits are the same for every number of threads.
package linalg

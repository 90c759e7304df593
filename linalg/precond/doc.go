// Package precond makes preconditioners P = F F' of K̂ = K + diag(noise) from the entries of K.
//
// # Symbols
//
//	K       linalg.ColOp      n×n, known by its entries
//	L       PivotedCholesky   n×m, K ≈ L L', exact in the rows and columns of the pivots
//	W       Vecchia           n×n sparse, W'W ≈ (K - L L' + noise)⁻¹, nn neighbours a row
//	Q R     tiled             the thin QR of W L, Q n×m
//	C C'    middle            I + R R', m×m
//	P, F    Precond           P = L L' + (W'W)⁻¹ = F F'
//	B Q D   latent            P = B Q⁻¹B' + D instead, by latents u at m of the rows: Q⁻¹ ≈ K_uu sparse, D in blocks
//
// # The way of the data
//
// [New]: [PivotedCholesky] (pivchol.go) → [Vecchia] of what that leaves (vecchia.go; vecchia_build.go makes its rows,
// vecchia_apply.go multiplies) → thin QR and a small Cholesky (precond.go, which has the algebra) → [Precond], packed
// for blocks of few columns (tiled.go). [Regress] regresses rows on their neighbours by the routines of Vecchia
// (regress.go). With Options.Latents P has the other form: latent.go, which has its algebra, latent_build.go and
// latent_apply.go, over the sparse factors of linalg/internal/dissect. [Precond.On] is the same factor on another
// engine (on.go). Over ranks each has its rows of L, W and Q, and once more the columns of W of its rows
// (vecchia_cols.go), and its cells of D.
package precond

// Package linalg is dense linear algebra on blocks of few columns and on whole matrices, what it computes on
// (routines of one CPU, threads, ranks), and what an operator and a preconditioner are. Preconditioners are made in
// [bbgp.dev/linalg/precond], Krylov methods stand in [bbgp.dev/linalg/krylov]; they do not know each other.
//
// # Symbols
//
//	K̂          SymOp, ColOp           n×n: by its products, by its entries
//	P = F F'    Preconditioner         n×n, near K̂; Identity is none, Solver has P⁻¹ alone
//	A, B, C     GemmTo, SyrkTo         products of whole matrices
//	X'Y         GramTo, Dot            sums over the n rows
//	L           Cholesky               L L' = A, beside EigenSym and the thin QR W = Q R
//	L⁻¹B, B L⁻¹ SolveLeft, SolveRight  triangular solves, InvertLower
//
// # The way of the data
//
// An [Engine] is handed to everything that computes; its [Par] starts goroutines, and nothing else does (par.go).
// Products cut and pack their operands (pack.go), and call the micro-kernels of asm (gemm.go); triangular solves
// (trsm.go, leaf.go), factors (chol.go) and QR (qr.go) are made of products. Sums over rows are finished in groups
// that depend on n alone (groups.go, inner.go), so that the bits are the same for every number of threads, and over
// ranks, which own whole groups and gather (ranks.go).
package linalg

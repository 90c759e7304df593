package linalg

import (
	"context"

	"bbgp.dev/asm"
	"bbgp.dev/linalg/internal/room"
)

// A SymOp is a symmetric n×n operator known only by its products.
type SymOp interface {
	// Dim returns n.
	Dim() int

	// MulTo sets dst = A src, where dst and src are n×s and do not overlap.
	// It returns ctx.Err() if ctx ends first; dst is undefined then.
	MulTo(ctx context.Context, dst, src Matrix) error
}

// A ColOp is a symmetric positive semidefinite n×n matrix K whose entries can
// be asked for. It serves the construction of preconditioners.
type ColOp interface {
	// Dim returns n.
	Dim() int

	// DiagTo sets dst[i] = K_ii.
	DiagTo(dst []float64)

	// ColsTo sets dst = K[from:from+dst.Rows, cols], in float64.
	ColsTo(ctx context.Context, dst Matrix, from int, cols []int) error

	// BlockTo sets dst = K[rows, rows], len(rows)×len(rows), both triangles, in
	// float64. Calls with different workers may run at the same time.
	BlockTo(worker int, dst Matrix, rows []int32)

	// TrianglesTo sets the lower triangles of asm.CholLanes such blocks, of equal
	// size, side by side:
	//
	//	dst[(a(a+1)/2 + b) CholLanes + l] = K[rows[a CholLanes + l], rows[b CholLanes + l]]
	//
	// for b <= a < n = len(rows)/CholLanes = 4 m + 1. dst has TriangleRoom(n)
	// numbers; those behind the triangles are undefined. Workers as for BlockTo.
	TrianglesTo(worker int, dst []float64, rows []int32)

	// NeighboursTo sets dst[i*k : (i+1)*k], for each position i of the ordering,
	// to the min(k, i) positions j < i whose rows order[j] are nearest to row
	// order[i], nearest first, ties by smaller position; -1 where there are
	// fewer than k. Distances are those that K depends on. Some of them, not the
	// first, may be other earlier rows, where these serve a Vecchia factor better.
	NeighboursTo(ctx context.Context, dst []int32, order []int, k int) error
}

// A Placed is a ColOp whose entries depend on places in few dimensions.
type Placed interface {
	ColOp

	// Places returns the place of each row, n×dim, such that K is large between near rows. They are not to be changed.
	Places() (x []float64, dim int)
}

// A Solver applies the inverse of an n×n matrix P.
type Solver interface {
	// Dim returns n.
	Dim() int
	// SolveTo sets dst = P^-1 src; dst may be src.
	SolveTo(dst, src Matrix)
}

// A Preconditioner is P = F F', near the operator it is made for.
type Preconditioner interface {
	Solver
	// LogDet returns log det P.
	LogDet() float64
	// FInvTo sets dst = F^-1 src; dst may be src.
	FInvTo(dst, src Matrix)
	// FInvTransTo sets dst = F'^-1 src; dst may be src.
	FInvTransTo(dst, src Matrix)
}

// A RowsOp can do with the rows that each rank has (Engine.OwnRows), of dst and of src.
type RowsOp interface {
	SymOp
	// ByRows says whether MulRowsTo may be called now.
	ByRows() bool
	// MulRowsTo sets dst to this rank's rows of A src, of which src has these, too. Otherwise as MulTo.
	MulRowsTo(ctx context.Context, dst, src Matrix) error
}

// A RowsPreconditioner can do with the rows that each rank has (Engine.OwnRows), of dst and of src.
type RowsPreconditioner interface {
	Preconditioner
	// ByRows says whether the others may be called.
	ByRows() bool
	// FInvRowsTo sets dst to this rank's rows of F^-1 src; dst may be src.
	FInvRowsTo(dst, src Matrix)
	// FInvTransRowsTo sets dst to this rank's rows of F'^-1 src; dst may be src.
	FInvTransRowsTo(dst, src Matrix)
}

// TriangleRoom is the length of the dst of ColOp.TrianglesTo: whole units of the
// routines that evaluate covariance functions.
func TriangleRoom(n int) int { return room.RoundUp(n*(n+1)/2*asm.CholLanes, asm.Pad) }

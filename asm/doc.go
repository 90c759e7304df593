// Package asm holds the tile routines of bbgp, one implementation per CPU.
//
// Everything above this package is plain Go; everything that must run at the
// limit of the processor is here, written by ../gen. A routine works on whole
// padded blocks, so no assembly has a remainder loop. T is float32 or float64;
// a Block is 64 bytes: 16 float32 or 8 float64 points.
//
// # Symbols
//
// Layouts:
//
//	XI     points of the I side   [n/Panel][d][Panel]T       broadcast side
//	XJ     points of the J side   [n/Block][d][Block]T       vector side
//	VI     right-hand sides       [n][p]T, row-major         broadcast side
//	VJ     right-hand sides       [p][cols]T, for one tile   vector side
//	K      one tile               [rows][cols]T, row-major
//	yI     sums for the I side    [rows][p]float64, row-major
//	yJ     sums for the J side    [p][cols]T, for one tile
//
// rows is a multiple of RowUnit, cols a multiple of Pad, p of ColUnit (but for
// Fused, p = 1 or 2).
//
// Coordinates are scaled so that exp(-a) = 2^-r with r the distance of two
// scaled points (Gaussian: r the squared distance):
//
//	x'_d = (x_d - mean_d) Scale / l_d,   a = ln 2 r
//
// A tile between Radii and CovRadii, WeightRadii or FusedRadii holds what the
// implementation likes: distances or their squares. NaN passes through Dist,
// Cov and Weight; infinite coordinates are not allowed.
//
// # The way of the data
//
// All, best first, or the one that BBGP_ISA names → Default → an [Impl], which never
// changes and is held by its user → its methods and those of its Kit of T check lengths and call a routine.
// In one tile: Radii of XI and XJ → CovRadii (or WeightRadii for gradients) in place → AccJ and
// AccI add to yJ and yI; FusedRadii does all of it for one or two columns.
//
// Elementwise routines (Dist, Cov, Weight, Widen, Axpy) give the same
// bits in every implementation: lanes run across points, and generic.go follows
// the same order with fused multiply-adds. So do Gemm, whose sums run in order,
// and Dot, which has its own lanes. The other reductions (AccJ, AccI, Fused,
// RowSum) may add in another order; they differ from the exact sum by at most
// n eps Σ|terms|, n the number of terms and eps that of T.
//
//go:generate go run ../gen
package asm

// Package cost has what the parts of a computation cost in time and memory, and the
// choices made by it: method, preconditioner, probes, sizes of subsets.
//
// # Symbols
//
//	n, D      rows and inputs
//	k, r      neighbours and columns of the preconditioner
//	Costs     one unit each: a pair of rows in a product, a column, a neighbour, ...
//	History   what earlier evaluations took, from which the passes of the next are foreseen
//	Request   what is asked for and what is left to be chosen
//	Budget    bytes, and what the need of a method depends on
//
// # The way of the data
//
// Costs and a History go in, sizes and a reason for them, in words, come out. All of it
// is arithmetic: nothing is measured here (see calibrate), so choices are the same everywhere.
package cost

// Package calibrate measures the costs of this machine, by pieces of the work that they
// are of, each as often as some milliseconds allow; the least time counts.
//
// # Symbols
//
//	piece         a part of the work at one size, and the least seconds it took
//	costSizes     the sizes that two measurements of a part differ by
//	cost.Costs    the result: a fixed and a growing part each, in seconds
//
// # The way of the data
//
// [Measure]: an engine → rows for the pieces (prepare) → products, columns and factors of the
// preconditioner, dense factors → the difference of two sizes is the growing part → Costs.
package calibrate

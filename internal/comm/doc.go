// Package comm joins the ranks of one run: processes, or goroutines in tests, that compute one result together.
//
// All ranks make the same calls in the same order, each from one goroutine at a time (over MPI: the main one). Nothing
// here depends on what is computed, and nothing but AllReduce adds numbers: sums that must have the same bits for every
// number of ranks are made of partial sums that AllGather brings together.
//
// # Symbols
//
//	Rank, Size    number of a rank, from 0, and how many there are
//	Group         ranks that are goroutines of one process, for tests
//	Agreed        a Comm whose ends of contexts all ranks learn of in the same call
//	Alone         the Comm of a program without others
//
// # The way of the data
//
// [Open] joins the ranks that a launcher has started (mpi.go, launch.go) → a [Comm] in the
// linalg.Engine of each rank → [Share] brings what rank 0 has read → AllGather completes
// vectors of which every rank has computed its part → Close.
package comm

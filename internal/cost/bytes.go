package cost

import (
	"fmt"
	"math"
	"runtime/debug"

	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
)

// Bytes of the parts of a fit, before it starts: what the memory budget is
// compared with.

// ExactBytes is the memory of an exact evaluation with gradient on n rows.
func ExactBytes(n int) int64 { return 16 * int64(n) * int64(n) }

const (
	// ProgramBytes is what a process has before it computes.
	ProgramBytes = 30 << 20
	// garbage: the collector lets the heap grow to half more than what lives (GOGC =
	// 50, which cmd/bbgp sets).
	garbage        = 1.5
	typicalPasses  = 20 // of an evaluation: what the basis must have room for
	typicalColumns = 64 // of the gradient
	// An input of a row: standardised, scaled, packed as rows, columns and columns of
	// products with few rows, in both precisions.
	bytesPerInput = 8 + 8 + 3*(8+4)
	// A preconditioner that is not chosen yet has as a rule no more than these.
	typicalRank, typicalNear = mixedRank, 128
	// Of a row, while P is made, by peaks of fits: a column of the low-rank part twice, as pivots
	// make it and packed or as matrix, and as factor, and garbage of it; a neighbour as index,
	// weight and packed weight, and what the search for it takes. The last P is gone by then.
	// On a map, whose products are below n², it is of neighbours alone.
	mapRows, mapNear                                                 = lowRankRows, 96
	leastNear                                                        = 32 // what a P of a map is given in any case
	bytesPerRankAlone, bytesPerRank, bytesPerNearAlone, bytesPerNear = 20, 32, 48, 20
)

// A Size is how large a preconditioner is. Rank and Neighbours below 0 are not known yet.
type Size struct {
	Rank, Neighbours int
	Latents          int // instead of both
}

// String says what a preconditioner is of.
func (p Size) String() string {
	if p.Latents > 0 {
		return fmt.Sprintf("%d latents", p.Latents)
	}
	return fmt.Sprintf("rank %d, %d neighbours", p.Rank, p.Neighbours)
}

// LatentBytes predicts a P of m latents for n rows, while it is made: factors of cells for each row, and of the sparse
// matrices for each latent. Measured, made: 1e5 rows with 3683 and 15982 latents 68 and 151 MB, 3e5 with 30081 372 MB,
// 1e6 with 36770 and 51543 757 and 929 MB (two inputs; one has less).
func LatentBytes(n, m int) int64 {
	const row, latent, level = 600, -1500, 700
	return row*int64(n) + int64(float64(m)*max(0, latent+level*math.Log2(float64(max(m, 1)))))
}

// KrylovBytes predicts what method bbgp keeps beside its basis while it makes a
// preconditioner: the data, raw, standardised and packed in both precisions; work
// areas of some blocks; the old preconditioner and the new one.
func KrylovBytes(n, d, cols int, p Size) int64 {
	row := 8*14*cols + 8*2*typicalColumns
	return int64(n)*int64(row) + inputBytes(n, d) + p.bytes(n)
}

// inputBytes is what the inputs of n rows take beside the table.
func inputBytes(n, d int) int64 { return bytesPerInput * int64(n) * int64(d) }

// bytes predicts the part of the preconditioners, nothing for what is not known.
func (p Size) bytes(n int) int64 {
	rank, near := max(p.Rank, 0), max(p.Neighbours, 0)
	row := rank*bytesPerRank + near*bytesPerNear
	switch {
	case p.Latents > 0:
		return LatentBytes(n, p.Latents)
	case near == 0:
		row = rank * bytesPerRankAlone
	case rank == 0:
		row = near * bytesPerNearAlone
	}
	return int64(n) * int64(row)
}

// FormBytes is what products of a map take beside their columns, trees and cubes of both precisions and of gradients:
// what a fit of 1e5 places within its least budget was beyond it before this was counted. Peaks without a budget have
// room for it in what garbage is given.
func FormBytes(n, d int) int64 {
	const row = 1300
	if !IsMap(n, d) {
		return 0
	}
	return row * int64(n)
}

// RoomOfP returns the bytes that a budget has for a P of n rows that is chosen by counted costs, with a part of the
// basis beside it: 0 without a budget, which leaves all sizes, and else enough for the smallest.
func RoomOfP(n, d, probes int, memory int64) int64 {
	if memory <= 0 {
		return 0
	}
	const part = 4
	cols := max(probes, MinLastProbes) + 1
	rest := memory - ProgramBytes - TableBytes(n, d) - KrylovBytes(n, d, cols, Size{}) -
		FormBytes(n, d) - basisBytes(n, cols)/part
	return max(rest, Size{Neighbours: leastNear}.bytes(n))
}

// basisBytes is what a basis takes, as a rule.
func basisBytes(n, cols int) int64 { return 4 * int64(n) * int64(cols) * typicalPasses }

// IsMap foresees products below n².
func IsMap(n, d int) bool { return d <= kernelmv.MapInputs && n > mapRows }

// sparseBytes is the memory of sgpr and cglb with m inducing rows.
func sparseBytes(n, m int) int64 { return 8 * int64(n) * int64(m) * 4 }

// A Budget is the memory that a fit by a method may take, and what its need depends on.
type Budget struct {
	Bytes          int64 // 0: no limit
	Method         string
	Probes         int
	Preconditioner Size // as asked for
	Inducing       int  // rows, of sgpr and cglb
	Costs          *Costs
}

// HasRoom says whether so many bytes fit the budget, if there is one.
func (o *Budget) HasRoom(bytes int64) bool { return o.Bytes <= 0 || bytes <= o.Bytes }

// TableBytes is a table of so many rows, as read, by columns that grow and hold up to twice
// what is in them, and as inputs.
func TableBytes(rows, d int) int64 { return 24 * int64(rows) * int64(d+1) }

// liveBytes predicts what a fit of n places keeps: all of it, and the part of it
// that can be done without, the basis.
func (o *Budget) liveBytes(n, d int, p Size) (all, basis int64) {
	switch o.Method {
	case "exact":
		return ExactBytes(n) + inputBytes(n, d), 0
	case "sgpr", "cglb":
		return sparseBytes(n, min(o.Inducing, n)) + inputBytes(n, d), 0
	}
	cols := max(o.Probes, MinLastProbes) + 1
	basis = basisBytes(n, cols)
	if p.Rank < 0 && p.Neighbours < 0 && !IsMap(n, d) { // it may also be of low rank alone
		alone := min(MostRank(n, OrStandard(o.Costs)), n/4)
		all = KrylovBytes(n, d, cols, Size{Rank: alone}) + basis
	}
	if p.Rank < 0 {
		p.Rank = min(typicalRank, n/4)
		if IsMap(n, d) {
			p.Rank = 0
		}
	}
	if p.Neighbours < 0 {
		p.Neighbours = min(typicalNear, n/4)
		if IsMap(n, d) {
			p.Neighbours = mapNear
		}
	}
	return max(all, KrylovBytes(n, d, cols, p)+basis), basis
}

// DenseRows is the number of rows up to which predictions are made by Cholesky
// whatever the method of training: 72 MB and half a CPU second, and every
// answer is exact.
const DenseRows = 3000

const (
	ExactLevel  = 2048 // rows of a subset up to which it is fitted exactly
	LevelGrowth = 3    // times the rows of a subset has the next
)

const (
	MinLastProbes = 16
	MaxLastProbes = 1024 // in runs of at most ProbesAtOnce
	ProbesAtOnce  = 31
)

// fisherBytes is the memory of a measurement of the information.
func fisherBytes(n, d int) int64 {
	m := int64(InformationRows(n, d))
	square, kept := int64(d+3)*int64(d+3), m*(m+1)/2
	if Wide(n, d) {
		square = int64(d+3) * m * (m + 1) / 2 // A and W of a step
	} else if Sketched(int(m)) {
		kept = SketchVectors * m
	}
	return 8 * (kept*int64(d+3) + 4*m*m + 4*square)
}

// PeakBytes predicts the peak of the process in a fit of n places in so many rows.
func (o *Budget) PeakBytes(n, rows, d int, p Size) int64 {
	live, _ := o.liveBytes(n, d, p)
	// The information comes after P, when half of what that took is free again.
	live += max(0, fisherBytes(n, d)-p.bytes(n)/2)
	subset := ExactBytes(min(ExactLevel, n/LevelGrowth))
	if n <= DenseRows {
		subset = ExactBytes(n) // of a dense finish
	}
	peak := ProgramBytes + int64(garbage*float64(max(live, subset)+TableBytes(rows, d)))
	if o.Bytes > 0 {
		return min(peak, o.Bytes)
	}
	return peak
}

// LeastBytes is what a fit cannot do without: the basis is made a second time
// where it does not fit.
func (o *Budget) LeastBytes(n, rows, d int) int64 {
	p := o.Preconditioner
	if p.Rank < 0 && p.Neighbours < 0 && IsMap(n, d) { // of which RoomOfP leaves the smaller ones
		p = Size{Neighbours: leastNear}
	}
	live, basis := o.liveBytes(n, d, p)
	return ProgramBytes + live - basis + FormBytes(n, d) + TableBytes(rows, d) + fisherBytes(n, d)
}

// Check refuses what cannot fit the budget.
func (o *Budget) Check(n, rows, d int) error {
	if need := o.LeastBytes(n, rows, d); !o.HasRoom(need) {
		return &gp.MemoryError{What: fmt.Sprintf("method %s on %d rows of %d inputs", o.Method, n, d),
			Needed: need, Budget: o.Bytes}
	}
	return nil
}

// FitsMemory refuses what would go beyond Go's limit of memory, where one is set, with a
// *gp.MemoryError.
func FitsMemory(what string, bytes float64) error {
	limit := memoryLimit()
	if !(bytes <= float64(limit)) {
		return &gp.MemoryError{What: what, Needed: int64(min(bytes, math.MaxInt64/2)), Budget: limit}
	}
	return nil
}

// memoryLimit is Go's limit of memory, or where none is set what no machine has, 64 TiB.
func memoryLimit() int64 {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		return limit
	}
	return 1 << 46
}

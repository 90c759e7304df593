package bbgp

import "fmt"

// Bytes of the parts of a fit, before it starts: what the memory budget is
// compared with.

// exactBytes is the memory of an exact evaluation with gradient on n rows.
func exactBytes(n int) int64 { return 16 * int64(n) * int64(n) }

const (
	// programBytes is what a process has before it computes.
	programBytes = 30 << 20
	// garbage: the collector lets the heap grow to half more than what lives (GOGC =
	// 50, which cmd/bbgp sets).
	garbage        = 1.5
	typicalPasses  = 20 // of an evaluation: what the basis must have room for
	typicalColumns = 64 // of the gradient
	// A preconditioner that is not chosen yet has as a rule no more than these.
	typicalRank, typicalNear = mixedRank, 128
	// Of a row, while P is made, by peaks of fits: a column of the low-rank part as pivots
	// make it, twice, as matrix, as factor, and as factor of the last P, some of which are
	// garbage by the time that neighbours come; a neighbour as index, weight and packed
	// weight, of this P and the last, which is half gone where there is a low-rank part.
	bytesPerRankAlone, bytesPerRank, bytesPerNearAlone, bytesPerNear = 40, 32, 48, 20
)

// krylovBytes predicts what method bbgp keeps beside its basis while it makes a
// preconditioner: the data, raw, standardised and packed in both precisions; work
// areas of some blocks; the old preconditioner and the new one.
func krylovBytes(n, d, cols, rank, near int) int64 {
	row := d*(8+8+8+4) + 8*14*cols + 8*2*typicalColumns
	return int64(n)*int64(row) + precondBytes(n, rank, near)
}

// precondBytes predicts the part of the preconditioners.
func precondBytes(n, rank, near int) int64 {
	row := rank*bytesPerRank + near*bytesPerNear
	switch {
	case near == 0:
		row = rank * bytesPerRankAlone
	case rank == 0:
		row = near * bytesPerNearAlone
	}
	return int64(n) * int64(row)
}

// basisBytes is what a basis takes, as a rule.
func basisBytes(n, cols int) int64 { return 4 * int64(n) * int64(cols) * typicalPasses }

// sparseBytes is the memory of sgpr and cglb with m inducing rows.
func sparseBytes(n, m int) int64 { return 8 * int64(n) * int64(m) * 4 }

// hasRoom says whether so many bytes fit the budget, if there is one.
func (o *Options) hasRoom(bytes int64) bool { return o.Memory <= 0 || bytes <= o.Memory }

// tableBytes is a table of so many rows, as read and as inputs.
func tableBytes(rows, d int) int64 { return 16 * int64(rows) * int64(d+1) }

// liveBytes predicts what a fit of n places keeps: all of it, and the part of it
// that can be done without, the basis. Sizes of the preconditioner below 0 are
// not known yet.
func (o *Options) liveBytes(n, d, rank, near int) (all, basis int64) {
	switch o.Method {
	case "exact":
		return exactBytes(n), 0
	case "sgpr", "cglb":
		return sparseBytes(n, min(o.inducing(), n)), 0
	}
	if rank < 0 {
		rank = min(typicalRank, n/4)
	}
	if near < 0 {
		near = min(typicalNear, n/4)
	}
	cols := max(o.Probes, minLastProbes) + 1
	basis = basisBytes(n, cols)
	return krylovBytes(n, d, cols, rank, near) + basis, basis
}

// fisherBytes is the memory of a measurement of the information.
func fisherBytes(n, d int) int64 {
	m := int64(fisherSize(n, d))
	square := int64(d+3) * int64(d+3)
	if isWide(n, d) {
		square = int64(d+3) * m * (m + 1) / 2 // A and W of a step
	}
	return 8 * (m*(m+1)/2*int64(d+3) + 4*m*m + 4*square)
}

// peakBytes predicts the peak of the process in a fit of n places in so many rows.
func (o *Options) peakBytes(n, rows, d, rank, near int) int64 {
	live, _ := o.liveBytes(n, d, rank, near)
	if rank < 0 && near < 0 { // it may also be of low rank alone
		alone, _ := o.liveBytes(n, d, mostRank(n, orStandard(o.Costs)), 0)
		live = max(live, alone)
	}
	// The information comes after P, when half of what that took is free again.
	live += max(0, fisherBytes(n, d)-precondBytes(n, max(rank, 0), max(near, 0))/2)
	subset := exactBytes(min(exactLevel, n/levelGrowth))
	if n <= denseRows {
		subset = exactBytes(n) // of a polish
	}
	peak := programBytes + int64(garbage*float64(max(live, subset)+tableBytes(rows, d)))
	if o.Memory > 0 {
		return min(peak, o.Memory)
	}
	return peak
}

// leastBytes is what a fit cannot do without: the basis is made a second time
// where it does not fit.
func (o *Options) leastBytes(n, rows, d int) int64 {
	eval := o.evalOptions()
	live, basis := o.liveBytes(n, d, eval.Rank, eval.Neighbours)
	return programBytes + live - basis + tableBytes(rows, d) + fisherBytes(n, d)
}

// checkMemory refuses what cannot fit the budget.
func (o *Options) checkMemory(n, rows, d int) error {
	if need := o.leastBytes(n, rows, d); !o.hasRoom(need) {
		return &MemoryError{What: fmt.Sprintf("method %s on %d rows of %d inputs", o.Method, n, d), Needed: need, Budget: o.Memory}
	}
	return nil
}

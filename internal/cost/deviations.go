package cost

import (
	"math"

	"bbgp.dev/internal/gp"
)

// Deviations are the sizes in which package posterior finds standard deviations of n rows: those that are
// quickest, or what Go's limit of memory (debug.SetMemoryLimit) leaves room for beside the rows and P. They
// depend on the limit and on nothing else that differs between runs, so the bits do not.
type Deviations struct {
	Probes  int   // drawn at a time
	Passes  int   // of their Lanczos process that there is room for
	Columns int   // of its basis that are stored
	Rank    int   // most columns of V, and of the preconditioner of the iteration
	Rows    int   // predicted at a time
	Nearest int   // most rows that one is regressed on
	Bytes   int64 // of all, without what is rarely needed

	free float64 // for the draw
}

const (
	// heapBytes is what lives in the heap before anything is computed.
	heapBytes = 12 << 20
	// ProbeCount is how many random probes measure what a regression leaves (internal/posterior/probes.go).
	ProbeCount = 64
	// Of a row: the probes, their products and what is multiplied meanwhile, and the work areas of the iteration
	// beside them.
	probeKept, probeAlone, iterationKept = 24*ProbeCount + 328, 8 * ProbeCount, 2100 + probeKept
	// A column of V: as factor, as product, beside the probes, packed; of P for the iteration.
	spanColumn, spanAndP = 40, 60
	mostRank             = 11 * 64 // in products of 64 columns, each of which evaluates all covariances
	mostProbeBasis       = 1 << 30 // bytes; blocks beyond are made twice
	typicalDraw          = 16      // passes
	mostRows, leastRows  = 1024, 64
	mostNear, leastTier  = 2048, 80
	usualNear            = 512
	leastProbes          = 8
)

// MemoryRoom is what Go's limit of memory leaves for answers of a model of n rows and d inputs, beside the rows and P.
func MemoryRoom(n, d int, p Size) float64 {
	return float64(memoryLimit()) - float64(heapBytes+TableBytes(n, d)+inputBytes(n, d)+p.bytes(n))
}

// FindDeviations returns the sizes for a model of n rows and d inputs with such a P.
func FindDeviations(n, d int, p Size) Deviations {
	room := MemoryRoom(n, d, p) - float64(inputBytes(n, d)) // those of the rows to predict, beside all others
	rows := float64(n)
	v := Deviations{Probes: ProbeCount}
	v.free = room - probeAlone*rows
	for v.draw(n); v.Passes < typicalDraw; {
		v.Halve(n)
	}
	v.Nearest = mostNear
	for v.Nearest > leastTier && blockBytes(leastRows, v.Nearest) > room/3 {
		v.Nearest = max(v.Nearest/2, leastTier)
	}
	v.Rows = mostRows
	for v.Rows > leastRows && blockBytes(v.Rows, min(v.Nearest, usualNear)) > room/3 {
		v.Rows /= 2
	}
	block := blockBytes(v.Rows, min(v.Nearest, usualNear))
	draw := drawBytes(n, v.Probes, v.Columns, typicalDraw) + probeAlone*rows
	v.Bytes = int64(max(draw, probeKept*rows+block))
	if p.Neighbours+p.Latents == 0 { // of low rank alone
		v.Rank = max(0, min(mostRank, n/8, int((room-iterationKept*rows-block)/(spanAndP*rows))))
		v.Bytes = max(v.Bytes, int64(probeKept*rows+block+spanColumn*float64(v.Rank)*rows))
	}
	return v
}

// Halve halves the probes that are drawn at a time, down to leastProbes.
func (v *Deviations) Halve(n int) {
	v.Probes = max(v.Probes/2, leastProbes)
	v.draw(n)
}

// draw sets what there is room for while so many probes are drawn.
func (v *Deviations) draw(n int) {
	v.Columns = max(mostProbeBasis/(4*n), 4*v.Probes)
	v.Passes = passesWithin(n, v.Probes, v.Columns, v.free)
	if v.Probes == leastProbes {
		v.Passes = math.MaxInt // what is not stored is made twice
		v.Columns = max(4*v.Probes, min(v.Columns, int(v.free/float64(4*n))-16*v.Probes))
	}
}

// drawBytes is what a Lanczos process for so many probes takes after so many passes.
func drawBytes(n, probes, columns, passes int) float64 {
	p := float64(probes)
	return float64(n)*(64*p+4*min(p*float64(passes), float64(columns))) + 40*p*p*float64(passes)
}

// passesWithin is the number of passes that fit.
func passesWithin(n, probes, columns int, room float64) int {
	k := 0
	for k < 1<<10 && drawBytes(n, probes, columns, k+1) <= room {
		k++
	}
	return k
}

// blockBytes is what a block of rows takes that are regressed on so many others, together at most.
func blockBytes(rows, near int) float64 {
	r, k := float64(rows), float64(near)
	return r*(28*k+16*(mostRank+ProbeCount)) + 96*k*k
}

// DeviationBytes predicts the peak of a process that finds the deviations of a model, within Go's limit of memory.
func DeviationBytes(n, rows, d int, p Size, dense bool) int64 {
	live := DenseBytes(n)
	if !dense {
		live = FindDeviations(n, d, p).Bytes + p.bytes(n) + inputBytes(n, d)
	}
	return ProgramBytes + int64(garbage*float64(live+inputBytes(n, d)+TableBytes(rows, d)))
}

// AnswersDense says whether a model of n rows that was fitted within such a budget, 0 for none, has its deviations
// from a dense factor.
func AnswersDense(n int, memory int64) bool {
	return n <= DenseRows && (memory <= 0 || 2*ExactBytes(n) <= memory)
}

// DenseBytes is what deviations by a dense factor of n rows take: the factor and blocks of rows.
func DenseBytes(n int) int64 { return 8*int64(n)*int64(n) + 3*8*128*int64(n) }

// Fits refuses what takes more than Go's limit of memory leaves for a model, with a *gp.MemoryError.
func Fits(what string, n, d int, bytes float64) error {
	room := MemoryRoom(n, d, Size{})
	if bytes <= room {
		return nil
	}
	limit := memoryLimit()
	needed := min(float64(limit)+bytes-room, math.MaxInt64/2)
	return &gp.MemoryError{What: what, Needed: int64(needed), Budget: limit}
}

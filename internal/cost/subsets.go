package cost

import "math"

// Rows of the subset that the information of θ is computed on, and its form.
const (
	fisherRows  = 400     // up to some 3000 rows,
	fisherRoot  = 7       // times √n beyond: an evaluation takes n² work
	fisherCells = 1 << 23 // at most so many numbers are kept at a time
	wideInputs  = 256     // up to so many a dense matrix costs nothing
	denseInputs = 3000    // beyond so many it costs too much, whatever the rows
	wideRows    = 16      // of the subset
	// From sketchTimes times as many rows on, the information is seen through SketchVectors random
	// vectors: 3 k m² operations in place of 2 m³.
	SketchVectors = 96
	sketchTimes   = 3
)

// Sketched says whether the information of so many rows is seen through random vectors.
func Sketched(rows int) bool { return rows >= sketchTimes*SketchVectors }

// InformationRows is the number of rows of the subset. An evaluation of few rows is
// cheap; its metric must not be dearer.
func InformationRows(n, dims int) int {
	if Wide(n, dims) {
		return wideSize(n, dims)
	}
	most := max(fisherRows, int(fisherRoot*math.Sqrt(float64(n))))
	return min(n, most, max(n/2, 200), int(math.Sqrt(float64(fisherCells)/float64(dims+2))))
}

// Wide says whether n rows of d inputs have their information in factors.
func Wide(n, d int) bool { return d > wideInputs && (n < d || d > denseInputs) }

// wideSize is the number of rows of the subset: A keeps within fisherCells.
func wideSize(n, d int) int {
	return min(n, wideRows, max(4, int(math.Sqrt(2*float64(fisherCells)/float64(d+3)))))
}

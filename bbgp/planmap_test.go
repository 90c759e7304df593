package bbgp

import (
	"math"
	"slices"
	"testing"

	"bbgp.dev/linalg"
)

// Patches are rows around some rows, each once; of rows that are all in one place as many.
func TestPatches(t *testing.T) {
	x := linalg.NewMatrix(900, 2)
	for i := range x.Rows {
		copy(x.Row(i), []float64{float64(i % 30), float64(i / 30)})
	}
	rows := patches(x, 90, 3, 1)
	if len(rows) != 90 || len(slices.Compact(slices.Clone(rows))) != 90 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows { // a row of a patch has others beside it
		beside := 0
		for _, s := range rows {
			if math.Hypot(x.At(r, 0)-x.At(s, 0), x.At(r, 1)-x.At(s, 1)) < 1.5 {
				beside++
			}
		}
		if beside < 3 {
			t.Errorf("row %d stands alone", r)
		}
	}
	if rows := patches(linalg.NewMatrix(100, 2), 40, 4, 1); len(rows) != 40 {
		t.Errorf("%d of 100 rows in one place", len(rows))
	}
}

// Parameters keep their meaning in another scaling.
func TestRescaled(t *testing.T) {
	from := Scaling{XMean: []float64{1}, XScale: []float64{2}, YMean: 3, YScale: 4}
	to := Scaling{XMean: []float64{0}, XScale: []float64{8}, YMean: -1, YScale: 2}
	p := rescaled(Params{Kernel: "matern32", Lengthscales: []float64{1}, Variance: 1, Noise: .5, Mean: .25}, from, to)
	if p.Lengthscales[0] != .25 || p.Variance != 4 || p.Noise != 2 || p.Mean != 2.5 {
		t.Errorf("%+v", p)
	}
}

package gp

import (
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/linalg"
)

// Means of repeated rows lose no digits where targets are large beside what tells them apart.
func TestMergedOffset(t *testing.T) {
	const n, places, offset = 60, 13, 0x1p30
	r := rand.New(rand.NewPCG(5, 6))
	near := &Table{X: linalg.NewMatrix(n, 1), Y: make([]float64, n), NoiseScale: make([]float64, n)}
	far := &Table{X: near.X, Y: make([]float64, n), NoiseScale: near.NoiseScale}
	for i := range near.Y {
		near.X.Data[i] = float64(r.IntN(places))
		near.NoiseScale[i] = 0.5 + r.Float64()
		near.Y[i] = math.Round(0x1p20*r.NormFloat64()) / 0x1p20 // offset + y is exact
		far.Y[i] = offset + near.Y[i]
	}
	apply := func(d *Table) *Table {
		s := Standardise(d.X, near.Y, 0)
		s.YMean = math.Round(0x1p20*s.YMean)/0x1p20 + d.Y[0] - near.Y[0]
		return s.Apply(d.Merged())
	}
	a, b := apply(near), apply(far)
	if len(a.Y) >= n {
		t.Fatalf("%d rows of %d are merged", n-len(a.Y), n)
	}
	for i, v := range a.Y {
		if math.Abs(b.Y[i]-v) > 0x1p-50 || math.Abs(b.Repeats[i].SS-a.Repeats[i].SS) > 0x1p-48*a.Repeats[i].SS {
			t.Errorf("row %d: y %v, squares %v, with an offset of %g %v, %v", i, v, a.Repeats[i].SS, offset, b.Y[i],
				b.Repeats[i].SS)
		}
	}
}

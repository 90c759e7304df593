package gp

import (
	"math"
	"slices"

	"bbgp.dev/linalg"
)

// A table for the search that has the same bits in all units.
//
// A column in other units has other last digits, and so has what it is standardised to. A climb
// ends where no step promises a gain that counts; where the likelihood is flat, a last digit
// moves that place by far more than itself. So the search sees cells that are rounded to a grid
// which is coarse beside their digits, and fine beside all that a likelihood tells: a cell
// changes by half a step of the grid only if it lies within its own rounding, of
// u (1 + |mean|/sd), u = 2⁻⁵³, between two points of it.

const (
	roundedDigits = 28 // binary digits below the deviation of a column that the search sees
	// A column whose rows are near each other, as those are that one far row leaves, keeps
	// gapDigits below the difference of neighbours that nine in ten exceed.
	gapDigits = 12
)

// Rounded returns standardised rows with their cells rounded: targets to 2⁻²⁸, inputs to that or
// to less where many of them differ by little, what is known of the noise in relation to itself.
func (d *Table) Rounded() *Table {
	t := &Table{X: linalg.NewMatrix(d.X.Rows, d.X.Cols), Y: slices.Clone(d.Y),
		NoiseScale: slices.Clone(d.NoiseScale), NoiseExtra: slices.Clone(d.NoiseExtra),
		Repeats: slices.Clone(d.Repeats)}
	col := make([]float64, d.X.Rows)
	for j := range d.X.Cols {
		for i := range col {
			col[i] = d.X.At(i, j)
		}
		step := stepOf(col)
		for i, v := range col {
			t.X.Set(i, j, roundTo(v, step))
		}
	}
	for i, v := range t.Y {
		t.Y[i] = roundTo(v, -roundedDigits)
	}
	for _, v := range [][]float64{t.NoiseScale, t.NoiseExtra} {
		for i := range v {
			v[i] = shortened(v[i])
		}
	}
	for i := range t.Repeats {
		r := &t.Repeats[i]
		r.SS, r.LogD = shortened(r.SS), shortened(r.LogD)
	}
	return t
}

// MiddleScale returns the middle one of the d_i.
func (d *Table) MiddleScale() float64 {
	if len(d.NoiseScale) == 0 {
		return 1
	}
	return slices.Sorted(slices.Values(d.NoiseScale))[len(d.NoiseScale)/2]
}

// InNoiseUnit returns d with d_i/unit, of which σ_n² unit makes the same noise.
func (d *Table) InNoiseUnit(unit float64) *Table {
	if unit == 1 {
		return d
	}
	t := *d
	t.NoiseScale, t.Repeats = slices.Clone(d.NoiseScale), slices.Clone(d.Repeats)
	for i := range t.NoiseScale {
		t.NoiseScale[i] /= unit
	}
	for i := range t.Repeats {
		r := &t.Repeats[i]
		r.SS *= unit
		r.LogD += 0.5 * r.More * math.Log(unit)
	}
	return &t
}

// stepOf returns the logarithm to base 2 of the grid for a column.
func stepOf(col []float64) int {
	sorted := slices.Compact(slices.Sorted(slices.Values(col)))
	gaps := sorted[:max(len(sorted)-1, 0)]
	for i := range gaps {
		gaps[i] = sorted[i+1] - sorted[i]
	}
	if len(gaps) == 0 {
		return -roundedDigits
	}
	slices.Sort(gaps)
	_, e := math.Frexp(gaps[len(gaps)/10])
	return min(-roundedDigits, e-gapDigits)
}

// roundTo returns the multiple of 2^step that is nearest to v.
func roundTo(v float64, step int) float64 {
	return math.Ldexp(math.RoundToEven(math.Ldexp(v, -step)), step)
}

// shortened returns v with a mantissa of roundedDigits.
func shortened(v float64) float64 {
	f, e := math.Frexp(v)
	return math.Ldexp(roundTo(f, -roundedDigits), e)
}

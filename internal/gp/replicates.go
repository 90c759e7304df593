package gp

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"
)

// Repeated rows, exactly. Of m rows at one place x with noise variances
// d_r (σ_n² + ρ), the likelihood depends on f(x) through their weighted mean only:
//
//	Π_r N(y_r; f, d_r s) = N(ȳ; f, d s) · (2π s)^(-(m-1)/2) (d / Π d_r)^(1/2) exp(-S/2s),
//	s = σ_n² + ρ,  1/d = Σ 1/d_r,  ȳ = d Σ y_r/d_r,  S = Σ (y_r - ȳ)²/d_r.
//
// The first factor is a row of a smaller table, whose noise is d σ_n² + d ρ; the
// others, the within-group term, need no matrix. ȳ is free of σ_n² because all
// rows of a group have the same ρ = e_r/d_r: rows at one place with other ratios
// of known to fitted noise stay rows of their own.
//
// ȳ is rounded as y is, to 1e-7 where targets are near 1e9, which may be much beside what tells
// them apart: then the rest of it is kept, until the mean of all targets is off (Scaling.Apply).

// A Repeat is what the within-group term needs of a merged row.
type Repeat struct {
	More float64 // m - 1
	SS   float64 // S
	LogD float64 // (log d - Σ log d_r)/2
}

// Merged returns d with repeated rows Merged, in the order of their first
// appearance; d itself if there are none.
func (d *Table) Merged() *Table {
	first, of := d.groups()
	if len(first) == d.X.Rows {
		return d
	}
	m := d.Rows(first)
	m.NoiseScale, m.Repeats = make([]float64, len(first)), make([]Repeat, len(first))
	keep := farFromZero(d.Y)
	if keep {
		m.YLow = make([]float64, len(first))
	}
	inverse, shift := make([]float64, len(first)), make([]float64, len(first))
	for i, g := range of {
		w := 1 / d.ScaleOf(i)
		inverse[g] += w
		shift[g] += w * (d.Y[i] - m.Y[g]) // about the first of them: no digits are lost
		m.Repeats[g].More++
		m.Repeats[g].LogD -= 0.5 * math.Log(d.ScaleOf(i))
	}
	for g := range m.Y {
		m.NoiseScale[g] = 1 / inverse[g]
		y, low := twoSum(m.Y[g], shift[g]/inverse[g])
		r := &m.Repeats[g]
		if r.More--; r.More == 0 { // as it was, to the last bit
			m.NoiseScale[g], m.Y[g], r.LogD = d.ScaleOf(first[g]), d.Y[first[g]], 0
			continue
		}
		m.Y[g] = y
		if keep {
			m.YLow[g] = low
		}
		r.LogD += 0.5 * math.Log(m.NoiseScale[g])
		if m.NoiseExtra != nil {
			m.NoiseExtra[g] *= m.NoiseScale[g] / d.ScaleOf(first[g])
		}
	}
	for i, g := range of {
		e := d.Y[i] - m.Y[g]
		if keep {
			e -= m.YLow[g]
		}
		m.Repeats[g].SS += e * e / d.ScaleOf(i)
	}
	return m
}

// farFromZero says whether the rounding of y counts beside what tells its values apart.
func farFromZero(y []float64) bool {
	low, high := slices.Min(y), slices.Max(y)
	return max(math.Abs(low), math.Abs(high)) > 16*(high-low)
}

// twoSum returns a + b and what its rounding has left, exactly.
func twoSum(a, b float64) (sum, low float64) {
	sum = a + b
	of := sum - a
	return sum, (a - (sum - of)) + (b - of)
}

// groups returns the first row of each group, and the group of each row.
func (d *Table) groups() (first, of []int) {
	n := d.X.Rows
	of = make([]int, n)
	seed := maphash.MakeSeed()
	heads, next := make(map[uint64]int, n), []int{} // by hash, group to group
	key := make([]byte, 8*(d.X.Cols+1))
	for i := range n {
		for j, v := range d.X.Row(i) {
			binary.LittleEndian.PutUint64(key[8*j:], math.Float64bits(v+0)) // -0 is 0
		}
		binary.LittleEndian.PutUint64(key[8*d.X.Cols:], math.Float64bits(d.ratioOf(i)))
		h := maphash.Bytes(seed, key)
		head, known := heads[h]
		g := -1
		for k := head; known && k >= 0; k = next[k] {
			if d.samePlace(first[k], i) {
				g = k
				break
			}
		}
		if g < 0 {
			g = len(first)
			if !known {
				head = -1
			}
			first, next = append(first, i), append(next, head)
			heads[h] = g
		}
		of[i] = g
	}
	return first, of
}

func (d *Table) samePlace(a, b int) bool {
	if d.ratioOf(a) != d.ratioOf(b) {
		return false
	}
	y := d.X.Row(b)
	for j, v := range d.X.Row(a) {
		if v != y[j] {
			return false
		}
	}
	return true
}

// ScaleOf is d_i, ratioOf e_i/d_i.
func (d *Table) ScaleOf(i int) float64 {
	if d.NoiseScale == nil {
		return 1
	}
	return d.NoiseScale[i]
}

func (d *Table) ratioOf(i int) float64 {
	if d.NoiseExtra == nil {
		return 0
	}
	return d.NoiseExtra[i]/d.ScaleOf(i) + 0
}

// WithinGroups returns the logarithm of the within-group term at σ_n² = noise, its
// derivative by σ_n², and its Fisher information of log σ_n².
func (d *Table) WithinGroups(noise float64) (value, slope, info float64) {
	for i, r := range d.Repeats {
		if r.More == 0 {
			continue
		}
		s := noise + d.ratioOf(i)
		value += r.LogD - 0.5*(r.More*math.Log(2*math.Pi*s)+r.SS/s)
		slope += 0.5 * (r.SS/s - r.More) / s
		info += 0.5 * r.More * (noise / s) * (noise / s)
	}
	return value, slope, info
}

// WithinRounding is the size of what rounding does to the within-group term, by chance up or
// down: targets, their differences from means and the sums of squares are rounded, n^1/2 u of
// the sizes of all terms.
func (d *Table) WithinRounding(noise float64) float64 {
	rows, size := 0.0, 0.0
	for i, r := range d.Repeats {
		if r.More == 0 {
			continue
		}
		s := noise + d.ratioOf(i)
		rows += r.More + 1
		size += math.Abs(r.LogD) + 0.5*(math.Abs(r.More*math.Log(2*math.Pi*s))+r.SS/s)
	}
	return 0x1p-52 * math.Sqrt(rows) * size
}

// WithinScaled returns the terms of a target divided by scale.
func WithinScaled(r []Repeat, scale float64) []Repeat {
	if r == nil {
		return nil
	}
	out := append([]Repeat{}, r...)
	for i := range out {
		out[i].SS /= scale * scale
	}
	return out
}

package gp

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"bbgp.dev/linalg"
)

// A Table is what a model is of, in any units: n rows of D inputs, their target, and
// what is known of the noise. The noise variance of row i is σ_n² d_i + e_i.
type Table struct {
	X          linalg.Matrix // n×D
	Y          []float64     // n
	YLow       []float64     // what is left of Y beyond its last digit, of merged rows; nil for zeros
	NoiseScale []float64     // d_i, nil for ones
	NoiseExtra []float64     // e_i, nil for zeros
	Repeats    []Repeat      // of merged rows; nil if no row is merged
}

// Rows returns the rows with the given indices as a table of its own.
func (d *Table) Rows(rows []int) *Table {
	s := &Table{X: linalg.NewMatrix(len(rows), d.X.Cols)}
	pick := func(v []float64) []float64 {
		if v == nil {
			return nil
		}
		p := make([]float64, len(rows))
		for i, r := range rows {
			p[i] = v[r]
		}
		return p
	}
	for i, r := range rows {
		copy(s.X.Row(i), d.X.Row(r))
	}
	s.Y, s.YLow, s.NoiseScale, s.NoiseExtra = pick(d.Y), pick(d.YLow), pick(d.NoiseScale), pick(d.NoiseExtra)
	if d.Repeats != nil {
		s.Repeats = make([]Repeat, len(rows))
		for i, k := range rows {
			s.Repeats[i] = d.Repeats[k]
		}
	}
	return s
}

// Columns yields the columns of x, each valid until the next: a few are copied at a time, as numbers of a column
// lie a row apart, which costs a cache line each in wide tables.
func Columns(x linalg.Matrix) iter.Seq2[int, []float64] {
	const line = 8 // numbers of a cache line
	return func(yield func(int, []float64) bool) {
		n := x.Rows
		buf := make([]float64, min(line, x.Cols)*n)
		for from := 0; from < x.Cols; from += line {
			to := min(from+line, x.Cols)
			for i := range n {
				for k, v := range x.Row(i)[from:to] {
					buf[k*n+i] = v
				}
			}
			for j := from; j < to; j++ {
				if !yield(j, buf[(j-from)*n:(j-from+1)*n]) {
					return
				}
			}
		}
	}
}

// ConstantColumns returns the inputs that have one value in all rows.
func ConstantColumns(x linalg.Matrix) []int {
	var out []int
	for j := range x.Cols {
		same := true
		for i := 1; i < x.Rows && same; i++ {
			same = equal(x.At(i, j), x.At(0, j))
		}
		if same {
			out = append(out, j)
		}
	}
	return out
}

// Constant says whether all values are equal.
func Constant(v []float64) bool {
	for _, x := range v {
		if !equal(x, v[0]) {
			return false
		}
	}
	return true
}

// equal says whether two values are one but for rounding, as 0.1 + 0.2 and 0.3 are.
func equal(a, b float64) bool { return a == b || math.Abs(a-b) <= 0x1p-51*math.Abs(a) }

func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Subset returns m of n rows chosen at random, in increasing order.
func Subset(n, m int, seed uint64) []int {
	if m >= n {
		rows := make([]int, n)
		for i := range rows {
			rows[i] = i
		}
		return rows
	}
	rows := rand.New(rand.NewPCG(seed, 0x5b5e7)).Perm(n)[:m]
	slices.Sort(rows)
	return rows
}

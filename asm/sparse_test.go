package asm

import (
	"fmt"
	"math"
	"testing"
)

// sparseProblem returns a W of the given shape on a dense block of n rows.
func sparseProblem(rows, width, n int) (w []float64, idx []int32) {
	r := newRand(uint64(rows*100 + width))
	w, idx = normals[float64](r, rows*width, 1), make([]int32, rows*width)
	for i := range idx {
		idx[i] = int32(r.IntN(n))
	}
	return w, idx
}

func TestSparseRows(t *testing.T) {
	const n = 37
	forEach(t, func(t *testing.T, im *Impl) {
		for rows := range 21 {
			for width := 1; width <= 69; width += 4 + 4*(width/20) {
				off := (rows + width) % 8
				w, idx := sparseProblem(rows, width, n)
				r := newRand(9)
				x, y := normals[float64](r, n*SparseCols, 1), make([]float64, rows*SparseCols)
				want := append([]float64(nil), y...)
				generic.GatherRows(want, w, idx, x, rows, width)
				g := guard(y, off)
				im.GatherRows(g.data, guard(w, 7-off).data, idx, guard(x, off).data, rows, width)
				g.check(t)
				sameBits(t, fmt.Sprintf("GatherRows %d×%d", rows, width), g.data, want)

				in := normals[float64](r, rows*SparseCols, 1)
				wantY := append([]float64(nil), x...)
				generic.ScatterRows(wantY, w, idx, in, rows, width)
				gy := guard(x, off)
				im.ScatterRows(gy.data, guard(w, 7-off).data, idx, guard(in, off).data, rows, width)
				gy.check(t)
				sameBits(t, fmt.Sprintf("ScatterRows %d×%d", rows, width), gy.data, wantY)
			}
		}
	})
}

// TestSparseRowsTruth compares with sums over the entries, taken exactly.
func TestSparseRowsTruth(t *testing.T) {
	const n, rows, width = 50, 30, 17
	w, idx := sparseProblem(rows, width, n)
	r := newRand(4)
	x, u := normals[float64](r, n*SparseCols, 1), normals[float64](r, rows*SparseCols, 1)
	y, z := make([]float64, rows*SparseCols), make([]float64, n*SparseCols)
	generic.GatherRows(y, w, idx, x, rows, width)
	generic.ScatterRows(z, w, idx, u, rows, width)
	trans := make([]sum, len(z))
	for q := range rows {
		for c := range SparseCols {
			var s sum
			for k := range width {
				v, i := w[q*width+k], int(idx[q*width+k])
				s.add(v, x[i*SparseCols+c])
				trans[i*SparseCols+c].add(v, u[q*SparseCols+c])
			}
			if !s.near(y[q*SparseCols+c], 0x1p-52) {
				t.Fatalf("GatherRows: row %d column %d is %v", q, c, y[q*SparseCols+c])
			}
		}
	}
	for i := range trans {
		if !trans[i].near(z[i], 0x1p-52) {
			t.Fatalf("ScatterRows: element %d is %v", i, z[i])
		}
	}
}

func TestSparseRowsSpecial(t *testing.T) {
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 5e-324, math.MaxFloat64}
	forEach(t, func(t *testing.T, im *Impl) {
		for _, v := range special {
			for c := range SparseCols {
				const rows, width, n = 3, 9, 5
				w, idx := sparseProblem(rows, width, n)
				x := normals[float64](newRand(2), n*SparseCols, 1)
				x[2*SparseCols+c] = v
				got, want := make([]float64, rows*SparseCols), make([]float64, rows*SparseCols)
				im.GatherRows(got, w, idx, x, rows, width)
				generic.GatherRows(want, w, idx, x, rows, width)
				sameBits(t, "GatherRows", got, want)
				y, wantY := make([]float64, n*SparseCols), make([]float64, n*SparseCols)
				im.ScatterRows(y, w, idx, x, rows, width)
				generic.ScatterRows(wantY, w, idx, x, rows, width)
				sameBits(t, "ScatterRows", y, wantY)
			}
		}
	})
}

func TestSparseRowsPanics(t *testing.T) {
	w, idx, x := make([]float64, 10), make([]int32, 10), make([]float64, 2*SparseCols)
	for name, f := range map[string]func(){
		"width":       func() { generic.GatherRows(x, w, idx, x, 2, 4) },
		"short y":     func() { generic.GatherRows(x[1:], w, idx, x, 2, 5) },
		"short w":     func() { generic.GatherRows(x, w[1:], idx, x, 2, 5) },
		"short idx":   func() { generic.ScatterRows(x, w, idx[1:], x, 2, 5) },
		"short x":     func() { generic.ScatterRows(x, w, idx, x[1:], 2, 5) },
		"rows":        func() { generic.ScatterRows(x, w, idx, x, -1, 5) },
		"width 0":     func() { generic.ScatterRows(x, w, idx, x, 2, 0) },
		"gather rows": func() { generic.GatherRows(x, w, idx, x, -1, 5) },
	} {
		if !panics(f) {
			t.Errorf("%s: no panic", name)
		}
	}
}

func BenchmarkSparseRows(b *testing.B) {
	const n, width = 11643, 65
	w, idx := sparseProblem(n, width, n)
	x, y := normals[float64](newRand(1), n*SparseCols, 1), make([]float64, n*SparseCols)
	for _, im := range All() {
		for name, f := range map[string]func(y, w []float64, idx []int32, x []float64, rows, width int){
			"gather": im.GatherRows, "scatter": im.ScatterRows,
		} {
			b.Run(fmt.Sprintf("%s/n=%d/width=%d/isa=%s", name, n, width, im.Name), func(b *testing.B) {
				for b.Loop() {
					f(y, w, idx, x, n, width)
				}
			})
		}
	}
}

package asm

import (
	"fmt"
	"math"
	"testing"
)

func TestGemm(t *testing.T) {
	r := newRand(6)
	forEach(t, func(t *testing.T, im *Impl) {
		for _, depth := range sizes(append(span(1, 90, 1), 256), span(1, 90, 7)) {
			ldc := GemmCols + depth%5
			a := guard(normals[float64](r, depth*GemmRows, 1), 1)
			b := guard(normals[float64](r, depth*GemmCols, 1), 2)
			c0 := normals[float64](r, (GemmRows-1)*ldc+GemmCols, 1)
			for _, add := range []bool{false, true} {
				c := guard(c0, 3)
				im.Gemm(c.data, ldc, a.data, b.data, depth, add)
				c.check(t)
				checkGemm(t, c.data, c0, ldc, a.data, b.data, depth, add)
			}
		}
	})
}

func checkGemm(t *testing.T, c, c0 []float64, ldc int, a, b []float64, depth int, add bool) {
	t.Helper()
	for i := range c0 {
		row, col := i/ldc, i%ldc
		if col >= GemmCols {
			if c[i] != c0[i] {
				t.Fatalf("depth %d: wrote outside the micro-tile", depth)
			}
			continue
		}
		var want sum
		if add {
			want.add(c0[i], 1)
		}
		for l := range depth {
			want.add(a[l*GemmRows+row], b[l*GemmCols+col])
		}
		if !want.near(c[i], 0x1p-52) {
			t.Fatalf("depth %d: c[%d][%d] = %v, want %v", depth, row, col, c[i], want.hi)
		}
	}
}

// triProblem returns a unit of TriSolve with NaN where nothing may be read.
func triProblem(seed uint64, stride int) (l, x []float64) {
	r := newRand(seed)
	l, x = normals[float64](r, TriUnit*TriUnit, 0.3), normals[float64](r, (TriUnit-1)*stride+GemmCols, 1)
	for i := range TriUnit {
		for j := range i {
			l[i*TriUnit+j] = math.NaN()
		}
		l[i*TriUnit+i] = 0.5 + r.Float64()
	}
	for i := range x {
		if i%stride >= GemmCols {
			x[i] = math.NaN()
		}
	}
	return l, x
}

func TestTriSolve(t *testing.T) {
	forEach(t, func(t *testing.T, im *Impl) {
		for _, stride := range []int{GemmCols, GemmCols + 5} {
			l, x0 := triProblem(uint64(stride), stride)
			for _, down := range []bool{false, true} {
				got, want := guard(x0, 1), append([]float64(nil), x0...)
				at, step := 0, stride
				if down {
					at, step = (TriUnit-1)*stride, -stride
				}
				im.TriSolve(got.data, at, step, guard(l, 3).data)
				generic.TriSolve(want, at, step, l)
				got.check(t)
				sameBits(t, fmt.Sprint("TriSolve ", stride, down), got.data, want)
			}
		}
	})
}

// TestTriSolveTruth puts the solution back into the system.
func TestTriSolveTruth(t *testing.T) {
	l, b := triProblem(3, GemmCols)
	x := append([]float64(nil), b...)
	generic.TriSolve(x, 0, GemmCols, l)
	for r := range TriUnit {
		for j := range GemmCols {
			var s sum
			s.add(x[r*GemmCols+j], 1/l[r*TriUnit+r])
			for k := range r {
				s.add(l[k*TriUnit+r], x[k*GemmCols+j])
			}
			if !s.near(b[r*GemmCols+j], 0x1p-51) {
				t.Fatalf("unknown %d, column %d: the system gives %v, want %v", r, j, s.hi, b[r*GemmCols+j])
			}
		}
	}
}

func TestTranspose(t *testing.T) {
	r := newRand(8)
	forEach(t, func(t *testing.T, im *Impl) {
		for _, n := range sizes(append(span(1, 33, 1), 256), span(1, 33, 5)) {
			w, stride := TransRows+n%3*8, n+n%4
			src := normals[float64](r, (TransRows-1)*stride+n, 1)
			dst := guard(make([]float64, (n-1)*w+TransRows), 1)
			im.Transpose(dst.data, w, guard(src, 3).data, stride, n)
			dst.check(t)
			for i, got := range dst.data {
				want := 0.0
				if i%w < TransRows {
					want = src[i%w*stride+i/w]
				}
				if got != want {
					t.Fatalf("n = %d: row %d, column %d is %v, want %v", n, i/w, i%w, got, want)
				}
			}
		}
	})
}

func TestDensePanics(t *testing.T) {
	z := make([]float64, 10000)
	for name, f := range map[string]func(){
		"Gemm c":        func() { generic.Gemm(z[:GemmCols], GemmCols, z, z, 1, true) },
		"Gemm ldc":      func() { generic.Gemm(z, GemmCols-1, z, z, 1, true) },
		"Gemm depth":    func() { generic.Gemm(z, GemmCols, z, z, 0, true) },
		"Gemm a":        func() { generic.Gemm(z, GemmCols, z[:15], z, 2, true) },
		"Gemm b":        func() { generic.Gemm(z, GemmCols, z, z[:47], 2, true) },
		"TriSolve rows": func() { generic.TriSolve(z, 0, GemmCols-1, z) },
		"TriSolve x":    func() { generic.TriSolve(z[:TriUnit*GemmCols-1], 0, GemmCols, z) },
		"TriSolve up":   func() { generic.TriSolve(z, (TriUnit-1)*GemmCols-1, -GemmCols, z) },
		"TriSolve l":    func() { generic.TriSolve(z, 0, GemmCols, z[:TriUnit*TriUnit-1]) },
		"Transpose n":   func() { generic.Transpose(z, 8, z, 8, 0) },
		"Transpose dst": func() { generic.Transpose(z[:15], 8, z, 8, 2) },
		"Transpose src": func() { generic.Transpose(z, 8, z[:57], 8, 2) },
		"Transpose w":   func() { generic.Transpose(z, 7, z, 8, 2) },
	} {
		if !panics(f) {
			t.Errorf("%s: no panic", name)
		}
	}
}

func BenchmarkDense(b *testing.B) {
	const depth = 256
	r := newRand(1)
	x, y := normals[float64](r, depth*GemmRows, 1), normals[float64](r, depth*GemmCols, 1)
	c := make([]float64, GemmRows*GemmCols)
	l, rhs := triProblem(1, GemmCols)
	z := make([]float64, TransRows*depth)
	for _, im := range All() {
		report := func(name string, vecs float64, f func()) {
			b.Run(fmt.Sprintf("%s/isa=%s", name, im.Name), func(b *testing.B) {
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(cyclesPerCall(b, f)/vecs, "cycles/vec")
			})
		}
		lanes := im.F64.lanes()
		report("gemm/depth=256", float64(depth*GemmRows*GemmCols/lanes), func() { im.Gemm(c, GemmCols, x, y, depth, false) })
		report("triSolve", float64(TriUnit*TriUnit/2*GemmCols/lanes), func() { im.TriSolve(rhs, 0, GemmCols, l) })
		report("transpose", float64(TransRows*depth/lanes), func() { im.Transpose(z, TransRows, x, depth, depth) })
	}
}

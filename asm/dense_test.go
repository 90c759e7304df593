package asm

import (
	"fmt"
	"math"
	"testing"
)

func TestGemm(t *testing.T) { forEachKit(t, testGemm[float32], testGemm[float64]) }

// testGemm compares with the reference bit by bit, and the sums with the truth.
func testGemm[T Float](t *testing.T, k *Kit[T]) {
	r, width := newRand(6), GemmWidth[T]()
	for _, depth := range sizes(append(span(1, 90, 1), 256), span(1, 90, 7)) {
		ldc, alpha := width+depth%5, []float64{1, -1, 0.5}[depth%3]
		a := guard(normals[T](r, depth*GemmRows, 1), 1)
		b := guard(normals[T](r, depth*width, 1), 2)
		c0 := normals[float64](r, (GemmRows-1)*ldc+width, 1)
		for _, add := range []bool{false, true} {
			c, want := guard(c0, 3), append([]float64(nil), c0...)
			k.Gemm(c.data, ldc, alpha, a.data, b.data, depth, add)
			c.check(t)
			genericGemm(&want[0], ldc, &a.data[0], &b.data[0], nil, depth, alpha, flag(add))
			sameBits(t, fmt.Sprint("Gemm, depth ", depth, add), c.data, want)
			checkGemm(t, c.data, c0, ldc, alpha, a.data, b.data, depth, add)

			panels := guard(inPanels(b.data, depth), 2)
			c = guard(c0, 3)
			k.GemmPanels(c.data, ldc, alpha, a.data, panels.data, a.data, depth, add)
			c.check(t)
			sameBits(t, fmt.Sprint("GemmPanels, depth ", depth, add), c.data, want)
		}
	}
}

// inPanels packs B for GemmPanels.
func inPanels[T Float](b []T, depth int) []T {
	width, panel := GemmWidth[T](), GemmWidth[T]()/3
	out := make([]T, len(b))
	for i, v := range b {
		row, col := i/width, i%width
		out[(col/panel*depth+row)*panel+col%panel] = v
	}
	return out
}

func checkGemm[T Float](t *testing.T, c, c0 []float64, ldc int, alpha float64, a, b []T, depth int, add bool) {
	t.Helper()
	width := GemmWidth[T]()
	for i := range c0 {
		row, col := i/ldc, i%ldc
		if col >= width {
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
			want.add(alpha*float64(a[l*GemmRows+row]), float64(b[l*width+col]))
		}
		if !want.near(c[i], eps[T]()) {
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

func TestTranspose(t *testing.T) { forEachKit(t, testTranspose[float32], testTranspose[float64]) }

func testTranspose[T Float](t *testing.T, k *Kit[T]) {
	r := newRand(8)
	for _, n := range sizes(append(span(1, 33, 1), 256), span(1, 33, 5)) {
		w, stride := TransRows+n%3*8, n+n%4
		src := normals[T](r, (TransRows-1)*stride+n, 1)
		dst := guard(make([]T, (n-1)*w+TransRows), 1)
		k.Transpose(dst.data, w, guard(src, 3).data, stride, n)
		dst.check(t)
		for i, got := range dst.data {
			var want T
			if i%w < TransRows {
				want = src[i%w*stride+i/w]
			}
			if got != want {
				t.Fatalf("n = %d: row %d, column %d is %v, want %v", n, i/w, i%w, got, want)
			}
		}
	}
}

func TestDensePanics(t *testing.T) {
	z, k := make([]float64, 10000), &generic.F64
	for name, f := range map[string]func(){
		"Gemm c":        func() { k.Gemm(z[:GemmCols], GemmCols, 1, z, z, 1, true) },
		"Gemm ldc":      func() { k.Gemm(z, GemmCols-1, 1, z, z, 1, true) },
		"Gemm depth":    func() { k.Gemm(z, GemmCols, 1, z, z, 0, true) },
		"Gemm a":        func() { k.Gemm(z, GemmCols, 1, z[:15], z, 2, true) },
		"GemmPanels a":  func() { k.GemmPanels(z, GemmCols, 1, z[:15], z, z, 2, true) },
		"GemmPanels b":  func() { k.GemmPanels(z, GemmCols, 1, z, z[:47], z, 2, true) },
		"Gemm b":        func() { k.Gemm(z, GemmCols, 1, z, z[:47], 2, true) },
		"TriSolve rows": func() { generic.TriSolve(z, 0, GemmCols-1, z) },
		"TriSolve x":    func() { generic.TriSolve(z[:TriUnit*GemmCols-1], 0, GemmCols, z) },
		"TriSolve up":   func() { generic.TriSolve(z, (TriUnit-1)*GemmCols-1, -GemmCols, z) },
		"TriSolve l":    func() { generic.TriSolve(z, 0, GemmCols, z[:TriUnit*TriUnit-1]) },
		"Transpose n":   func() { k.Transpose(z, 8, z, 8, 0) },
		"Transpose dst": func() { k.Transpose(z[:15], 8, z, 8, 2) },
		"Transpose src": func() { k.Transpose(z, 8, z[:57], 8, 2) },
		"Transpose w":   func() { k.Transpose(z, 7, z, 8, 2) },
	} {
		if !panics(f) {
			t.Errorf("%s: no panic", name)
		}
	}
}

func BenchmarkDense(b *testing.B) {
	for _, im := range All() {
		benchDense(b, im.Name, &im.F32)
		benchDense(b, im.Name, &im.F64)
		l, rhs := triProblem(1, GemmCols)
		benchVectors(b, "triSolve/isa="+im.Name, float64(TriUnit*TriUnit/2*GemmCols/im.F64.lanes()),
			func() { im.TriSolve(rhs, 0, GemmCols, l) })
	}
}

func benchDense[T Float](b *testing.B, isa string, k *Kit[T]) {
	const depth, n = 256, 4096
	r, width := newRand(1), GemmWidth[T]()
	x, y := normals[T](r, depth*GemmRows, 1), normals[T](r, depth*width, 1)
	c, z := make([]float64, GemmRows*width), make([]T, TransRows*depth)
	u, v := normals[T](r, n, 1), normals[T](r, n, 1)
	for name, f := range map[string]func(){
		"gemm/depth=256": func() { k.GemmPanels(c, width, 1, x, y, x, depth, false) },
		"transpose":      func() { k.Transpose(z, TransRows, x, depth, depth) },
		"dot/n=4096":     func() { k.Dot(u, v) },
		"axpy/n=4096":    func() { k.Axpy(1e-9, u, v) },
	} {
		elements := map[byte]int{'g': depth * GemmRows * width, 't': len(z), 'd': n, 'a': n}[name[0]]
		benchVectors(b, fmt.Sprintf("%s/f%d/isa=%s", name, 512/Block[T](), isa), float64(elements/k.lanes()), f)
	}
}

// benchVectors reports the cycles of f for each of its vectors.
func benchVectors(b *testing.B, name string, vecs float64, f func()) {
	b.Run(name, func(b *testing.B) {
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(cyclesPerCall(b, f)/vecs, "cycles/vec")
	})
}

package asm

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// paged returns a copy of v that ends where a page starts that cannot be
// touched (after), or begins where one ends (before).
func paged[T any](t *testing.T, v []T, after bool) []T {
	t.Helper()
	page, size := unix.Getpagesize(), len(v)*int(unsafe.Sizeof(v[0]))
	room := (size + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, room+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	for _, p := range [][]byte{mem[:page], mem[page+room:]} {
		if err := unix.Mprotect(p, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	start := page
	if after {
		start = page + room - size
	}
	out := unsafe.Slice((*T)(unsafe.Pointer(&mem[start])), len(v))
	copy(out, v)
	return out
}

// TestPages runs every routine with all its arguments next to forbidden pages:
// a read or write outside them is a fault.
func TestPages(t *testing.T) {
	for _, after := range []bool{true, false} {
		forEachKit(t,
			func(t *testing.T, k *Kit[float32]) { testPages(t, k, after) },
			func(t *testing.T, k *Kit[float64]) { testPages(t, k, after) })
		forEach(t, func(t *testing.T, im *Impl) { testVectorPages(t, im, after) })
	}
}

func testPages[T Float](t *testing.T, k *Kit[T], after bool) {
	r := newRand(10)
	m := func(n int) []T { return paged(t, normals[T](r, n, 1), after) }
	for _, s := range tileShapes()[:2] {
		rows, cols := s.rows, s.cols
		tile := m(rows * cols)
		for _, d := range []int{1, 2, 3, 8, 13} {
			k.Dist(tile, m(rows*d), m(cols*d), d, rows, cols, 9)
			k.Outer(tile, m(rows*d), m(cols*d), d, rows, cols)
			k.Radii(Matern32, tile, m(rows*d), m(cols*d), d, rows, cols)
		}
		for f := range families {
			copy(tile, squares[T](r, f, rows*cols))
			for p := 1; p <= 2; p++ {
				k.Fused(f, paged(t, make([]float64, rows*p), after), m(p*cols), tile, m(rows*p), m(p*cols), rows, cols,
					p)
			}
			k.Cov(f, tile)
			k.Weight(f, tile)
			for _, d := range []int{10, 20, 50} { // of different rootKits
				for p := 1; p <= 2; p++ {
					k.FusedRadii(f, d, paged(t, make([]float64, rows*p), after), m(p*cols), tile, m(rows*p), m(p*cols),
						rows, cols, p)
				}
				k.CovRadii(f, d, tile, rows, cols)
				k.WeightRadii(f, d, tile, rows, cols)
			}
		}
		for _, p := range []int{4, 12} {
			k.AccJ(m(p*cols), tile, m(rows*p), rows, cols, p)
			k.AccI(paged(t, make([]float64, rows*p), after), tile, m(p*cols), rows, cols, p)
		}
		k.RowSum(paged(t, make([]float64, rows), after), tile, rows, cols)
	}
	for n := 1; n <= 4*lanes; n += 5 {
		x, y := m(n), m(n)
		k.Axpy(2, x, y)
		if s := k.Dot(x, y); s != s {
			t.Fatal("Dot is NaN")
		}
	}
	width := GemmWidth[T]()
	for depth := 1; depth < 70; depth += 1 + depth/5 {
		ldc := width + 3
		c := paged(t, make([]float64, (GemmRows-1)*ldc+width), after)
		k.Gemm(c, ldc, 1, m(depth*GemmRows), m(depth*width), depth, true)
		k.GemmPanels(c, ldc, 1, m(depth*GemmRows), m(depth*width), m(1), depth, true)
		k.Transpose(m((depth-1)*TransRows+TransRows), TransRows, m((TransRows-1)*(depth+1)+depth), depth+1, depth)
	}
}

func testVectorPages(t *testing.T, im *Impl, after bool) {
	r := newRand(11)
	im.Within(paged(t, make([]uint32, 72), after), paged(t, normals[float32](r, 24*96, 1), after),
		paged(t, normals[float32](r, 24, 1), after), 24, 96)
	for n := 1; n <= 4*lanes; n += 5 {
		x, y := paged(t, normals[float64](r, n, 1), after), paged(t, normals[float64](r, n, 1), after)
		z := paged(t, normals[float32](r, n, 1), after)
		im.Widen(x, z)
		im.WidenAdd(y, z)
		im.Cut(x, y, 12)
		im.CutTwo(x, paged(t, make([]float64, n), after), y, 12, 1e-9)
	}
	m := func(n int) []float64 { return paged(t, normals[float64](r, n, 1), after) }
	for _, d := range []int{1, 8, 13} { // a prefetch beyond the end is no access
		const n, stride = 9, 20
		idx := paged(t, make([]int32, n*CholLanes), after)
		for i := range idx {
			idx[i] = int32(i % 5)
		}
		im.GatherLanes(m(n*d*CholLanes), m(4*stride+d), stride, idx, n, d)
		im.LaneDist(m(n*(n+1)/2*CholLanes), m(n*d*CholLanes), n, d, 1)
		im.LaneSyrk(m(n*(n+1)/2*CholLanes), m(n*d*CholLanes), n, d)
	}
	x, last := m(TriUnit*GemmCols), (TriUnit-1)*GemmCols
	im.TriSolve(x, 0, GemmCols, m(TriUnit*TriUnit))
	im.TriSolve(x, last, -GemmCols, m(TriUnit*TriUnit))
}

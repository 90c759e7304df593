package asm

import (
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"
)

// The phase benchmarks report cycles per vector (32 bytes in every
// implementation but avx512: 64). The clock, which changes with the
// instructions in use, is taken from a chain of dependent additions that runs
// in turn with the routine; other load on the core's second thread does not
// slow such a chain, so the smallest figure is that of a core of one's own.

// chain takes 2n cycles on any CPU: an addition and an exclusive or, each
// waiting for the one before.
func chain(n int, x, a, b uint64) uint64 {
	for range n {
		x = (x + a) ^ b
	}
	return x
}

var chainEnd uint64

// cyclesPerCall runs f and the chain in turn and returns the cycles of one
// call, the fewest that were seen.
func cyclesPerCall(b *testing.B, f func()) float64 {
	const steps = 5000
	calls := 1
	for {
		start := time.Now()
		for range calls {
			f()
		}
		if time.Since(start) > 20*time.Microsecond {
			break
		}
		calls *= 2
	}
	var run, clock []float64
	for range max(b.N, 200) {
		t0 := time.Now()
		for range calls {
			f()
		}
		t1 := time.Now()
		chainEnd = chain(steps, chainEnd, 0x9e3779b9, 0x85ebca6b)
		run, clock = append(run, float64(t1.Sub(t0))), append(clock, float64(time.Since(t1)))
	}
	return slices.Min(run) / slices.Min(clock) * 2 * steps / float64(calls)
}

// lanes is the number of elements in a vector of the implementation.
func (k *Kit[T]) lanes() int {
	return max(1, k.peakFlops/2/12)
}

func BenchmarkPhases(b *testing.B) {
	for _, im := range All() {
		if im.Name == "generic" {
			continue
		}
		benchKit(b, im.Name, &im.F32)
		benchKit(b, im.Name, &im.F64)
	}
}

func benchKit[T Float](b *testing.B, isa string, k *Kit[T]) {
	rows, cols := k.TileRows, k.TileCols
	r := newRand(1)
	vecs := float64(rows * cols / k.lanes())
	report := func(name string, scale float64, f func()) {
		b.Run(fmt.Sprintf("%s/f%d/isa=%s", name, 8*unsafe.Sizeof(T(0)), isa), func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(cyclesPerCall(b, f)/scale, "cycles/vec")
		})
	}
	tile, src := make([]T, rows*cols), make([]T, rows*cols)
	for i := range src {
		src[i] = T(100 * r.Float64())
	}
	for _, d := range []int{1, 2, 4, 8, 18, 50} {
		xi, xj := normals[T](r, rows*d, 1), normals[T](r, cols*d, 1)
		report(fmt.Sprint("dist/d=", d), vecs, func() { k.Dist(tile, xi, xj, d, rows, cols, 3600) })
		if k.roots != nil {
			report(fmt.Sprint("radii/d=", d), vecs, func() { k.Radii(Matern32, tile, xi, xj, d, rows, cols) })
		}
	}
	for f := range families {
		// The values stay in range: h and the weights lie in [0, 1], but for 1/r.
		copy(tile, src)
		report("cov/k="+f.String(), vecs, func() { k.Cov(f, tile) })
		if k.early(f, 50) != nil {
			report("covRadii/k="+f.String(), vecs, func() { k.CovRadii(f, 50, tile, rows, cols) })
		}
		report("weight/k="+f.String(), vecs, func() { copy(tile[:64], src); k.Weight(f, tile) })
	}
	for _, p := range []int{4, 8, 16, 32} {
		vi, vj := normals[T](r, rows*p, 1), normals[T](r, p*cols, 1)
		yi, yj := make([]float64, rows*p), make([]T, p*cols)
		report(fmt.Sprint("accJ/p=", p), vecs, func() { k.AccJ(yj, src, vi, rows, cols, p) })
		report(fmt.Sprint("accI/p=", p), vecs, func() { k.AccI(yi, src, vj, rows, cols, p) })
		clear(yj)
	}
	for p := 1; p <= 2; p++ {
		vi, vj := normals[T](r, rows*p, 1), normals[T](r, p*cols, 1)
		yi, yj := make([]float64, rows*p), make([]T, p*cols)
		for f := range families {
			report(fmt.Sprintf("fused/p=%d/k=%v", p, f), vecs,
				func() { k.Fused(f, yi, yj, src, vi, vj, rows, cols, p) })
			if k.early(f, 50) != nil {
				report(fmt.Sprintf("fusedRadii/p=%d/k=%v", p, f), vecs,
					func() { k.FusedRadii(f, 50, yi, yj, src, vi, vj, rows, cols, p) })
			}
		}
	}
	ui, uj := normals[T](r, rows*16, 1), normals[T](r, cols*16, 1)
	report("outer/r=16", vecs, func() { clear(tile[:16]); k.Outer(tile, ui, uj, 16, rows, cols) })
	y := make([]float64, rows)
	report("rowSum", vecs, func() { k.RowSum(y, src, rows, cols) })
}

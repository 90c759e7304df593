package bench

import (
	"context"
	"fmt"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// tileLoop runs the routines of a product of n points on data that stays in
// the fastest cache: what a product would cost if packing, Y and memory were
// free.
type tileLoop[T asm.Float] struct {
	kit        *asm.Kit[T]
	d, p       int
	tiles      int
	buf        []T
	xi, xj     []T
	vi, vj, yj []T
	yi         []float64
}

func newTileLoop[T asm.Float](kit *asm.Kit[T], n, d, p int) *tileLoop[T] {
	r, c := kit.TileRows, kit.TileCols
	t := &tileLoop[T]{kit: kit, d: d, p: p, tiles: n * n / 2 / (r * c)}
	t.buf, t.xi, t.xj = make([]T, r*c), make([]T, r*d), make([]T, c*d)
	t.vi, t.vj, t.yj, t.yi = make([]T, r*p), make([]T, c*p), make([]T, c*p), make([]float64, r*p)
	for i := range t.xi {
		t.xi[i] = T(i%7) / 4
	}
	for i := range t.vi {
		t.vi[i] = T(i%5) - 2
	}
	for i := range t.vj {
		t.vj[i] = T(i%3) - 1
	}
	return t
}

func (t *tileLoop[T]) run() {
	r, c := t.kit.TileRows, t.kit.TileCols
	for range t.tiles {
		t.kit.Radii(asm.Matern32, t.buf, t.xi, t.xj, t.d, r, c)
		if t.p <= 2 {
			t.kit.FusedRadii(asm.Matern32, t.d, t.yi, t.yj, t.buf, t.vi, t.vj, r, c, t.p)
			continue
		}
		t.kit.CovRadii(asm.Matern32, t.d, t.buf, r, c)
		t.kit.AccJ(t.yj, t.buf, t.vi, r, c, t.p)
		t.kit.AccI(t.yi, t.buf, t.vj, r, c, t.p)
	}
	clear(t.yj)
	clear(t.yi)
}

// BenchmarkWholeProduct reports the CPU time of products over that of their
// tile routines, which run in turns on one thread.
func BenchmarkWholeProduct(b *testing.B) {
	im := asm.All()[0]
	for _, n := range []int{2000, 10000} {
		for _, d := range []int{4, 18} {
			for _, p := range []int{1, 8, 32} {
				b.Run(fmt.Sprintf("n=%d/d=%d/p=%d/f32/isa=%s", n, d, p, im.Name), func(b *testing.B) {
					ratio(b, n, d, p, kernelmv.F32, newTileLoop(&im.F32, n, d, p).run)
				})
				b.Run(fmt.Sprintf("n=%d/d=%d/p=%d/f64/isa=%s", n, d, p, im.Name), func(b *testing.B) {
					ratio(b, n, d, p, kernelmv.F64, newTileLoop(&im.F64, n, d, p).run)
				})
			}
		}
	}
}

func ratio(b *testing.B, n, d, p int, prec kernelmv.Precision, tiles func()) {
	spec := ProductSpec{N: n, D: d, P: p, Kernel: kernelmv.Matern32, Precision: prec, Threads: 1}
	op, _, rng, err := spec.operator()
	if err != nil {
		b.Fatal(err)
	}
	v, y, mul := normal(rng, n, p), linalg.NewMatrix(n, p), op.With(prec)
	if err := mul.MulTo(context.Background(), y, v); err != nil {
		b.Fatal(err)
	}
	tiles()
	var whole, parts float64
	for range b.N {
		for range 1 + 10000*1000/(n*n/10) {
			c0 := CPUSeconds()
			if err := mul.MulTo(context.Background(), y, v); err != nil {
				b.Fatal(err)
			}
			c1 := CPUSeconds()
			tiles()
			whole, parts = whole+c1-c0, parts+CPUSeconds()-c1
		}
	}
	b.ReportMetric(whole/parts, "whole/tiles")
}

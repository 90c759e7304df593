package kernelmv

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// TestOutsideCalls: matrices that are not what they say, rows that are not there and a nil
// context are told by a text, never met by a routine in assembly.
func TestOutsideCalls(t *testing.T) {
	const n, d = 70, 2
	rng := rand.New(rand.NewPCG(5, 6))
	x := linalgtest.RandMatrix(rng, n, d)
	k := randKernel(rng, Matern32, d)
	e := linalgtest.NewEngine(t, nil, 1)
	op := newOp(t, e, x, k, nil)
	src, err := op.NewSource(t.Context(), linalg.NewMatrix(n, 2), 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	v, ctx, none := op.NewVecchia(n, 1), t.Context(), context.Context(nil)
	m, g, grad := linalg.NewMatrix, make([]float64, 2), make([]float64, d)
	short := func(rows, cols int) linalg.Matrix {
		return linalg.Matrix{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols-1)}
	}
	flat := func(rows, cols int) linalg.Matrix {
		return linalg.Matrix{Rows: rows, Cols: cols, Stride: cols - 1, Data: make([]float64, rows*cols)}
	}
	calls := map[string]func(){
		"NewOp short":      func() { _, _ = NewOp(e, short(n, d), k, nil) },
		"NewOp flat":       func() { _, _ = NewOp(e, flat(n, d), k, nil) },
		"NewOp no engine":  func() { _, _ = NewOp(nil, x, k, nil) },
		"MulTo dst":        func() { _ = op.MulTo(ctx, short(n, 2), m(n, 2)) },
		"MulTo src":        func() { _ = op.MulTo(ctx, m(n, 2), flat(n, 2)) },
		"MulTo nil":        func() { _ = op.MulTo(none, m(n, 2), m(n, 2)) },
		"With MulTo":       func() { _ = op.With(F32).MulTo(ctx, m(n, 2), short(n, 2)) },
		"CrossMulTo":       func() { _ = op.CrossMulTo(ctx, m(3, 2), short(3, d), m(n, 2)) },
		"CrossMulTo nil":   func() { _ = op.CrossMulTo(none, m(3, 2), m(3, d), m(n, 2)) },
		"CrossTo rows":     func() { _ = op.CrossTo(ctx, m(3, 1), m(3, d), []int32{n}) },
		"ColsTo below":     func() { _ = op.ColsTo(ctx, m(n, 1), 0, []int{-1}) },
		"ColsTo far":       func() { _ = op.ColsTo(ctx, m(n, 1), 0, []int{1 << 32}) },
		"ColsTo from":      func() { _ = op.ColsTo(ctx, m(1, 1), n, []int{0}) },
		"RowsTo":           func() { _ = op.RowsTo(ctx, m(1, n), []int32{math.MinInt32}) },
		"BlockTo":          func() { op.BlockTo(0, m(2, 2), []int32{0, n}) },
		"BlockTo flat":     func() { op.BlockTo(0, flat(2, 2), []int32{0, 1}) },
		"DenseTo":          func() { _ = op.DenseTo(ctx, flat(n, n)) },
		"DenseGradTo":      func() { _, _ = op.DenseGradTo(ctx, grad, short(n, n)) },
		"GradTo":           func() { _ = op.GradTo(ctx, grad, short(n, 2), g) },
		"GradTo nil":       func() { _ = op.GradTo(none, grad, m(n, 2), g) },
		"GradInvSqTo":      func() { _ = op.GradInvSqTo(ctx, grad, flat(n, 2), g) },
		"GradError":        func() { op.GradError(flat(n, 2), g, 1) },
		"CrossGradTo":      func() { _, _ = op.CrossGradTo(ctx, grad, []int32{0, -1}, m(2, n)) },
		"Nearest":          func() { _, _ = op.Nearest(ctx, short(3, d), 2) },
		"Nearest far":      func() { _, _ = op.Nearest(ctx, m(3, d), math.MaxInt) },
		"NeighboursTo":     func() { _ = op.NeighboursTo(ctx, make([]int32, 2), []int{0, n}, 1) },
		"EntryRounding":    func() { _ = op.EntryRounding(make([]float64, 3), short(3, d)) },
		"NewSource":        func() { _, _ = op.NewSource(ctx, flat(n, 2), 1e-6) },
		"Source.MulTo":     func() { _ = src.MulTo(ctx, m(3, 2), short(3, d)) },
		"Source.MulTo nil": func() { _ = src.MulTo(none, m(3, 2), m(3, d)) },
		"Vecchia.Find":     func() { _, _ = v.Find(ctx, -1) },
	}
	for what, call := range calls {
		func() {
			defer func() {
				s, ok := recover().(string)
				if !ok || !strings.HasPrefix(s, "kernelmv: ") && !strings.HasPrefix(s, "linalg: ") {
					t.Errorf("%s: %v", what, s)
				}
			}()
			call()
		}()
	}
	for what, row := range map[string][]float64{"NaN": {math.NaN(), 0}, "Inf": {0, math.Inf(1)}} {
		bad := linalg.Matrix{Rows: 1, Cols: d, Stride: d, Data: row}
		if err := op.CrossMulTo(ctx, m(1, 2), bad, m(n, 2)); err == nil {
			t.Errorf("%s in a test row is no error", what)
		}
		if _, err := NewOp(e, bad, k, nil); err == nil {
			t.Errorf("%s in a row is no error", what)
		}
	}
}

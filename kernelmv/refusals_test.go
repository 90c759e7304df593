package kernelmv

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// What cannot be computed is refused with its reason, and an operator that refuses parameters keeps its own.
func TestRefusals(t *testing.T) {
	e := linalgtest.NewEngine(t, asm.All()[0], 1)
	x := linalg.NewMatrix(3, 2)
	copy(x.Data, []float64{1, 2, 3, 4, 5, 7})
	good := Kernel{Matern32, 1, []float64{1, 2}}
	o, err := NewOp(e, x, good, []float64{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	before := linalg.NewMatrix(3, 3)
	if err := o.DenseTo(context.Background(), before); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		k     Kernel
		noise []float64
		want  string
	}{
		{Kernel{Family(77), 1, []float64{1, 2}}, nil, "unknown kernel family"},
		{Kernel{Matern32, 0, []float64{1, 2}}, nil, "variance 0"},
		{Kernel{Matern32, math.Inf(1), []float64{1, 2}}, nil, "variance +Inf"},
		{Kernel{Matern32, 1, []float64{1}}, nil, "1 lengthscales for 2 inputs"},
		{Kernel{Matern32, 1, []float64{1, math.NaN()}}, nil, "lengthscale NaN of input 1"},
		{Kernel{Matern32, 1, []float64{1, 5e-324}}, nil, "lengthscale of input 1 is too small"},
		{good, []float64{1}, "1 noise variances for 3 points"},
		{good, []float64{1, -1, 1}, "noise variance -1 of row 1"},
		{good, []float64{1, 1, math.Inf(1)}, "noise variance +Inf of row 2"},
	} {
		if err := o.Reset(c.k, c.noise); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, %v: %v", c.k, c.noise, err)
		}
		if o2, err := NewOp(e, x, c.k, c.noise); err == nil || o2 != nil {
			t.Errorf("%v, %v: an operator was made", c.k, c.noise)
		}
	}
	after := linalg.NewMatrix(3, 3)
	if err := o.DenseTo(context.Background(), after); err != nil || !slices.Equal(before.Data, after.Data) {
		t.Errorf("%v: refused parameters left %v of %v", err, after.Data, before.Data)
	}
	x.Data[3] = math.NaN()
	for what, bad := range map[string]linalg.Matrix{"input 1 of row 1 is NaN": x, "no points": linalg.NewMatrix(0, 2)} {
		if _, err := NewOp(e, bad, good, nil); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := o.Nearest(context.Background(), x, 1); err == nil {
		t.Error("rows that are no numbers have near ones")
	}
	if _, err := ParseFamily("matern53"); err == nil || !strings.Contains(err.Error(), "matern52") {
		t.Errorf("an unknown name: %v", err)
	}
}

// Arguments of wrong shapes are told by name, before anything is written.
func TestWrongShapes(t *testing.T) {
	const n, d = 7, 2
	rng := rand.New(rand.NewPCG(3, 1))
	x := linalgtest.RandMatrix(rng, n, d)
	o := newOp(t, linalgtest.NewEngine(t, asm.All()[0], 1), x, Kernel{Matern32, 1, []float64{1, 1}}, nil)
	ctx, m := context.Background(), linalg.NewMatrix
	source, err := o.NewSource(ctx, m(n, 1), 1e-9)
	if err != nil {
		t.Fatal(err)
	}
	rows := []int32{1, 2}
	vecchia := o.NewVecchia(n, 1)
	near, err := vecchia.Find(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string]func(){
		"DiagTo":          func() { o.DiagTo(make([]float64, n+1)) },
		"ColsTo":          func() { _ = o.ColsTo(ctx, m(n, 1), 0, []int{0, 1}) },
		"RowsTo":          func() { _ = o.RowsTo(ctx, m(2, n+1), rows) },
		"TrianglesTo":     func() { o.TrianglesTo(0, nil, rows) },
		"BlockTo":         func() { o.BlockTo(0, m(1, 2), rows) },
		"CrossTo":         func() { _ = o.CrossTo(ctx, m(1, 1), m(1, d), rows) },
		"CrossGradTo":     func() { _, _ = o.CrossGradTo(ctx, make([]float64, d), rows, m(1, n)) },
		"CrossMulTo":      func() { _ = o.CrossMulTo(ctx, m(2, 1), m(1, d), m(n, 1)) },
		"number of input": func() { _ = o.CrossMulTo(ctx, m(1, 1), m(1, d+1), m(n, 1)) },
		"DenseTo":         func() { _ = o.DenseTo(ctx, m(n, 1)) },
		"DenseGradTo":     func() { _, _ = o.DenseGradTo(ctx, nil, m(n, n)) },
		"GradTo":          func() { _ = o.GradTo(ctx, make([]float64, d), m(n, 2), []float64{1}) },
		"GradInvSqTo":     func() { _ = o.GradInvSqTo(ctx, make([]float64, d+1), m(n, 1), []float64{1}) },
		"GradError":       func() { o.GradError(m(n, 2), []float64{1}, 1) },
		"SetForm":         func() { o.SetForm(FormH2, 0, 1e-9) },
		"NewSource":       func() { _, _ = o.NewSource(ctx, m(n+1, 1), 1e-9) },
		"Source":          func() { _ = source.MulTo(ctx, m(2, 1), m(1, d)) },
		"At":              func() { k := o.Kernel(); k.At(make([]float64, d), make([]float64, 1)) },
		"NeighboursTo":    func() { _ = o.NeighboursTo(ctx, nil, []int{0}, 2) },
		"Nearest":         func() { _, _ = o.Nearest(ctx, m(1, d), -1) },
		"MulTo":           func() { _ = o.MulTo(ctx, m(n, 1), m(n, 2)) },
		"EntryRounding":   func() { _ = o.EntryRounding(make([]float64, n-1), m(n, d)) },
		"Vecchia":         func() { _, _ = vecchia.Evaluate(ctx, near, make([]float64, n), nil) },
	} {
		t.Run(what, func(t *testing.T) {
			defer func() {
				s, ok := recover().(string)
				if !ok || !strings.HasPrefix(s, "kernelmv: ") || !strings.Contains(s, what) {
					t.Errorf("it says %q", s)
				}
			}()
			call()
		})
	}
}

// Whatever takes a context ends with it, at once or between two looks at it, in every form of products.
func TestEndedContexts(t *testing.T) {
	if testing.Short() {
		t.Skip("the looks are those of every routine")
	}
	for _, d := range []int{1, 2, 5} {
		const n = 900
		rng := rand.New(rand.NewPCG(5, uint64(d)))
		x := linalgtest.RandMatrix(rng, n, d)
		o := newOp(t, linalgtest.NewEngine(t, asm.All()[0], 2), x, randKernel(rng, Matern32, d), nil)
		v, y, dst, g := linalgtest.RandMatrix(rng, n, 2), linalg.NewMatrix(n, 2), make([]float64, d), []float64{1, 1}
		square, order := linalg.NewMatrix(n, n), make([]int, n)
		for i := range order {
			order[i] = i
		}
		rows, nearest := []int32{3, 5, 8}, make([]int32, 4*n)
		vecchia := o.NewVecchia(n, 1)
		near, err := vecchia.Find(context.Background(), 8)
		if err != nil {
			t.Fatal(err)
		}
		calls := map[string]func(context.Context) error{
			"MulTo":        func(ctx context.Context) error { return o.MulTo(ctx, y, v) },
			"MulTo f32":    func(ctx context.Context) error { return o.With(F32).MulTo(ctx, y, v) },
			"GradTo":       func(ctx context.Context) error { return o.GradTo(ctx, dst, v, g) },
			"GradInvSqTo":  func(ctx context.Context) error { return o.GradInvSqTo(ctx, dst, v, g) },
			"ColsTo":       func(ctx context.Context) error { return o.ColsTo(ctx, y, 0, []int{0, 1}) },
			"DenseTo":      func(ctx context.Context) error { return o.DenseTo(ctx, square) },
			"RowsTo":       func(ctx context.Context) error { return o.RowsTo(ctx, linalg.NewMatrix(3, n), rows) },
			"CrossTo":      func(ctx context.Context) error { return o.CrossTo(ctx, linalg.NewMatrix(n, 3), x, rows) },
			"CrossMulTo":   func(ctx context.Context) error { return o.CrossMulTo(ctx, y, x, v) },
			"NeighboursTo": func(ctx context.Context) error { return o.NeighboursTo(ctx, nearest, order, 4) },
			"DenseGradTo":  func(ctx context.Context) error { _, err := o.DenseGradTo(ctx, dst, square); return err },
			"Nearest":      func(ctx context.Context) error { _, err := o.Nearest(ctx, x, 3); return err },
			"Find":         func(ctx context.Context) error { _, err := vecchia.Find(ctx, 8); return err },
			"NewSource":    func(ctx context.Context) error { _, err := o.NewSource(ctx, v, 1e-9); return err },
			"CrossGradTo": func(ctx context.Context) error {
				_, err := o.CrossGradTo(ctx, dst, rows, linalg.NewMatrix(3, n))
				return err
			},
			"Evaluate": func(ctx context.Context) error {
				_, err := vecchia.Evaluate(ctx, near, make([]float64, n), make([]float64, n))
				return err
			},
		}
		for _, form := range []Form{FormDense, FormH2} {
			o.SetForm(form, 1e-4, 1e-8)
			for what, call := range calls {
				all := new(countdown)
				for range 2 { // the first call makes what later ones find
					all = &countdown{Context: context.Background(), left: 1 << 60}
					if err := call(all); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
				}
				for _, left := range []int64{0, all.seen.Load() / 2} {
					ctx := &countdown{Context: context.Background(), left: left}
					if err := call(ctx); err != context.Canceled {
						t.Errorf("d=%d, form %d, %s after %d looks: %v", d, form, what, left, err)
					}
				}
			}
		}
	}
}

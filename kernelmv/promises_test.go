package kernelmv

import (
	"context"
	"math/rand/v2"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// A product or gradient of a shape that has been seen allocates nothing.
func TestNoAllocations(t *testing.T) {
	ctx := context.Background()
	for _, d := range []int{1, 2, 9} { // O(n) form, sorted points, tiles
		const p = 70
		n := 500
		if testing.Short() {
			n = 200
		}
		rng := rand.New(rand.NewPCG(40, uint64(d)))
		e := linalgtest.NewEngine(t, nil, 2)
		op := newOp(t, e, linalgtest.RandMatrix(rng, n, d), randKernel(rng, Matern52, d), nil)
		v, y := linalgtest.RandMatrix(rng, n, p), linalg.NewMatrix(n, p)
		xs, cross := linalgtest.RandMatrix(rng, 130, d), linalg.NewMatrix(130, p)
		dst, g := make([]float64, d), make([]float64, p)
		for _, prec := range []Precision{F32, F64} {
			op.SetGradPrecision(prec)
			op.SetPrecision(prec)
			mul := op.With(prec)
			for _, c := range []int{1, 2, 8, p} {
				src, out := v.Sub(0, n, 0, c), y.Sub(0, n, 0, c)
				for name, f := range map[string]func() error{
					"MulTo":       func() error { return mul.MulTo(ctx, out, src) },
					"GradTo":      func() error { return op.GradTo(ctx, dst, src, g[:c]) },
					"CrossMulTo":  func() error { return op.CrossMulTo(ctx, cross.Sub(0, 130, 0, c), xs, src) },
					"GradInvSqTo": func() error { return op.GradInvSqTo(ctx, dst, src, g[:c]) },
				} {
					count := testing.AllocsPerRun(3, func() { // warms up by itself
						if err := f(); err != nil {
							t.Fatal(err)
						}
					})
					if count > 0 {
						t.Errorf("d=%d %v p=%d: %s allocates %v times", d, prec, c, name, count)
					}
				}
			}
		}
	}
}

// A pass of many points looks at its context at least once for every tile
// column of a pair of superblocks, a fraction of a millisecond of work, and
// ends at the first look that fails.
func TestCancelSoon(t *testing.T) {
	im := asm.All()[0]
	if testing.Short() || im.Name == "generic" {
		t.Skip("the superblocks are largest from 25000 points on")
	}
	const n, d, threads = 25000, 4, 2
	rng := rand.New(rand.NewPCG(41, 1))
	e := linalgtest.NewEngine(t, im, threads)
	op := newOp(t, e, linalgtest.RandMatrix(rng, n, d), randKernel(rng, Matern32, d), nil)
	op.SetGradPrecision(F32)
	v, y := linalgtest.RandMatrix(rng, n, 4), linalg.NewMatrix(n, 4)
	for name, pass := range map[string]func(context.Context) error{
		"MulTo":  func(ctx context.Context) error { return op.With(F32).MulTo(ctx, y, v) },
		"GradTo": func(ctx context.Context) error { return op.GradTo(ctx, make([]float64, d), v, make([]float64, 4)) },
	} {
		all := &countdown{Context: context.Background(), left: 1 << 60}
		if err := pass(all); err != nil {
			t.Fatal(err)
		}
		looks := all.seen.Load()
		if entries := int64(n) * n / 2 / looks; entries > 4*linalg.BlockUnit*192 {
			t.Errorf("%s looks at the context every %d entries only", name, entries)
		}
		for _, left := range []int64{0, 1, 7, looks / 2} {
			ctx := &countdown{Context: context.Background(), left: left}
			if err := pass(ctx); err != context.Canceled {
				t.Fatalf("%s = %v, want context.Canceled", name, err)
			}
			// Each worker may be about to look when the first one fails.
			if extra := ctx.seen.Load() - left; extra > threads+1 {
				t.Errorf("%s looked %d times more after the context had ended", name, extra)
			}
		}
	}
}

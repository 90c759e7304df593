package posterior

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
)

// Within a limit of memory probes are drawn a few at a time, V has fewer columns and blocks fewer rows: the bounds hold
// and are as narrow as without. What cannot be smaller is refused.
func TestWithinMemory(t *testing.T) {
	ctx := context.Background()
	d, test := gptest.RandomTable(600, 3, 2), gptest.RandomTable(fewRows+40, 3, 3)
	params := gp.Params{Kernel: "matern32", Mean: 0.1, Variance: 1, Noise: 0.1, Lengthscales: []float64{0.7, 1, 1.5}}
	for _, spec := range []PrecondSpec{{Rank: 50}, {Neighbours: 32}} {
		dense, some := pair(t, d, params, spec)
		opt := Options{SD: true, SDTol: 0.02}
		exact, err := dense.Predict(ctx, gptest.Engine(t), test.X, opt)
		if err != nil {
			t.Fatal(err)
		}
		out := within(18<<20, func() *Prediction {
			p, err := some.Predict(ctx, gptest.Engine(t), test.X, opt)
			if err != nil {
				t.Fatal(err)
			}
			return p
		})
		size := some.probes.size
		if size.Probes >= probeCount || size.Rows >= varianceBlock || some.pre.NodeIsOne() && size.Rank >= d.X.Rows/8 {
			t.Errorf("%+v: %+v", spec, size)
		}
		for i := range exact.Mean {
			a, b := exact.row(i), out.row(i)
			if a.sd < b.sdLo*(1-1e-6) || a.sd > b.sdHi*(1+1e-6) || !narrow(0.1, b.sdLo*b.sdLo, b.sdHi*b.sdHi) {
				t.Errorf("%+v, row %d: sd %v is not within %v, %v", spec, i, a.sd, b.sdLo, b.sdHi)
			}
		}
	}
	dense := New(d, params, PrecondSpec{Dense: true}, nil, Weights{MeanError: math.Inf(1)})
	var short *gp.MemoryError
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(14 << 20))
	if _, err := dense.Predict(ctx, gptest.Engine(t), test.X, Options{SD: true}); !errors.As(err, &short) ||
		short.Needed <= short.Budget {
		t.Errorf("a dense factor: %v", err)
	}
}

// within returns what f does with such a limit of memory.
func within(limit int64, f func() *Prediction) *Prediction {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	return f()
}

// What is let go of is made again, with the same bits.
func TestOnce(t *testing.T) {
	d := gptest.RandomTable(400, 2, 5)
	params := gp.Params{Kernel: "matern32", Variance: 1, Noise: 0.1, Lengthscales: []float64{1, 1}}
	_, p := pair(t, d, params, PrecondSpec{Rank: 30})
	var before *Prediction
	for range 2 {
		out, err := p.Predict(context.Background(), gptest.Engine(t), d.X, Options{SD: true, SDTol: 0.05, Once: true})
		if err != nil {
			t.Fatal(err)
		}
		if p.probes != nil || p.runner != nil {
			t.Error("what was prepared is kept")
		}
		if before != nil && (out.Mean[7] != before.Mean[7] || out.Hi[7] != before.Hi[7]) {
			t.Errorf("%v and %v", out.Hi[7], before.Hi[7])
		}
		before = out
	}
}

package posterior

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// TestEnginesShare: engines that take turns on one posterior prepare it once. The work of a
// call, counted in iterations of loops, is that of a call by the engine that prepared it,
// and so are the bits.
func TestEnginesShare(t *testing.T) {
	ctx, d, test := context.Background(), gptest.RandomTable(700, 3, 5), gptest.RandomTable(fewRows, 3, 6)
	p := gp.Params{Kernel: "matern32", Variance: 1, Noise: 0.05, Lengthscales: []float64{1, 2, 3}}
	var count atomic.Int64
	var engines []*linalg.Engine
	for _, threads := range []int{1, 3, 1} {
		e, err := linalg.NewEngine(nil, threads)
		if err != nil {
			t.Fatal(err)
		}
		e.Par.Between = func(int) { count.Add(1) }
		engines = append(engines, e)
	}
	for _, spec := range []PrecondSpec{{Dense: true}, {Rank: 60}, {Neighbours: 16}} {
		m := New(d, p, spec, nil, Weights{})
		if err := m.Refine(ctx, engines[0], 1e-8); err != nil {
			t.Fatal(err)
		}
		call := func(e *linalg.Engine) (*Prediction, int64) {
			count.Store(0)
			got, err := m.Predict(ctx, e, test.X, Options{SD: true, SDTol: 0.05})
			if err != nil {
				t.Fatal(err)
			}
			return got, count.Load()
		}
		_, first := call(engines[0])
		want, work := call(engines[0])
		for round := range 2 {
			for k, e := range engines {
				got, did := call(e)
				// Loops over threads count them.
				if slack := work / 10; did > work+slack+64 || first < 2*work && spec.Dense == false {
					t.Errorf("%+v, round %d, engine %d: %d iterations, %d by one engine, %d at first", spec, round, k,
						did, work, first)
				}
				if !slices.Equal(got.Mean, want.Mean) || !slices.Equal(got.Lo, want.Lo) ||
					!slices.Equal(got.Width, want.Width) {
					t.Errorf("%+v, round %d, engine %d: other bits", spec, round, k)
				}
			}
		}
		if len(m.runners) != 2 {
			t.Errorf("%d runners for two numbers of threads", len(m.runners))
		}
	}
}

// TestRoutinesShare: engines with other routines share what was prepared, too, and their
// bounds hold as well.
func TestRoutinesShare(t *testing.T) {
	ctx, d, test := context.Background(), gptest.RandomTable(300, 2, 5), gptest.RandomTable(fewRows, 2, 6)
	p := gp.Params{Kernel: "matern32", Variance: 1, Noise: 0.05, Lengthscales: []float64{1, 2}}
	dense, m := pair(t, d, p, PrecondSpec{Neighbours: 16})
	want, err := dense.Predict(ctx, nil, test.X, Options{SD: true, SDTol: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	var probes *gapProbes
	for _, im := range append(asm.All(), asm.All()...) {
		e, err := linalg.NewEngine(im, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Predict(ctx, e, test.X, Options{SD: true, SDTol: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		if probes != nil && m.probes != probes {
			t.Errorf("%s: probes were made again", im.Name)
		}
		probes = m.probes
		for i := range want.Mean {
			w, g := want.row(i), got.row(i)
			if w.sd < g.sdLo-1e-7 || w.sd > g.sdHi+1e-7 || w.mean < g.meanLo-1e-7 || w.mean > g.meanHi+1e-7 {
				t.Errorf("%s, row %d: %+v outside %+v", im.Name, i, w, g)
			}
		}
	}
}

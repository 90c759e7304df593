package posterior

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
)

func (l *LeftOut) row(i int) deviation {
	lo, hi := math.Sqrt(l.Lo[i]), math.Sqrt(l.Hi[i])
	return deviation{(l.MeanLo[i] + l.MeanHi[i]) / 2, l.MeanLo[i], l.MeanHi[i], (lo + hi) / 2, lo, hi}
}

// TestLeaveOneOutExact: the dense answers are those of models without the row, at
// the same parameters and scaling.
func TestLeaveOneOutExact(t *testing.T) {
	ctx, d := context.Background(), gptest.RandomTable(60, 3, 4)
	p := gp.Params{Kernel: "matern32", Mean: 0.2, Variance: 2, Noise: 0.03, Lengthscales: []float64{1, 2, 4}}
	m, _ := pair(t, d, p, PrecondSpec{Neighbours: 8})
	got, err := m.LeaveOneOut(ctx, gptest.Engine(t))
	if err != nil {
		t.Fatal(err)
	}
	if got.Kind != "exact" {
		t.Errorf("bounds are %s", got.Kind)
	}
	for i := range 60 {
		rest := make([]int, 0, 59)
		for j := range 60 {
			if j != i {
				rest = append(rest, j)
			}
		}
		sub := d.Rows(rest)
		other := New(sub, p, PrecondSpec{Dense: true}, nil, Weights{})
		if err := other.Refine(ctx, gptest.Engine(t), 1e-8); err != nil {
			t.Fatal(err)
		}
		want, err := other.Predict(ctx, gptest.Engine(t), d.X.Sub(i, i+1, 0, 3), Options{SD: true, SDTol: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		f, obs := want.row(0), got.row(i)
		if sd := math.Sqrt(f.sd*f.sd + gp.NoiseOf(p, d)[i]); math.Abs(obs.mean-f.mean) > 1e-8 ||
			math.Abs(obs.sd-sd) > 1e-8 {
			t.Errorf("row %d: %v ± %v, want %v ± %v", i, obs.mean, obs.sd, f.mean, sd)
		}
	}
}

// TestLeaveOneOutBounds: the iterative bounds contain the dense answers and are
// narrow.
func TestLeaveOneOutBounds(t *testing.T) {
	ctx, d := context.Background(), gptest.RandomTable(700, 3, 8)
	for _, i := range []int{5, 6, 7} {
		copy(d.X.Row(i), d.X.Row(4)) // repeats
	}
	for _, c := range []struct {
		noise, variance float64
		r               PrecondSpec
	}{{0.1, 1, PrecondSpec{Rank: 60}}, {1e-2, 1, PrecondSpec{Neighbours: 24}}, {1e-4, 3, PrecondSpec{Neighbours: 32}}} {
		if c.noise < 1e-3 {
			d.NoiseExtra = nil
		}
		p := gp.Params{Kernel: "matern32", Variance: c.variance, Noise: c.noise,
			Lengthscales: []float64{1, 3, math.Inf(1)}}
		dense, iter := pair(t, d, p, c.r)
		want, err := dense.LeaveOneOut(ctx, gptest.Engine(t))
		if err != nil {
			t.Fatal(err)
		}
		got, err := iter.LeaveOneOut(ctx, gptest.Engine(t))
		if err != nil {
			t.Fatal(err)
		}
		wide := 0
		for i := range want.Lo {
			w, g := want.row(i), got.row(i)
			if w.sd < g.sdLo*(1-1e-9) || w.sd > g.sdHi*(1+1e-9) {
				t.Errorf("noise %g, row %d: sd %v outside [%v, %v]", c.noise, i, w.sd, g.sdLo, g.sdHi)
			}
			if w.mean < g.meanLo-1e-9 || w.mean > g.meanHi+1e-9 {
				t.Errorf("noise %g, row %d: mean %v outside [%v, %v]", c.noise, i, w.mean, g.meanLo, g.meanHi)
			}
			if !narrow(0.05, got.Lo[i], got.Hi[i]) {
				wide++
			}
		}
		if wide > len(want.Lo)/50 {
			t.Errorf("noise %g: %d of %d intervals are wide", c.noise, wide, len(want.Lo))
		}
	}
}

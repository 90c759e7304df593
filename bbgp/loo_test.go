package bbgp

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
)

// TestLeaveOneOutExact: the dense answers are those of models without the row, at
// the same parameters and scaling.
func TestLeaveOneOutExact(t *testing.T) {
	ctx, d := context.Background(), randomData(60, 3, 4)
	p := Params{Kernel: "matern32", Mean: 0.2, Variance: 2, Noise: 0.03, Lengthscales: []float64{1, 2, 4}}
	m, _ := pairOfModels(t, d, p, recipe{Neighbours: 8})
	got, err := m.LeaveOneOut(ctx, gptest.Engine(t))
	if err != nil {
		t.Fatal(err)
	}
	if got.BoundKind != "exact" {
		t.Errorf("bounds are %s", got.BoundKind)
	}
	std := m.Scaling.apply(d.table())
	for i := range 60 {
		rest := make([]int, 0, 59)
		for j := range 60 {
			if j != i {
				rest = append(rest, j)
			}
		}
		sub := std.Rows(rest)
		other := &Model{Parameters: p, Scaling: m.Scaling, Target: "y", Names: m.Names, x: sub.X, y: sub.Y,
			noiseScale: sub.NoiseScale, noiseExtra: sub.NoiseExtra, recipe: recipe{Dense: true}}
		if err := other.refine(ctx, gptest.Engine(t), 1e-8); err != nil {
			t.Fatal(err)
		}
		want, err := other.Predict(ctx, gptest.Engine(t), d.X.Sub(i, i+1, 0, 3), PredictOptions{SD: true})
		if err != nil {
			t.Fatal(err)
		}
		scale := m.Scaling.YScale
		noise := gp.NoiseOf(p, std)[i]
		sd := math.Sqrt(want.SD[0]*want.SD[0] + noise*scale*scale)
		if math.Abs(got.Mean[i]-want.Mean[0]) > 1e-8*scale || math.Abs(got.SDObs[i]-sd) > 1e-8*scale {
			t.Errorf("row %d: %v ± %v, want %v ± %v", i, got.Mean[i], got.SDObs[i], want.Mean[0], sd)
		}
		if math.Abs(got.Y[i]-d.Y[i]) > 1e-12 {
			t.Errorf("row %d: target %v, want %v", i, got.Y[i], d.Y[i])
		}
	}
}

// TestLeaveOneOutBounds: the iterative bounds contain the dense answers and are
// narrow.
func TestLeaveOneOutBounds(t *testing.T) {
	ctx, d := context.Background(), randomData(700, 3, 8)
	for _, i := range []int{5, 6, 7} {
		copy(d.X.Row(i), d.X.Row(4)) // repeats
	}
	for _, c := range []struct {
		noise, variance float64
		r               recipe
	}{{0.1, 1, recipe{Rank: 60}}, {1e-2, 1, recipe{Neighbours: 24}}, {1e-4, 3, recipe{Neighbours: 32}}} {
		if c.noise < 1e-3 {
			d.NoiseExtra = nil
		}
		p := Params{Kernel: "matern32", Variance: c.variance, Noise: c.noise,
			Lengthscales: []float64{1, 3, math.Inf(1)}}
		dense, iter := pairOfModels(t, d, p, c.r)
		want, err := dense.LeaveOneOut(ctx, gptest.Engine(t))
		if err != nil {
			t.Fatal(err)
		}
		got, err := iter.LeaveOneOut(ctx, gptest.Engine(t))
		if err != nil {
			t.Fatal(err)
		}
		wide := 0
		for i, sd := range want.SDObs {
			if sd < got.SDObsLower[i]*(1-1e-9) || sd > got.SDObsUpper[i]*(1+1e-9) {
				t.Errorf("noise %g, row %d: sd %v outside [%v, %v]", c.noise, i, sd, got.SDObsLower[i],
					got.SDObsUpper[i])
			}
			if w := want.Mean[i]; w < got.MeanLower[i]-1e-9 || w > got.MeanUpper[i]+1e-9 {
				t.Errorf("noise %g, row %d: mean %v outside [%v, %v]", c.noise, i, w, got.MeanLower[i],
					got.MeanUpper[i])
			}
			if !narrow(0.05, got.SDObsLower[i]*got.SDObsLower[i], got.SDObsUpper[i]*got.SDObsUpper[i]) {
				wide++
			}
		}
		if wide > len(want.SDObs)/50 {
			t.Errorf("noise %g: %d of %d intervals are wide", c.noise, wide, len(want.SDObs))
		}
	}
}

// TestLeaveOneOutConstant: nothing varies, nothing is unknown.
func TestLeaveOneOutConstant(t *testing.T) {
	d, err := NewData([][]float64{{1}, {2}, {3}}, []float64{7, 7, 7}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Fit(context.Background(), d, Options{Engine: gptest.Engine(t)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := m.LeaveOneOut(context.Background(), nil)
	if err != nil || math.Abs(l.Mean[1]-7) > 1e-12 || l.SDObs[1] != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}

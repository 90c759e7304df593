package bbgp

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/internal/posterior"
	"bbgp.dev/linalg"
)

// modelOf returns a model of d with parameters p, without a fit and without weights.
func modelOf(d *Data, s Scaling, p Params, spec posterior.PrecondSpec) *Model {
	m := &Model{Parameters: p, Scaling: s, Target: "y"}
	for j := range d.X.Cols {
		m.Names = append(m.Names, d.Name(j))
	}
	m.post = posterior.New(s.Apply(d.table()), p, spec, nil, posterior.Weights{MeanError: math.Inf(1)})
	return m
}

// TestPredictFixedValues: values of a dense solution published with the recipe:
// x_i = 10 i/999, y = sin x, ℓ = σ_f² = 1, no scaling.
func TestPredictFixedValues(t *testing.T) {
	x, y := linalg.NewMatrix(1000, 1), make([]float64, 1000)
	for i := range y {
		x.Data[i] = 10 * float64(i) / 999
		y[i] = math.Sin(x.Data[i])
	}
	d := &Data{X: x, Y: y}
	at := linalg.Matrix{Rows: 2, Cols: 1, Stride: 1, Data: []float64{5, 10.5}}
	for _, c := range []struct{ noise, sd, mean, lml float64 }{
		{1e-2, 0.0274404, -0.551089, 1244.428742}, {1e-4, 0.00488887, -0.589367, 3218.540987},
		{1e-6, 0.000918899, -0.599899, 4503.389366},
	} {
		p := Params{Kernel: "matern32", Variance: 1, Noise: c.noise, Lengthscales: []float64{1}}
		ctx := context.Background()
		dense := modelOf(d, gp.Identity(d.X.Cols), p, posterior.PrecondSpec{Dense: true})
		iter := modelOf(d, gp.Identity(d.X.Cols), p, posterior.PrecondSpec{Neighbours: 16})
		for _, m := range []*Model{dense, iter} {
			got, err := m.Predict(ctx, at, PredictOptions{SD: true,
				SDTol: 0.002, MeanTol: 1e-8, Engine: gptest.Engine(t)})
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.Mean[1]-c.mean) > 2e-6 {
				t.Errorf("noise %g: mean %v, want %v", c.noise, got.Mean[1], c.mean)
			}
			if e := gptest.Relative(got.SD[0], c.sd); m == dense && e > 2e-6 || e > 0.005 { // 1 % of the variance
				t.Errorf("noise %g: sd %v, want %v", c.noise, got.SD[0], c.sd)
			}
		}
		r, err := LogMarginalLikelihood(ctx, d, p, Options{NoScale: true, Method: "exact", Engine: gptest.Engine(t)})
		if err != nil {
			t.Fatal(err)
		}
		if gptest.Relative(r.LML, c.lml) > 1e-9 {
			t.Errorf("noise %g: L %.9f, want %.6f", c.noise, r.LML, c.lml)
		}
	}
}

func TestPredictErrors(t *testing.T) {
	m, d := smallModel(t, 30, Options{MaxSteps: 2})
	ctx := context.Background()
	bad := d.X.Clone()
	bad.Set(4, 1, math.NaN())
	var de *DataError
	if _, err := m.Predict(ctx, bad, PredictOptions{}); !errors.As(err, &de) || de.Row != 4 || de.Column != "x2" {
		t.Errorf("NaN input: error %v", err)
	}
	if _, err := m.Predict(ctx, linalg.NewMatrix(2, 5), PredictOptions{}); !errors.As(err, &de) {
		t.Errorf("5 inputs: error %v", err)
	}
	if p, err := m.Predict(ctx, linalg.NewMatrix(0, 3), PredictOptions{SD: true}); err != nil || len(p.SD) != 0 {
		t.Errorf("no rows: %v, %v", p, err)
	}
	p, err := m.Predict(ctx, d.X, PredictOptions{})
	if err != nil || p.SD != nil {
		t.Errorf("means alone: %v, %v", p.SD, err)
	}
	if _, err := m.Score(p, d.Y); err == nil {
		t.Error("scored without deviations")
	}
}

// TestConstantTarget: a constant target gives a model that predicts the constant with
// sd 0, a single row one that does not know its sd.
func TestConstantTarget(t *testing.T) {
	for _, rows := range [][][]float64{{{1, 2}, {2, 2}}, {{4, 5}}} {
		y := make([]float64, len(rows))
		for i := range y {
			y[i] = 7
		}
		d, err := NewData(rows, y, nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Fit(context.Background(), d, Options{Engine: gptest.Engine(t)})
		if err != nil {
			t.Fatal(err)
		}
		r := &m.Result
		if r.PredictedBytes <= 0 {
			t.Errorf("a peak of %d bytes is predicted", r.PredictedBytes)
		}
		if !r.ConstantTarget || len(r.Warnings) == 0 || r.Constant[len(r.Constant)-1] != "x2" {
			t.Errorf("%d rows: result %+v", len(rows), r)
		}
		p, err := m.Predict(context.Background(), linalg.NewMatrix(3, 2), PredictOptions{SD: true})
		sd := 0.0
		if len(rows) == 1 { // tells nothing of how far off others are
			sd = math.Inf(1)
		}
		if err != nil || math.Abs(p.Mean[2]-7) > 1e-12 || p.SD[2] != sd || p.SDObs[2] != sd {
			t.Errorf("%d rows: predictions %+v, %v", len(rows), p, err)
		}
		if s, err := m.Score(p, []float64{7, 7, 7}); err != nil || !math.IsNaN(s.NLPD) || s.RMSE != 0 {
			t.Errorf("score %+v, %v", s, err)
		}
	}
}

// TestNearlyConstantTarget: a target that differs by rounding alone is constant, in the file, too.
func TestNearlyConstantTarget(t *testing.T) {
	d, err := NewData([][]float64{{1}, {2}, {3}}, []float64{0.3, math.Nextafter(0.3, 1), 0.3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Fit(t.Context(), d, Options{Engine: gptest.Engine(t)})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "m.bbgp")
	if err := m.Save(file); err != nil {
		t.Fatal(err)
	}
	if m, err = Load(file); err != nil || !m.Result.ConstantTarget {
		t.Fatalf("%v, %v", m, err)
	}
}

// TestOffsetBounds: bounds of means, of rows left out too, hold where the target's offset leaves it few digits.
func TestOffsetBounds(t *testing.T) {
	const offset = 1e9
	d, test := randomData(80, 2, 5), randomData(50, 2, 6)
	var p [2]*Prediction
	var l [2]*LeftOut
	for k, add := range []float64{0, offset} {
		c := &Data{X: d.X, Y: make([]float64, len(d.Y))}
		for i, y := range d.Y {
			c.Y[i] = math.Round(y*0x1p20)/0x1p20 + add // exact
		}
		m, err := Fit(t.Context(), c, Options{Engine: gptest.Engine(t)})
		if err != nil {
			t.Fatal(err)
		}
		if p[k], err = m.Predict(t.Context(), test.X, PredictOptions{SD: true}); err != nil {
			t.Fatal(err)
		}
		if l[k], err = m.LeaveOneOut(t.Context(), LeaveOutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	outside := func(what string, low, high, meanLow, meanHigh []float64) {
		for i := range low {
			if meanHigh[i]-offset < low[i] || meanLow[i]-offset > high[i] {
				t.Errorf("%s %d: [%v, %v] with the offset, not [%v, %v]", what, i, meanLow[i], meanHigh[i],
					low[i], high[i])
			}
		}
	}
	outside("mean", p[0].MeanLower, p[0].MeanUpper, p[1].MeanLower, p[1].MeanUpper)
	outside("left out", l[0].MeanLower, l[0].MeanUpper, l[1].MeanLower, l[1].MeanUpper)
}

// TestPredictCancelled: an end of the context ends the preparation, and a later
// call starts anew.
func TestPredictCancelled(t *testing.T) {
	d, test := randomData(700, 3, 5), randomData(300, 3, 6)
	p := Params{Kernel: "matern32", Variance: 1, Noise: 0.05, Lengthscales: []float64{1, 2, 3}}
	m := modelOf(d, gp.Identity(d.X.Cols), p, posterior.PrecondSpec{Neighbours: 16})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Predict(ctx, test.X, PredictOptions{SD: true,
		Engine: gptest.Engine(t)}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := m.LeaveOneOut(ctx, LeaveOutOptions{Engine: gptest.Engine(t)}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := m.Sample(ctx, test.X, SampleOptions{Engine: gptest.Engine(t)}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := m.Predict(context.Background(), test.X,
		PredictOptions{SD: true, Engine: gptest.Engine(t)}); err != nil {
		t.Errorf("after that: %v", err)
	}
}

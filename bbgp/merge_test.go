package bbgp

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// Merged rows have the likelihood and the gradient of all rows.
func TestMergedRowsAreExact(t *testing.T) {
	e := gptest.Engine(t)
	p := Params{Kernel: "matern32", Mean: 0.1, Variance: 0.8, Noise: 0.05, Lengthscales: []float64{1.1, 0.7}}
	for _, kind := range []string{"plain", "weights", "variances", "both"} {
		t.Run(kind, func(t *testing.T) {
			d := repeated(150, kind, 3)
			m := d.table().Merged()
			if most := map[string]int{"plain": 20, "weights": 20, "variances": 60,
				"both": 40}[kind]; m.X.Rows > most || m.Repeats == nil {
				t.Fatalf("%d rows after merging", m.X.Rows)
			}
			s := gp.Standardise(d.X, d.Y, gp.PaperFloor)
			opt := &Options{Engine: e, Method: "exact"}
			var ev [2]*evidence.Value
			for k, rows := range []*gp.Table{d.table(), m} {
				obj, err := opt.newObjective(s.Apply(rows), p)
				if err != nil {
					t.Fatal(err)
				}
				if ev[k], err = obj.Evaluate(context.Background(), p, evidence.Options{Gradient: true}); err != nil {
					t.Fatal(err)
				}
			}
			a, b := ev[0], ev[1]
			gptest.CloseTo(t, "LML", b.LML, a.LML, 1e-9)
			gptest.CloseTo(t, "lower bound", b.Lower, a.Lower, 1e-9)
			gptest.CloseTo(t, "derivative by the noise", b.Gradient.Noise, a.Gradient.Noise, 1e-9)
			gptest.CloseTo(t, "derivative by the variance", b.Gradient.Variance, a.Gradient.Variance, 1e-9)
			gptest.CloseTo(t, "derivative by the mean", b.Gradient.Mean, a.Gradient.Mean, 1e-9)
			for j, g := range a.Gradient.Lengthscales {
				gptest.CloseTo(t, "derivative by a lengthscale", b.Gradient.Lengthscales[j], g, 1e-9)
			}
		})
	}
}

// Fits of merged and of slightly shaken rows, which cannot be merged, agree, and
// so does a fit by bounds.
func TestFitOfRepeatedRows(t *testing.T) {
	d := repeated(400, "plain", 5)
	shaken := &Data{X: d.X.Clone(), Y: d.Y}
	for i := range shaken.X.Data {
		shaken.X.Data[i] += 1e-9 * float64(i)
	}
	x := linalg.Matrix{Rows: 2, Cols: 2, Stride: 2, Data: []float64{1, 1, 2.5, 0.5}}
	var lml, at [3]float64
	for k, tc := range []struct {
		d      *Data
		method string
	}{{d, "exact"}, {shaken, "exact"}, {d, "bbgp"}} {
		m, err := Fit(context.Background(), tc.d, Options{Method: enum.Method(tc.method),
			Engine: gptest.Engine(t), Eps: 0.01})
		if err != nil {
			t.Fatal(err)
		}
		if k != 1 && (m.N() > 20 || m.Result.N != 400 || m.Result.Distinct != m.N()) {
			t.Errorf("%d rows of %d", m.N(), m.Result.N)
		}
		pr, err := m.Predict(context.Background(), x, PredictOptions{SD: true})
		if err != nil {
			t.Fatal(err)
		}
		lml[k], at[k] = m.Result.LML, pr.SD[1]
	}
	gptest.CloseTo(t, "LML of merged rows", lml[0], lml[1], 1e-3)
	gptest.CloseTo(t, "sd", at[0], at[1], 0.03)
	gptest.CloseTo(t, "LML by bounds", lml[2], lml[0], 1e-2)
}

// All rows at one place leave one row, and a fit that says what it is.
func TestFitOfOnePlace(t *testing.T) {
	d := &Data{X: linalg.NewMatrix(40, 1), Y: make([]float64, 40)}
	for i := range d.Y {
		d.Y[i] = float64(i % 7)
	}
	m, err := Fit(context.Background(), d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	pr, err := m.Predict(context.Background(), linalg.NewMatrix(1, 1), PredictOptions{SD: true})
	if err != nil || math.Abs(pr.Mean[0]-3) > 0.2 {
		t.Errorf("%v, %v", pr, err)
	}
	sd := math.Sqrt(m.Parameters.Noise) * m.Scaling.YScale
	gptest.CloseTo(t, "noise sd", sd, 2, 0.1)
}

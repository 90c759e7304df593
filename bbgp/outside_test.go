package bbgp

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// typed says whether an error can be told by its type.
func typed(err error) bool {
	var (
		data   *DataError
		option *OptionError
		param  *ParamError
		file   *FileError
		memory *MemoryError
	)
	return errors.As(err, &data) || errors.As(err, &option) || errors.As(err, &param) || errors.As(err, &file) ||
		errors.As(err, &memory)
}

// refuses calls f, which must return such an error and not panic.
func refuses(t *testing.T, what string, f func() error) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s panics: %v", what, r)
		}
	}()
	if err := f(); !typed(err) {
		t.Errorf("%s: %v", what, err)
	}
}

// What a program gets from outside never makes the library panic.
func TestOutsideData(t *testing.T) {
	ctx := context.Background()
	good := func() *Data { return repeated(30, "plain", 4) }
	huge := good()
	huge.X.Set(3, 1, 1e200)
	hugeY := good()
	hugeY.Y[2] = -1e160
	mat := func(rows, cols, stride, n int) linalg.Matrix {
		return linalg.Matrix{Rows: rows, Cols: cols, Stride: stride, Data: make([]float64, n)}
	}
	fit := func(d *Data, opt Options) func() error {
		return func() error { _, err := Fit(ctx, d, opt); return err }
	}
	y := make([]float64, 4)
	for what, d := range map[string]*Data{
		"nil": nil, "zero": {}, "no target": {X: mat(4, 2, 2, 8)}, "short data": {X: mat(4, 2, 2, 7), Y: y},
		"no data":         {X: mat(4, 2, 2, 0), Y: y},
		"negative stride": {X: mat(4, 2, -2, 8), Y: y}, "overlapping rows": {X: mat(4, 2, 1, 8), Y: y},
		"stride 0":      {X: mat(4, 2, 0, 8), Y: y},
		"negative rows": {X: mat(-4, 2, 2, 8), Y: y}, "most rows": {X: mat(math.MaxInt, math.MaxInt, math.MaxInt, 8),
			Y: y}, "long stride": {X: mat(4, 2, math.MaxInt, 8), Y: y},
		"short target": {X: mat(4, 2, 2, 8), Y: y[:3]}, "huge input": huge, "huge target": hugeY,
		"bytes":      {X: mat(4, 1, 1, 4), Y: y, Names: []string{"caf\xe9"}},
		"huge noise": {X: mat(4, 1, 1, 4), Y: y, NoiseExtra: []float64{0, 0, 0, 1e200}},
		"names":      {X: mat(4, 2, 2, 8), Y: y, Names: []string{"a"}},
	} {
		refuses(t, "Fit, "+what, fit(d, Options{}))
		refuses(t, "NewModel, "+what, func() error {
			_, err := NewModel(ctx, d, DefaultParams("", 2), Options{})
			return err
		})
		refuses(t, "LogMarginalLikelihood, "+what, func() error {
			_, err := LogMarginalLikelihood(ctx, d, DefaultParams("", 2), Options{})
			return err
		})
		refuses(t, "NewPlan, "+what, func() error { _, err := NewPlan(ctx, d, Options{}); return err })
	}
	for what, opt := range map[string]Options{
		"zero engine": {Engine: &linalg.Engine{}}, "zero journal": {Journal: &Journal{}},
		"neighbours": {Neighbours: math.MaxInt}, "probes": {Probes: math.MaxInt},
		"start": {Start: &Params{}}, "kernel": {Kernel: "x"}, "memory": {Memory: 1}, "eps": {Eps: math.NaN()},
		"costs": {Costs: &Costs{}},
	} {
		refuses(t, "Fit, "+what, fit(good(), opt))
	}
	var none context.Context
	refuses(t, "Fit, nil context", func() error { _, err := Fit(none, good(), Options{}); return err })
	refuses(t, "MatrixOf", fit(&Data{X: linalg.MatrixOf(nil), Y: y}, Options{}))
	if good().Name(-1) == "" {
		t.Error("no name")
	}
}

// Nor what a program has made of a model.
func TestOutsideModels(t *testing.T) {
	ctx := context.Background()
	m, _ := smallModel(t, 30, Options{MaxSteps: 2})
	xs := linalg.NewMatrix(2, m.D())
	far := linalg.NewMatrix(2, m.D())
	far.Set(1, 0, 1e300)
	broken, _ := smallModel(t, 30, Options{MaxSteps: 2})
	broken.Parameters.Lengthscales = nil
	changed, _ := smallModel(t, 30, Options{MaxSteps: 2})
	changed.Parameters.Lengthscales[1] = 123
	nameless, _ := smallModel(t, 30, Options{MaxSteps: 2})
	nameless.Names = nil
	for what, c := range map[string]struct {
		ctx context.Context
		m   *Model
		e   *linalg.Engine
		x   linalg.Matrix
	}{
		"nil": {ctx, nil, nil, xs}, "zero": {ctx, &Model{}, nil, linalg.Matrix{}}, "nil context": {nil, m, nil, xs},
		"zero engine":     {ctx, m, &linalg.Engine{}, xs},
		"no lengthscales": {ctx, broken, nil, xs}, "changed": {ctx, changed, nil, xs},
		"no names": {ctx, nameless, nil, xs},
		"short":    {ctx, m, nil, linalg.Matrix{Rows: 2, Cols: m.D(), Stride: m.D()}},
		"overlap":  {ctx, m, nil, linalg.Matrix{Rows: 2, Cols: m.D(), Data: xs.Data}}, "far": {ctx, m, nil, far},
	} {
		refuses(t, "Predict, "+what, func() error {
			_, err := c.m.Predict(c.ctx, c.x, PredictOptions{SD: true, Engine: c.e})
			return err
		})
		refuses(t, "Sample, "+what, func() error {
			_, err := c.m.Sample(c.ctx, c.x, SampleOptions{Engine: c.e})
			return err
		})
		if what != "short" && what != "overlap" && what != "far" {
			refuses(t, "LeaveOneOut, "+what, func() error {
				_, err := c.m.LeaveOneOut(c.ctx, LeaveOutOptions{Engine: c.e})
				return err
			})
			refuses(t, "Sobol, "+what, func() error {
				_, err := c.m.Sobol(c.ctx, SobolOptions{Engine: c.e})
				return err
			})
		}
		if what[0] != 'n' || what == "nil" || what == "no names" { // of the model itself
			if c.m != m {
				refuses(t, "Write, "+what, func() error { return c.m.Write(&bytes.Buffer{}) })
			}
		}
	}
	for what, opt := range map[string]SampleOptions{"draws": {Draws: math.MaxInt},
		"features": {Features: -math.MaxInt, Draws: 2}, "fewer features": {Features: math.MinInt},
		"tol": {Tol: math.Inf(1)}, "negative": {Draws: -1}} {
		refuses(t, "Sample, "+what, func() error { _, err := m.Sample(ctx, xs, opt); return err })
	}
	refuses(t, "Score", func() error { _, err := m.Score(nil, nil); return err })
	refuses(t, "Read", func() error { _, err := Read(nil); return err })
	if p, err := m.Predict(ctx, linalg.NewMatrix(0, m.D()),
		PredictOptions{SD: true}); err != nil || len(p.Mean) != 0 {
		t.Error(err)
	}
	// The farthest row that is predicted has the mean of the process and no NaN.
	far.Set(1, 0, 1e149)
	if p, err := m.Predict(ctx, far, PredictOptions{SD: true}); err != nil ||
		!gp.Finite(p.Mean[1]) || !(p.SD[1] > 0) {
		t.Errorf("%+v, %v", p, err)
	}
}

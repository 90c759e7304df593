package bbgp

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"bbgp.dev/linalg"
)

// What is left of the API: lists of rows, tables of rows, empty evaluators and models, files.
func TestOutsideRest(t *testing.T) {
	ctx, none := context.Background(), context.Context(nil)
	m, _ := smallModel(t, 30, Options{MaxSteps: 2})
	nan, inf := math.NaN(), math.Inf(1)
	rows := func(n int) linalg.Matrix { return linalg.NewMatrix(n, m.D()) }
	predict := func(opt PredictOptions) func() error {
		opt.SD = true
		return func() error { _, err := m.Predict(ctx, rows(2), opt); return err }
	}
	sobol := func(opt SobolOptions) func() error {
		return func() error { _, err := m.Sobol(ctx, opt); return err }
	}
	dir := t.TempDir()
	for what, f := range map[string]func() error{
		"Around, below": func() error { _, err := m.Around(ctx, []int{-1}, LeaveOutOptions{}); return err },
		"Around, far":   func() error { _, err := m.Around(ctx, []int{m.N()}, LeaveOutOptions{}); return err },
		"Around, zero":  func() error { _, err := (&Model{}).Around(ctx, []int{0}, LeaveOutOptions{}); return err },
		"Outlying, nil": func() error { _, err := m.Outlying(none, LeaveOutOptions{}); return err },
		"Trained":       func() error { _, err := m.Trained(linalg.NewMatrix(2, m.D()+1)); return err },
		"Trained, nil":  func() error { _, err := (*Model)(nil).Trained(rows(1)); return err },
		"NewData":       func() error { _, err := NewData([][]float64{{1, 2}, {1}}, nil, nil); return err },
		"NewInputs":     func() error { _, err := NewInputs([][]float64{{}, {1}}); return err },
		"Evaluator": func() error {
			_, err := new(Evaluator).At(ctx, DefaultParams("", 2))
			return err
		},
		"Evaluator, nil": func() error { _, err := (*Evaluator)(nil).At(ctx, DefaultParams("", 2)); return err },
		"NewEvaluator":   func() error { _, err := NewEvaluator(nil, Options{}); return err },
		"noise scale":    predict(PredictOptions{NoiseScale: []float64{1}}),
		"noise NaN":      predict(PredictOptions{NoiseScale: []float64{1, nan}}),
		"noise extra":    predict(PredictOptions{NoiseExtra: []float64{-1, 1}}),
		"noise Inf":      predict(PredictOptions{NoiseExtra: []float64{0, inf}}),
		"tolerance":      predict(PredictOptions{SDTol: nan}),
		"no tolerance":   predict(PredictOptions{SDTol: -1}),
		"means":          predict(PredictOptions{MeanTol: nan}),
		"Predict, NaN": func() error {
			x := rows(1)
			x.Data[0] = nan
			_, err := m.Predict(ctx, x, PredictOptions{})
			return err
		},
		"Sample, Inf": func() error {
			x := rows(1)
			x.Data[0] = -inf
			_, err := m.Sample(ctx, x, SampleOptions{})
			return err
		},
		"Sample, NaN":   func() error { _, err := m.Sample(ctx, rows(2), SampleOptions{Tol: nan}); return err },
		"Sobol, blocks": sobol(SobolOptions{Blocks: [][]int{{-1}}}),
		"Sobol, far":    sobol(SobolOptions{Blocks: [][]int{{math.MaxInt}}}),
		"Sobol, groups": sobol(SobolOptions{Groups: [][]int{{m.D()}}}),
		"MeasureCosts":  func() error { _, err := MeasureCosts(none, nil); return err },
		"costs of none": func() error { _, err := MeasureCosts(ctx, &linalg.Engine{}); return err },
		"Save":          func() error { return (&Model{}).Save(filepath.Join(dir, "m")) },
		"Write":         func() error { return m.Write(nil) },
		"File":          func() error { _, err := (*Model)(nil).File(); return err },
		"Params, NaN":   func() error { return new(Params).UnmarshalJSON([]byte(`{"noise":1}`)) },
	} {
		refuses(t, what, f)
	}
	if n := (*Model)(nil).N() + (&Model{}).D() + len((&Model{}).Training().Y); n != 0 {
		t.Errorf("an empty model has %d", n)
	}
	for what, f := range map[string]func(){
		"nil": func() { (*Data)(nil).Rows(nil) }, "zero": func() { new(Data).Rows([]int{0}) },
		"below": func() { m.Training().Rows([]int{-1}) },
		"short": func() { (&Data{X: rows(2), Y: []float64{1}}).Rows([]int{1}) },
		"flat":  func() { (&Data{X: linalg.Matrix{Rows: 2, Cols: 2, Data: make([]float64, 4)}}).Rows([]int{1}) },
	} {
		func() {
			defer func() {
				if s, ok := recover().(string); !ok || !strings.HasPrefix(s, "bbgp: Data.Rows: ") {
					t.Errorf("Rows of data, %s: %v", what, s)
				}
			}()
			f()
		}()
	}
	if j := new(Journal); j.Replayed() != 0 || j.Close() == nil { // a nil file says that it is none
		t.Error("an empty journal was closed")
	}
}

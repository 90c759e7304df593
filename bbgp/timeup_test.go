package bbgp

import (
	"bytes"
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/gptest"
	"bbgp.dev/internal/train"
)

// A fit whose time ends before an evaluation keeps the parameters of the search, says so,
// and gives bounds that hold; its model predicts as one at these parameters does.
func TestTimeUpBeforeAnEvaluation(t *testing.T) {
	d := randomData(120, 2, 3)
	e, ctx := gptest.Engine(t), context.Background()
	opt, err := Options{Engine: e}.settle(d.X.Rows, d.X.Cols)
	if err != nil {
		t.Fatal(err)
	}
	f := &fit{opt: &opt, full: d, Search: &train.Search{Raw: d.table().Merged(),
		Count: &train.Counters{Seconds: map[string]float64{}}}}
	m := f.newModel()
	p := Params{Kernel: "matern32", Variance: 1.2, Noise: 0.1, Lengthscales: []float64{0.7, 1.5}, Mean: 0.1}
	if _, ok := f.foundSoFar(); ok {
		t.Fatal("found before anything was looked for")
	}
	f.Count.Trace = []Step{{LML: -9, Parameters: DefaultParams("matern32", 2), Accepted: true}, {LML: -7, Parameters: p,
		Accepted: true}, {LML: -3, Parameters: DefaultParams("matern32", 2)}}
	if found, ok := f.foundSoFar(); !ok || found.Noise != p.Noise {
		t.Fatalf("of the search: %v, %v", found, ok)
	}
	f.Starts = []Candidate{{Parameters: DefaultParams("matern32", 2), Dropped: "behind"}, {Parameters: p}}
	found, ok := f.foundSoFar()
	if !ok || found.Noise != p.Noise {
		t.Fatalf("%v, %v", found, ok)
	}
	f.unevaluated(m, found)
	r := &m.Result
	exact, err := LogMarginalLikelihood(ctx, d, p, Options{Engine: e, Method: "exact"})
	if err != nil {
		t.Fatal(err)
	}
	if exact.LML < float64(r.Lower) || exact.LML > float64(r.Upper) || r.Stopped != "time" || len(r.Warnings) == 0 {
		t.Errorf("L = %v outside [%v, %v], stopped %q", exact.LML, r.Lower, r.Upper, r.Stopped)
	}
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := again.Predict(ctx, d.X, PredictOptions{SD: true, Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	same, err := NewModel(ctx, d, p, Options{Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	want, err := same.Predict(ctx, d.X, PredictOptions{SD: true, Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range want.Mean {
		if math.Abs(v-got.Mean[i]) > 0.01*want.SD[i]+1e-9 {
			t.Fatalf("row %d: %v, at the parameters %v", i, got.Mean[i], v)
		}
	}
}

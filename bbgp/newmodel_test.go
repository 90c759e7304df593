package bbgp

import (
	"context"
	"errors"
	"slices"
	"testing"

	"bbgp.dev/internal/gptest"
)

// TestNewModel: the model at the parameters of a fit predicts what the fit does, densely and
// not, and parameters that do not fit the table are refused.
func TestNewModel(t *testing.T) {
	ctx := context.Background()
	m, d := smallModel(t, 60, Options{MaxSteps: 3, PrefitRows: -1, Method: "exact"})
	want, err := m.Predict(ctx, d.X, PredictOptions{SD: true, Engine: gptest.Engine(t)})
	if err != nil {
		t.Fatal(err)
	}
	same, err := NewModel(ctx, d, m.Parameters, Options{Method: "exact", Engine: gptest.Engine(t)})
	if err != nil {
		t.Fatal(err)
	}
	if same.Result.LML != m.Result.LML || same.Result.BoundKind != "exact" {
		t.Errorf("likelihood %v (%s), of the fit %v", same.Result.LML, same.Result.BoundKind, m.Result.LML)
	}
	mean := want.Mean
	// Parameters that are given are not in doubt, those of a fit of 60 rows are.
	if want, err = same.Predict(ctx, d.X, PredictOptions{SD: true, Engine: gptest.Engine(t)}); err != nil ||
		!slices.Equal(want.Mean, mean) {
		t.Fatalf("other predictions: %v", err)
	}
	other, err := NewModel(ctx, d, m.Parameters, Options{Method: "bbgp", NoDense: true, Engine: gptest.Engine(t)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := other.Predict(ctx, d.X, PredictOptions{SD: true, Engine: gptest.Engine(t)})
	if err != nil || got.BoundKind == "exact" {
		t.Fatalf("bounds %v, %v", got.BoundKind, err)
	}
	for i, sd := range want.SD {
		if sd < got.SDLower[i]*(1-1e-9) || sd > got.SDUpper[i]*(1+1e-9) {
			t.Errorf("row %d: sd %v outside [%v, %v]", i, sd, got.SDLower[i], got.SDUpper[i])
		}
	}
	var bad *ParamError
	if _, err := NewModel(ctx, d, DefaultParams("", 2), Options{}); !errors.As(err, &bad) {
		t.Errorf("two lengthscales for three inputs: %v", err)
	}
}

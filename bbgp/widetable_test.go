package bbgp

import (
	"context"
	"testing"
	"time"

	"bbgp.dev/internal/gptest"
)

// A table of few rows and many inputs is fitted without a matrix of inputs by inputs.
func TestWideTable(t *testing.T) {
	d := randomData(30, 1200, 3)
	d.NoiseScale, d.NoiseExtra = nil, nil
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	m, err := Fit(ctx, d, Options{Engine: gptest.Engine(t), MaxSteps: 15})
	if err != nil {
		t.Fatal(err)
	}
	if r := m.Result; !(r.PeakBytes < 1<<30) || r.LML == 0 {
		t.Errorf("L = %v, peak %d", r.LML, r.PeakBytes)
	}
}

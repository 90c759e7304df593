package posterior

import (
	"context"
	"slices"
	"testing"

	"bbgp.dev/internal/comm"
	"bbgp.dev/internal/comm/commtest"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// Blocks of a dense prediction, and groups of cells with a factor each, are divided among ranks and have the bits of
// one.
func TestPredictOnRanks(t *testing.T) {
	ctx := context.Background()
	d, cells := holeTable()
	p := gp.Params{Kernel: "matern12", Variance: 2, Noise: 1e-3, Lengthscales: []float64{1, 1.5}}
	for _, spec := range []PrecondSpec{{Dense: true}, {Neighbours: 32}} {
		commtest.Same(t, func(c comm.Comm) (any, error) {
			e, err := linalg.NewEngine(nil, 1)
			if err != nil {
				return nil, err
			}
			e.Comm = c
			m := New(d, p, spec, nil, Weights{})
			if err := m.Refine(ctx, e, 1e-8); err != nil {
				return nil, err
			}
			got, err := m.Predict(ctx, e, cells, Options{SD: true, SDTol: 0.02})
			if err != nil {
				return nil, err
			}
			return slices.Concat(got.Mean, got.Lo, got.Hi, got.Shift, got.Width), nil
		})
	}
}

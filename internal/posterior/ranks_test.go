package posterior

import (
	"context"
	"fmt"
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
		predict := func(c comm.Comm) ([]float64, error) {
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
		}
		want, err := predict(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, ranks := range []int{2, 5} {
			if testing.Short() && ranks > 2 {
				break
			}
			err := commtest.Run(ranks, func(c comm.Comm) error {
				got, err := predict(c)
				if err == nil && !slices.Equal(got, want) {
					err = fmt.Errorf("%+v: other bits than alone", spec)
				}
				return err
			})
			if err != nil {
				t.Errorf("%d ranks: %v", ranks, err)
			}
		}
	}
}

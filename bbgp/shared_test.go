package bbgp

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// sharedAnswers are what one goroutine makes of a model that it shares.
type sharedAnswers struct {
	mean, sd, loo, draws []float64
	lml                  float64
}

// Eight goroutines that fit, predict, draw and leave out on the same data and models,
// get the bits of one that is alone; with few rows each has an engine of its own, else they
// share the model's, as callers that give none. `make race` runs it under the race detector.
func TestSharedModels(t *testing.T) {
	const goroutines = 8
	for _, tc := range []struct{ n, fits, others int }{{40, 8, 8}, {300, 2, 4}, {1500, 2, 2}} {
		t.Run(fmt.Sprint(tc.n), func(t *testing.T) {
			d, xs := randomData(tc.n, 2, 21), randomData(9, 2, 22).X
			// The parameters are near those of randomData: a long training is not the matter.
			start := Params{Kernel: "matern32", Variance: 1, Noise: 0.05, Lengthscales: []float64{1, 3}}
			opt := Options{Start: &start, PrefitRows: -1, MaxSteps: 2, Seed: 3, LMLStdErr: 1}
			fresh := func() *Model { // nothing of it is prepared yet
				opt := opt
				opt.Engine = gptest.Engine(t)
				m, err := NewModel(t.Context(), d, start, opt)
				if err != nil {
					t.Fatal(err)
				}
				return m
			}
			answers := func(m *Model, k int) (a sharedAnswers, err error) {
				var e *linalg.Engine
				if tc.n == 40 {
					e = gptest.Engine(t)
				}
				if k < tc.fits {
					opt := opt
					opt.Engine = e
					own, err := Fit(t.Context(), d, opt)
					if err != nil {
						return a, err
					}
					a.lml = own.Result.LML
				}
				return a, m.shared(t.Context(), e, xs, k < tc.others, &a)
			}
			alone, err := answers(fresh(), 0)
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			m := fresh()
			for k := range goroutines {
				wg.Go(func() {
					got, err := answers(m, k)
					if err != nil {
						t.Error(err)
						return
					}
					if !got.agrees(alone) {
						t.Errorf("goroutine %d got\n%v, alone\n%v", k, got, alone)
					}
				})
			}
			wg.Wait()
		})
	}
}

// shared fills a with what the model says of xs and, if asked to, what needs more work:
// draws and its own rows.
func (m *Model) shared(ctx context.Context, e *linalg.Engine, xs linalg.Matrix, others bool, a *sharedAnswers) error {
	p, err := m.Predict(ctx, xs, PredictOptions{SD: true, Engine: e})
	if err != nil {
		return err
	}
	a.mean, a.sd = p.Mean, p.SD
	if !others {
		return nil
	}
	s, err := m.Sample(ctx, xs, SampleOptions{Draws: 2, Seed: 5, Engine: e})
	if err != nil {
		return err
	}
	l, err := m.LeaveOneOut(ctx, LeaveOutOptions{Engine: e})
	if err != nil {
		return err
	}
	a.draws, a.loo = s.Values.Data, l.Mean
	return nil
}

// agrees compares what both have.
func (a sharedAnswers) agrees(b sharedAnswers) bool {
	return slices.Equal(a.mean, b.mean) && slices.Equal(a.sd, b.sd) && (a.lml == 0 || b.lml == 0 || a.lml == b.lml) &&
		(a.draws == nil || slices.Equal(a.draws, b.draws) && slices.Equal(a.loo, b.loo))
}

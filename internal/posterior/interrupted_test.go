package posterior

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
)

// countdown is a context that ends after a number of looks at it.
type countdown struct {
	context.Context
	seen, left int
}

func (c *countdown) Err() error {
	c.seen++
	if c.seen > c.left {
		return context.Canceled
	}
	return nil
}

// answers are the calls of a posterior with what they answer, in words that tell every bit.
func answers(test *gp.Table) map[string]func(context.Context, *Posterior) (string, error) {
	word := func(v any, err error) (string, error) { return fmt.Sprintf("%+v", v), err }
	return map[string]func(context.Context, *Posterior) (string, error){
		"Refine": func(ctx context.Context, m *Posterior) (string, error) {
			err := m.Refine(ctx, nil, 1e-8)
			return fmt.Sprint(m.Weights(), m.Params(), m.Data() == nil, m.Spec().Dense), err
		},
		"Predict": func(ctx context.Context, m *Posterior) (string, error) {
			p, err := m.Predict(ctx, nil, test.X, Options{MeanTol: 1e-6})
			if err != nil {
				return "", err
			}
			return word(p.Mean, nil)
		},
		"Predict sd": func(ctx context.Context, m *Posterior) (string, error) {
			p, err := m.Predict(ctx, nil, test.X, Options{SD: true, SDTol: 0.02})
			if err != nil {
				return "", err
			}
			return word([][]float64{p.Mean, p.Lo, p.Hi, p.Width}, nil)
		},
		"Predict few": func(ctx context.Context, m *Posterior) (string, error) {
			p, err := m.Predict(ctx, nil, test.X.Sub(0, 5, 0, test.X.Cols), Options{SD: true, SDTol: 0.001})
			if err != nil {
				return "", err
			}
			return word([][]float64{p.Mean, p.Lo, p.Hi, p.Width}, nil)
		},
		"LeaveOneOut": func(ctx context.Context, m *Posterior) (string, error) {
			l, err := m.LeaveOneOut(ctx, nil)
			if err != nil {
				return "", err
			}
			return word(*l, nil)
		},
		"Draw": func(ctx context.Context, m *Posterior) (string, error) {
			s, err := m.Draw(ctx, nil, test.X, DrawOptions{Draws: 2, Seed: 3})
			if err != nil {
				return "", err
			}
			return word(s.Values, nil)
		},
		"Draw features": func(ctx context.Context, m *Posterior) (string, error) {
			s, err := m.Draw(ctx, nil, test.X, DrawOptions{Draws: 2, Seed: 3, Features: -200})
			if err != nil {
				return "", err
			}
			return word(s.Values, nil)
		},
		"Outlying": func(ctx context.Context, m *Posterior) (string, error) { return word(m.Outlying(ctx, nil)) },
		"Around": func(ctx context.Context, m *Posterior) (string, error) {
			return word(m.Around(ctx, nil, []int{3, 9}))
		},
		"MeansSeen": func(ctx context.Context, m *Posterior) (string, error) {
			if err := m.Refine(ctx, nil, 1e-3); err != nil {
				return "", err
			}
			return word(m.MeansSeen(ctx, nil))
		},
		"Sobol": func(ctx context.Context, m *Posterior) (string, error) {
			return word(m.Sobol(ctx, nil, [][]int{{0}, {1}, {2}}, [][]int{{0}, {1}, {2}, {0, 1}}, 7))
		},
	}
}

// TestInterrupted: a call that a context ends, wherever it looks at it, says so, and leaves a posterior that answers
// the next call as if there had been none.
func TestInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("each call is made five times")
	}
	d, test := gptest.RandomTable(130, 3, 5), gptest.RandomTable(fewRows+8, 3, 6)
	p := gp.Params{Kernel: "matern32", Variance: 1, Noise: 0.05, Lengthscales: []float64{1, 2, 3}}
	for _, spec := range []PrecondSpec{{Dense: true}, {Rank: 40}, {Neighbours: 12}} {
		for name, call := range answers(test) {
			t.Run(fmt.Sprintf("%s %+v", name, spec), func(t *testing.T) {
				all := &countdown{Context: context.Background(), left: 1 << 60}
				want, err := call(all, New(d, p, spec, nil, Weights{MeanError: math.Inf(1)}))
				if err != nil {
					t.Fatal(err)
				}
				for _, left := range []int{all.seen / 2, all.seen - 1} {
					m := New(d, p, spec, nil, Weights{MeanError: math.Inf(1)})
					ctx := &countdown{Context: context.Background(), left: left}
					if _, err := call(ctx, m); left < all.seen && !errors.Is(err, context.Canceled) {
						t.Errorf("ended after %d of %d looks: %v", left, all.seen, err)
					}
					if got, err := call(context.Background(), m); err != nil || got != want {
						t.Errorf("after an end at %d of %d looks: %v, other bits: %v", left, all.seen, err, got != want)
					}
				}
			})
		}
	}
}

package bbgp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/comm"
	"bbgp.dev/internal/comm/commtest"
	"bbgp.dev/linalg"
)

// overRanks compares the log that compute makes on every rank with the one that it makes alone.
func overRanks(t *testing.T, ranks []int, compute func(l *frozenLog, e *linalg.Engine) error) {
	t.Helper()
	on := func(c comm.Comm) (*frozenLog, error) {
		e, err := linalg.NewEngine(nil, 1)
		if err != nil {
			return nil, err
		}
		l := new(frozenLog)
		e.Comm = c
		if c != nil {
			e.Comm = comm.NewAgreed(c)
		}
		return l, compute(l, e)
	}
	alone, err := on(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(alone.String(), "\n")
	for _, n := range ranks {
		err := commtest.Run(n, func(c comm.Comm) error {
			l, err := on(c)
			if err != nil {
				return err
			}
			for i, line := range strings.Split(l.String(), "\n") {
				if i >= len(want) || line != want[i] {
					return fmt.Errorf("line %d is\n%s\nand alone\n%s", i, line, want[min(i, len(want)-1)])
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("%d ranks: %v", n, err)
		}
	}
}

// rankFits are fits of several groups of 192 rows.
var rankFits = []frozenFit{
	{"bbgp", 400, 3, bbgp.Options{Method: "bbgp", MaxSteps: 2, PrefitRows: 60, NoDense: true, LMLStdErr: 0.1}},
	{"rank and f64", 400, 4, bbgp.Options{Method: "bbgp", Rank: 60, Neighbours: 6, Precision: "f64", MaxSteps: 1,
		PrefitRows: -1, NoDense: true, LMLStdErr: 0.1}},
	{"one input", 250, 1, bbgp.Options{Method: "bbgp", MaxSteps: 1, PrefitRows: -1, NoDense: true, LMLStdErr: 0.1}},
	{"h2", 300, 2, bbgp.Options{Method: "bbgp", Product: "h2", MaxSteps: 1, PrefitRows: -1, LMLStdErr: 0.1}},
	{"exact", 200, 3, bbgp.Options{Method: "exact", MaxSteps: 1, PrefitRows: -1}},
	{"sgpr", 450, 2, bbgp.Options{Method: "sgpr", Rank: 20, MaxSteps: 1, PrefitRows: -1}},
	{"cglb", 450, 2, bbgp.Options{Method: "cglb", Rank: 20, MaxSteps: 1, PrefitRows: -1}},
	{"iterative", 300, 2, bbgp.Options{Method: "iterative", MaxSteps: 1, PrefitRows: -1}},
	{"rr", 300, 2, bbgp.Options{Method: "rr", MaxSteps: 1, PrefitRows: -1}},
}

// Parameters, bounds, predictions, deviations, draws and what is left out have the bits of one rank, on every rank.
func TestFitOverRanks(t *testing.T) {
	for i, c := range rankFits {
		if testing.Short() && i > 1 {
			break
		}
		ranks := []int{7}
		if testing.Short() || i == 0 {
			ranks = []int{3}
		}
		t.Run(c.name, func(t *testing.T) {
			overRanks(t, ranks, func(l *frozenLog, e *linalg.Engine) error {
				opt := c.opt
				opt.Engine, opt.Seed = e, 5
				m, err := bbgp.Fit(context.Background(), frozenData(c.n, c.d, 1), opt)
				if err != nil {
					return err
				}
				r := &m.Result
				l.params(c.name, m.Parameters)
				l.add("lml", r.LML, float64(r.Lower), float64(r.Upper), r.StdErr, float64(r.Evaluations),
					float64(r.Passes), float64(r.Rank), float64(r.Neighbours))
				points := 100
				if c.opt.Method == enum.MethodExact { // some blocks, which ranks share out
					points = 300
				}
				return l.answers(m, frozenData(points, c.d, 2).X, e)
			})
		})
	}
}

// answers logs what m says about xs and its own rows.
func (l *frozenLog) answers(m *bbgp.Model, xs linalg.Matrix, e *linalg.Engine) error {
	ctx := context.Background()
	p, err := m.Predict(ctx, xs, bbgp.PredictOptions{SD: true, Engine: e})
	if err != nil {
		return err
	}
	l.add("mean", p.Mean...)
	l.add("sd", p.SD...)
	l.add("sd_obs", p.SDObs...)
	s, err := m.Sample(ctx, linalg.Matrix{Rows: 9, Cols: xs.Cols, Stride: xs.Stride, Data: xs.Data},
		bbgp.SampleOptions{Draws: 2, Seed: 3, Engine: e})
	if err != nil {
		return err
	}
	l.add("draws", s.Values.Data...)
	left, err := m.LeaveOneOut(ctx, bbgp.LeaveOutOptions{Engine: e})
	if err != nil {
		return err
	}
	l.add("loo", append(left.Mean, left.SDObs...)...)
	return nil
}

// Likelihoods and gradients by every method.
func TestLikelihoodOverRanks(t *testing.T) {
	d := frozenData(420, 3, 1)
	p := bbgp.DefaultParams("matern32", 3)
	p.Mean, p.Variance, p.Noise, p.Lengthscales = 0.1, 1.3, 0.02, []float64{1, 1.5, 3}
	for _, method := range []string{"bbgp", "exact", "sgpr", "cglb", "iterative", "rr"} {
		overRanks(t, []int{2, 7}, func(l *frozenLog, e *linalg.Engine) error {
			r, err := bbgp.LogMarginalLikelihood(context.Background(), d,
				p, bbgp.Options{Method: enum.Method(method), Engine: e})
			if err != nil {
				return err
			}
			l.add(method, r.LML, float64(r.Lower), float64(r.Upper), r.StdErr, r.Gradient.Noise, r.Gradient.Variance)
			l.add(method+" lengths", r.Gradient.Lengthscales...)
			return nil
		})
	}
}

package bbgp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/bbgp/score"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/evidencetest"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/internal/posterior"
)

// TestFitGolden fits the 2000-row subsets with the defaults: the exact
// likelihood at the result is within 5 nats of the golden optimum, and the errors on
// test rows within 1 %. Of pol and bike, whose optimum is a ridge, it takes 300 rows,
// and all of them (bike within 50 nats) under BBGP_LONG=1, as make paper does.
func TestFitGolden(t *testing.T) {
	if testing.Short() {
		t.Skip("fits of 2000 rows")
	}
	for _, name := range goldenSets {
		t.Run(name, func(t *testing.T) {
			g, train, std := loadGolden(t, name)
			ctx, e := context.Background(), gptest.Engine(t)
			within := 5.0
			if name == "bike" {
				within = 50
			}
			if name != "elevators" && !long() { // no optimum is known of fewer rows
				within = math.Inf(1)
				train = train.Rows(upTo(300))
				scaling := gp.Standardise(train.X, train.Y, gp.PaperFloor)
				std = scaling.Apply(train.table())
			}
			m, err := Fit(ctx, train, Options{Engine: e, ScaleFloor: gp.PaperFloor})
			if err != nil {
				t.Fatal(err)
			}
			r, l := &m.Result, evidencetest.Exact(t, std, m.Parameters, evidence.Options{}).LML
			t.Logf("exact L %.2f (golden %.2f), reported %.2f in [%.2f, %.2f] ± %.2g, %d evaluations, %d "+
				"passes, %.1f CPU s",
				l, float64(g.Optimum.LML), r.LML, r.Lower, r.Upper, r.StdErr, r.Evaluations, r.Passes, r.CPUSeconds)
			if l < float64(g.Optimum.LML)-within {
				t.Errorf("exact L %.3f is more than %v below %.3f", l, within, float64(g.Optimum.LML))
			}
			if l < float64(r.Lower)-6*r.StdErr-0.1 || l > float64(r.Upper)+6*r.StdErr+0.1 {
				t.Errorf("exact L %.3f outside [%.3f, %.3f] ± 6 x %.3g", l, r.Lower, r.Upper, r.StdErr)
			}
			// 25 to 50 as a rule; 281 where the noise of the probes kept a search going.
			if train.X.Rows == 2000 && r.Evaluations > 120 {
				t.Errorf("%d evaluations: the search does not end", r.Evaluations)
			}
			if name == "bike" {
				return // its optimum is a ridge at the limit of float64
			}
			checkAgainstDense(t, m, train, newPlaces(train, 100))
			if train.X.Rows < 2000 {
				return
			}
			_, test := loadSet(t, name)
			if test == nil {
				t.Log("the test part of the set is absent: errors on it are not compared")
				return
			}
			s, err := denseScore(t, m.Parameters, train, test)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("RMSE %.5f (golden %.5f), NLPD %.4f (golden %.4f)", s.RMSEStd, float64(g.Optimum.RMSE), s.NLPDStd,
				float64(g.Optimum.NLPD))
			if s.RMSEStd > 1.01*float64(g.Optimum.RMSE) {
				t.Errorf("RMSE %.5f, golden %.5f", s.RMSEStd, float64(g.Optimum.RMSE))
			}
			if want := float64(g.Optimum.NLPD); s.NLPDStd > want+0.01*math.Abs(want) {
				t.Errorf("NLPD %.4f, golden %.4f", s.NLPDStd, want)
			}
		})
	}
}

// denseModel returns a model with parameters p that predicts by Cholesky.
func denseModel(p Params, train *Data) *Model {
	return modelOf(train, gp.Standardise(train.X, train.Y, gp.PaperFloor), p, posterior.PrecondSpec{Dense: true})
}

func denseScore(t *testing.T, p Params, train, test *Data) (score.Score, error) {
	m := denseModel(p, train)
	pred, err := m.Predict(context.Background(), test.X, PredictOptions{SD: true, Engine: gptest.Engine(t)})
	if err != nil {
		return score.Score{}, err
	}
	return m.Score(pred, test.Y)
}

// checkAgainstDense checks m's predictions with those of a dense solution.
func checkAgainstDense(t *testing.T, m *Model, train, test *Data) {
	t.Helper()
	ctx, e := context.Background(), gptest.Engine(t)
	dense := denseModel(m.Parameters, train)
	dense.Result.N, dense.Result.DF = m.Result.N, m.Result.DF
	want, err := dense.Predict(ctx, test.X, PredictOptions{SD: true, Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Predict(ctx, test.X, PredictOptions{SD: true, Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	slack := 1e-6 * m.Scaling.YScale
	for i := range want.Mean {
		if want.Mean[i] < got.MeanLower[i]-slack || want.Mean[i] > got.MeanUpper[i]+slack {
			t.Errorf("row %d: mean %v outside [%v, %v]", i, want.Mean[i], got.MeanLower[i], got.MeanUpper[i])
		}
		if want.SD[i] < got.SDLower[i]-slack || want.SD[i] > got.SDUpper[i]+slack {
			t.Errorf("row %d: sd %v outside [%v, %v]", i, want.SD[i], got.SDLower[i], got.SDUpper[i])
		}
	}
}

// TestFitAdam: the paper's optimiser comes within 30 nats on elevators.
func TestFitAdam(t *testing.T) {
	_, train, _ := loadGolden(t, "elevators")
	train = train.Rows(upTo(250))
	scaling := gp.Standardise(train.X, train.Y, gp.PaperFloor)
	std := scaling.Apply(train.table())
	var l [2]float64
	for i, opt := range []Options{{Optimizer: "adam", Method: "bbgp", MaxSteps: 400}, {}} {
		opt.Engine, opt.ScaleFloor = gptest.Engine(t), gp.PaperFloor
		m, err := Fit(context.Background(), train, opt)
		if err != nil {
			t.Fatal(err)
		}
		l[i] = evidencetest.Exact(t, std, m.Parameters, evidence.Options{}).LML
		t.Logf("exact L %.2f after %d evaluations, %d passes, %.1f CPU s", l[i],
			m.Result.Evaluations, m.Result.Passes, m.Result.CPUSeconds)
	}
	if l[0] < l[1]-10 {
		t.Errorf("exact L %.3f by Adam is more than 10 below %.3f", l[0], l[1])
	}
}

// TestFitSmall fits small tables by every optimiser of the exact method, and
// finds the noise and the irrelevant input.
func TestFitSmall(t *testing.T) {
	for _, optimizer := range []string{"lbfgs", "levenberg", "adam"} {
		d := randomData(200, 3, 4)
		d.NoiseScale, d.NoiseExtra = nil, nil
		steps := 0
		m, err := Fit(context.Background(), d, Options{Engine: gptest.Engine(t), Optimizer: enum.Optimizer(optimizer),
			Progress: func(Step) { steps++ }})
		if err != nil {
			t.Fatal(err)
		}
		r := &m.Result
		sd := math.Sqrt(m.Parameters.Noise) * m.Scaling.YScale
		if sd < 0.08 || sd > 0.12 {
			t.Errorf("%s: noise sd %v, the data were made with 0.1", optimizer, sd)
		}
		if l := m.Parameters.Lengthscales; l[1] < 5*l[0] {
			t.Errorf("%s: lengthscales %v; the second input has no effect", optimizer, l)
		}
		if r.Method != "exact" || string(r.Optimizer) != optimizer || steps != len(r.Trace) || r.Evaluations < 1 ||
			len(r.Starts) < 8 || !(r.Upper-r.Lower <= 1e-5) {
			t.Errorf("%s: %s/%s, %d of %d steps, %d evaluations, [%v, %v]", optimizer, r.Method, r.Optimizer, steps,
				len(r.Trace), r.Evaluations, r.Lower, r.Upper)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v", optimizer, err)
		}
	}
}

// TestFitFastSine: with one row more or less, a noise-free sine of five periods
// is found, not explained as noise.
func TestFitFastSine(t *testing.T) {
	for _, n := range []int{308, 309} {
		var rows [][]float64
		var y []float64
		for i := range n {
			x := float64(i) / float64(n-1)
			rows, y = append(rows, []float64{x}), append(y, math.Sin(10*math.Pi*x))
		}
		d, err := NewData(rows, y, nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Fit(context.Background(), d, Options{Engine: gptest.Engine(t)})
		if err != nil {
			t.Fatal(err)
		}
		if perRow := m.Result.LML / float64(n); perRow < 3 || m.Parameters.Noise > 1e-5 {
			t.Errorf("n = %d: L per row %.3f, noise %.3g, %s", n, perRow, m.Parameters.Noise, m.Result.Stopped)
		}
	}
}

func TestFitEnds(t *testing.T) {
	d := randomData(400, 3, 4)
	e := gptest.Engine(t)
	ctx, cancel := context.WithCancel(context.Background())
	count := 0
	m, err := Fit(ctx, d, Options{Engine: e, Method: "bbgp", PrefitRows: -1, Progress: func(Step) {
		if count++; count == 4 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || m == nil || m.Result.Stopped != "cancelled" || m.Result.Evaluations < 3 {
		t.Errorf("cancelled: model %v, error %v", m, err)
	}
	if m != nil {
		if p, err := m.Predict(context.Background(), d.X, PredictOptions{Engine: e}); err != nil ||
			!gp.Finite(p.Mean[0]) {
			t.Errorf("the interrupted model: %v", err)
		}
	}
	m, err = Fit(context.Background(), d, Options{Engine: e, Method: "bbgp", PrefitRows: -1, MaxSteps: 3})
	if err != nil || m.Result.Stopped != "max-steps" || len(m.Result.Warnings) == 0 {
		t.Errorf("three steps: %v, %v", m, err)
	}
	m, err = Fit(context.Background(), d, Options{Engine: e, Method: "bbgp", Eps: 1e-9, Time: 300 * time.Millisecond})
	if err == nil && m.Result.Stopped == "" {
		t.Errorf("time budget: %+v", m.Result)
	}
	ctx, cancel = context.WithCancel(context.Background())
	cancel()
	if m, err := Fit(ctx, d, Options{Engine: e}); m != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled at once: %v, %v", m, err)
	}
}

func TestOptionErrors(t *testing.T) {
	d := randomData(60, 2, 1)
	for _, c := range []struct {
		opt  Options
		name string
	}{
		{Options{Kernel: "rbf"}, "kernel"}, {Options{Method: "magic"}, "method"},
		{Options{Optimizer: "sgd"}, "optimizer"},
		{Options{Eps: -1}, "eps"}, {Options{Probes: 100}, "probes"}, {Options{Precision: "f16"}, "precision"},
		{Options{Method: "rr", Optimizer: "lbfgs"}, "optimizer"},
	} {
		var bad *OptionError
		if _, err := Fit(context.Background(), d, c.opt); !errors.As(err, &bad) || bad.Option != c.name {
			t.Errorf("%+v: error %v", c.opt, err)
		}
	}
	var mem *MemoryError
	if _, err := Fit(context.Background(), d, Options{Method: "exact", Memory: 1000}); !errors.As(err, &mem) {
		t.Errorf("1000 bytes: error %v", err)
	}
	p := DefaultParams("", 3)
	var bad *ParamError
	if _, err := LogMarginalLikelihood(context.Background(), d, p, Options{}); !errors.As(err, &bad) {
		t.Errorf("3 lengthscales for 2 inputs: error %v", err)
	}
}

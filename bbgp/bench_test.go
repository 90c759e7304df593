package bbgp_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/enum"
	"bbgp.dev/linalg"
)

// wave draws n rows of d inputs, y = sin 3x1 + x2²/2 + 0.1 e, the same ones at every call.
func wave(b *testing.B, n, d int) *bbgp.Data {
	r := rand.New(rand.NewPCG(1, 2))
	rows, y := make([][]float64, n), make([]float64, n)
	for i := range rows {
		rows[i] = make([]float64, d)
		for j := range rows[i] {
			rows[i][j] = r.NormFloat64()
		}
		y[i] = math.Sin(3*rows[i][0]) + rows[i][1]*rows[i][1]/2 + 0.1*r.NormFloat64()
	}
	data, err := bbgp.NewData(rows, y, nil)
	if err != nil {
		b.Fatal(err)
	}
	return data
}

// The parameters near which the rows of wave are fitted.
func waveParams(d int) bbgp.Params {
	p := bbgp.DefaultParams("matern32", d)
	p.Noise = 0.01
	return p
}

// BenchmarkFit is a whole fit, the search included.
func BenchmarkFit(b *testing.B) {
	for b.Loop() {
		if _, err := bbgp.Fit(context.Background(), wave(b, 400, 3), bbgp.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEvaluation is one log likelihood with gradient, its preconditioner included.
func BenchmarkEvaluation(b *testing.B) {
	d := wave(b, 2000, 6)
	for _, method := range []string{"bbgp", "cglb", "exact"} {
		b.Run(method, func(b *testing.B) {
			for b.Loop() {
				if _, err := bbgp.LogMarginalLikelihood(context.Background(), d, waveParams(6),
					bbgp.Options{Method: enum.Method(method)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPredict is 1000 places with standard deviations, what a model prepares once left out.
func BenchmarkPredict(b *testing.B) {
	m, err := bbgp.NewModel(context.Background(), wave(b, 4000, 6), waveParams(6), bbgp.Options{})
	if err != nil {
		b.Fatal(err)
	}
	opt := bbgp.PredictOptions{SD: true}
	places := wave(b, 1000, 6).X
	if _, err := m.Predict(context.Background(), places, opt); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := m.Predict(context.Background(), places, opt); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEngines is 300 places with standard deviations by one engine, and by engines of one and two threads in
// turns, which share what the model has prepared.
func BenchmarkEngines(b *testing.B) {
	ctx := context.Background()
	m, err := bbgp.NewModel(ctx, wave(b, 4000, 6), waveParams(6), bbgp.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var engines []*linalg.Engine
	for _, threads := range []int{1, 2} {
		e, err := linalg.NewEngine(nil, threads)
		if err != nil {
			b.Fatal(err)
		}
		engines = append(engines, e)
	}
	places := wave(b, 300, 6).X
	for _, k := range []int{1, 2} {
		b.Run([]string{"", "one", "in-turns"}[k], func(b *testing.B) {
			call := func(i int) {
				opt := bbgp.PredictOptions{SD: true, Engine: engines[i%k]}
				if _, err := m.Predict(ctx, places, opt); err != nil {
					b.Fatal(err)
				}
			}
			for i := range k {
				call(i)
			}
			for i := 0; b.Loop(); i++ {
				call(i)
			}
		})
	}
}

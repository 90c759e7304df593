package bbgp_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"bbgp.dev/bbgp"
	"bbgp.dev/linalg"
)

// table returns y = sin(6 a) + noise of standard deviation 0.05, and an input b
// that has no influence.
func table(n int) *bbgp.Data {
	r := rand.New(rand.NewPCG(1, 2))
	var rows [][]float64
	var y []float64
	for range n {
		a, b := r.Float64(), r.Float64()
		rows = append(rows, []float64{a, b})
		y = append(y, math.Sin(6*a)+0.05*r.NormFloat64())
	}
	d, err := bbgp.NewData(rows, y, []string{"a", "b"})
	if err != nil {
		log.Fatal(err)
	}
	return d
}

func ExampleFit() {
	ctx := context.Background()
	m, err := bbgp.Fit(ctx, table(300), bbgp.Options{})
	if err != nil {
		log.Fatal(err)
	}
	at := linalg.Matrix{Rows: 1, Cols: 2, Stride: 2, Data: []float64{0.25, 0.5}}
	p, err := m.Predict(ctx, at, bbgp.PredictOptions{SD: true})
	if err != nil {
		log.Fatal(err)
	}
	l := m.Parameters.Lengthscales
	fmt.Printf("f(0.25) is %.1f, known to %.1f; b matters less than a: %v\n", p.Mean[0], p.SD[0], l[1] > 5*l[0])
	// Output: f(0.25) is 1.0, known to 0.0; b matters less than a: true
}

func ExampleLogMarginalLikelihood() {
	p := bbgp.DefaultParams("matern32", 2)
	r, err := bbgp.LogMarginalLikelihood(context.Background(), table(1000), p, bbgp.Options{Method: "bbgp"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("bias at most 2 nats:", r.Upper-r.Lower <= 2)
	// Output: bias at most 2 nats: true
}

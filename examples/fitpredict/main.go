// Fitpredict trains a model on rows that a program has in memory, and predicts new
// ones with their standard deviations and bounds of these.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"bbgp.dev/bbgp"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	r := rand.New(rand.NewPCG(1, 2))
	var rows [][]float64
	var y []float64
	for range 400 {
		a, b := r.Float64(), r.Float64()
		rows = append(rows, []float64{a, b})
		y = append(y, math.Sin(6*a)+b+0.1*r.NormFloat64())
	}
	data, err := bbgp.NewData(rows, y, []string{"a", "b"})
	if err != nil {
		return err
	}
	model, err := bbgp.Fit(ctx, data, bbgp.Options{})
	if err != nil {
		return err
	}
	fmt.Printf("noise sd %.2f\n", math.Sqrt(model.Parameters.Noise)*model.Scaling.YScale)

	places, err := bbgp.NewInputs([][]float64{{0.2, 0.5}, {0.8, 0.5}})
	if err != nil {
		return err
	}
	p, err := model.Predict(ctx, places, bbgp.PredictOptions{SD: true})
	if err != nil {
		return err
	}
	for i, mean := range p.Mean {
		fmt.Printf("mean %5.2f, sd %.2f, the sd within [%.3f, %.3f]\n", mean, p.SD[i], p.SDLower[i], p.SDUpper[i])
	}
	return nil
}

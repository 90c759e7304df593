// Optimiser climbs the log marginal likelihood by an optimiser of its own, here steps along
// the gradient in the logarithms of the parameters, and predicts by the model at its end.
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
	data, err := wave(300)
	if err != nil {
		return err
	}
	opt := bbgp.Options{}
	ev, err := bbgp.NewEvaluator(data, opt)
	if err != nil {
		return err
	}
	p := bbgp.DefaultParams("matern52", 2)
	at, err := ev.At(ctx, p)
	if err != nil {
		return err
	}
	first := at.LML
	for step := 0.1; step > 1e-3; {
		q := along(p, at.Gradient, step)
		next, err := ev.At(ctx, q)
		if err != nil {
			return err
		}
		if next.LML <= at.LML {
			step /= 2
			continue
		}
		p, at, step = q, next, 1.2*step
	}
	model, err := bbgp.NewModel(ctx, data, p, opt)
	if err != nil {
		return err
	}
	places, err := bbgp.NewInputs([][]float64{{0.2, 0.5}, {0.8, 0.5}})
	if err != nil {
		return err
	}
	said, err := model.Predict(ctx, places, bbgp.PredictOptions{SD: true})
	if err != nil {
		return err
	}
	fmt.Printf("log likelihood %.0f, at first %.0f\n", at.LML, first)
	for i, mean := range said.Mean {
		fmt.Printf("mean %5.2f, sd %.2f\n", mean, said.SD[i])
	}
	return nil
}

// along returns p after a step of the given length in the logarithms of its parameters,
// where the derivative by log v is v times that by v.
func along(p bbgp.Params, g *bbgp.Gradient, length float64) bbgp.Params {
	q := p.Clone()
	slopes, at := []float64{p.Variance * g.Variance, p.Noise * g.Noise}, []*float64{&q.Variance, &q.Noise}
	for j, l := range p.Lengthscales {
		slopes, at = append(slopes, l*g.Lengthscales[j]), append(at, &q.Lengthscales[j])
	}
	norm := 0.0
	for _, s := range slopes {
		norm = math.Hypot(norm, s)
	}
	for k, s := range slopes {
		*at[k] *= math.Exp(length * s / norm)
	}
	return q
}

// wave draws n rows of y = sin 6a + b + noise.
func wave(n int) (*bbgp.Data, error) {
	r := rand.New(rand.NewPCG(1, 2))
	rows, y := make([][]float64, n), make([]float64, n)
	for i := range rows {
		a, b := r.Float64(), r.Float64()
		rows[i], y[i] = []float64{a, b}, math.Sin(6*a)+b+0.1*r.NormFloat64()
	}
	return bbgp.NewData(rows, y, []string{"a", "b"})
}

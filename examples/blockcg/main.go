// Blockcg solves (K + noise) X = B for several right-hand sides at once, with a
// Matérn matrix of 5000 points that is never stored.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
)

const n, columns = 5000, 4

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	engine, err := linalg.NewEngine(nil, 0) // the best routines of this CPU, all threads
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	points, noise := linalg.NewMatrix(n, 3), make([]float64, n)
	for i := range points.Data {
		points.Data[i] = r.Float64()
	}
	for i := range noise {
		noise[i] = 0.5
	}
	kernel := kernelmv.Kernel{Family: kernelmv.Matern32, Variance: 1, Lengthscales: []float64{0.3, 0.3, 0.3}}
	op, err := kernelmv.NewOp(engine, points, kernel, noise)
	if err != nil {
		return err
	}
	b, x := linalg.NewMatrix(n, columns), linalg.NewMatrix(n, columns)
	for i := range b.Data {
		b.Data[i] = r.NormFloat64()
	}
	res, err := krylov.NewCG(engine, n, columns).Solve(ctx, op, linalg.Identity(n), x, b, krylov.CGOptions{Tol: 1e-6})
	if err != nil {
		return err
	}
	back, worst := linalg.NewMatrix(n, columns), 0.0
	if err := op.MulTo(ctx, back, x); err != nil {
		return err
	}
	for i, v := range back.Data {
		worst = max(worst, abs(v-b.Data[i]))
	}
	fmt.Printf("converged %v, worst residual below 1e-4: %v\n", res.Passes > 0, worst < 1e-4)
	return nil
}

func abs(v float64) float64 {
	if v < 0 {
		return -v
	}
	return v
}

package linalg_test

import (
	"context"
	"fmt"
	"log"

	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

func ExampleCholesky() {
	e, err := linalg.NewEngine(nil, 1)
	if err != nil {
		log.Fatal(err)
	}
	a := linalg.Matrix{Rows: 2, Cols: 2, Stride: 2, Data: []float64{4, 2, 2, 10}}
	x := linalg.Matrix{Rows: 2, Cols: 1, Stride: 1, Data: []float64{8, 22}}
	c, err := e.NewCholesky(a)
	if err != nil {
		log.Fatal(err)
	}
	c.SolveTo(x, x)
	fmt.Printf("%.1f, log det %.4f\n", x.Data, c.LogDet())
	// Output: [1.0 2.0], log det 3.5835
}

// An operator with a preconditioner of low rank: a few passes solve a system.
func ExampleNewPrecond() {
	e, err := linalg.NewEngine(nil, 1)
	if err != nil {
		log.Fatal(err)
	}
	const n = 500
	x, noise := linalg.NewMatrix(n, 2), make([]float64, n)
	for i := range n {
		x.Set(i, 0, float64(i%25)/5)
		x.Set(i, 1, float64(i/25)/5)
		noise[i] = 0.1
	}
	k := kernelmv.Kernel{Family: kernelmv.Matern52, Variance: 1, Lengthscales: []float64{2, 2}}
	op, err := kernelmv.NewOp(e, x, k, noise)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	p, err := linalg.NewPrecond(ctx, e, op, noise, linalg.PrecondOptions{Rank: 64})
	if err != nil {
		log.Fatal(err)
	}
	b, v := linalg.NewMatrix(n, 1), linalg.NewMatrix(n, 1)
	b.Set(7, 0, 1)
	res, err := linalg.NewCG(e, n, 1).Solve(ctx, op, p, v, b, linalg.CGOptions{Tol: 1e-4})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("few passes:", res.Passes <= 8, "converged:", res.Converged)
	// Output: few passes: true converged: true
}

// Each of two variables is regressed on others of a covariance matrix.
func ExampleEngine_Regress() {
	e, err := linalg.NewEngine(nil, 1)
	if err != nil {
		log.Fatal(err)
	}
	x := linalg.Matrix{Rows: 4, Cols: 1, Stride: 1, Data: []float64{0, 1, 2, 3}}
	op, err := kernelmv.NewOp(e, x, kernelmv.Kernel{Family: kernelmv.Matern12, Variance: 1, Lengthscales: []float64{1}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	coef, variance := linalg.NewMatrix(2, 2), make([]float64, 2)
	rows := []int32{1, 0, 2, 3, 2, 0} // 1 on 0 and 2, 3 on 2 and 0
	if err := e.Regress(context.Background(), op, linalg.Matrix{Rows: 4}, make([]float64, 4), rows, coef, variance); err != nil {
		log.Fatal(err)
	}
	// The process is Markov: 3 depends on 2 alone.
	fmt.Printf("%.3f %.3f, variances %.3f\n", coef.Row(0), coef.Row(1), variance)
	// Output: [0.324 0.324] [0.368 -0.000], variances [0.762 0.865]
}

package kernelmv_test

import (
	"context"
	"fmt"
	"log"

	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// grid returns n points of one input and one of another that does not matter here.
func grid(n int) linalg.Matrix {
	x := linalg.NewMatrix(n, 2)
	for i := range n {
		x.Set(i, 0, float64(i)/10)
		x.Set(i, 1, float64(i%3))
	}
	return x
}

// A product with a covariance matrix of 2000 points, which is never stored.
func ExampleOp() {
	e, err := linalg.NewEngine(nil, 0)
	if err != nil {
		log.Fatal(err)
	}
	k := kernelmv.Kernel{Family: kernelmv.Matern32, Variance: 2, Lengthscales: []float64{1, 5}}
	op, err := kernelmv.NewOp(e, grid(2000), k, nil)
	if err != nil {
		log.Fatal(err)
	}
	v, y := linalg.NewMatrix(2000, 1), linalg.NewMatrix(2000, 1)
	v.Set(1000, 0, 1) // a column of K
	if err := op.MulTo(context.Background(), y, v); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f %.4f\n", y.At(1000, 0), y.At(1003, 0))
	// Output: 2.0000 1.8076
}

// Covariances between new points and the points of the operator, and a product
// with them: the mean of a Gaussian process is one.
func ExampleOp_CrossMulTo() {
	e, err := linalg.NewEngine(nil, 0)
	if err != nil {
		log.Fatal(err)
	}
	k := kernelmv.Kernel{Family: kernelmv.Gaussian, Variance: 1, Lengthscales: []float64{1, 5}}
	op, err := kernelmv.NewOp(e, grid(300), k, nil)
	if err != nil {
		log.Fatal(err)
	}
	at := linalg.Matrix{Rows: 1, Cols: 2, Stride: 2, Data: []float64{29.9, 2}}
	weights, mean := linalg.NewMatrix(300, 1), linalg.NewMatrix(1, 1)
	weights.Set(299, 0, 3)
	if err := op.CrossMulTo(context.Background(), mean, at, weights); err != nil {
		log.Fatal(err)
	}
	near, err := op.Nearest(context.Background(), at, 2)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f, nearest rows %v\n", mean.At(0, 0), near)
	// Output: 3.000, nearest rows [299 298]
}

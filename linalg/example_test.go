package linalg_test

import (
	"fmt"
	"log"

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

package krylov_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
)

// A diagonal is an operator with known eigenvalues, and its square root a factor.
type diagonal []float64

func (d diagonal) Dim() int { return len(d) }

func (d diagonal) MulTo(_ context.Context, dst, src linalg.Matrix) error {
	for i, v := range d {
		for j, x := range src.Row(i) {
			dst.Set(i, j, v*x)
		}
	}
	return nil
}

func ExampleLanczos() {
	e, err := linalg.NewEngine(nil, 1)
	if err != nil {
		log.Fatal(err)
	}
	a, ones, exact := make(diagonal, 100), linalg.NewMatrix(100, 1), 0.0
	for i := range a {
		a[i], ones.Data[i] = 1+float64(i)/10, 1
		exact += math.Log(a[i])
	}
	l := krylov.NewLanczos(e, 100, 1, krylov.LanczosOptions{})
	l.Start(a, linalg.Identity(100), ones)
	var q krylov.Quad
	upper, lower := make([]float64, 1), make([]float64, 1)
	for range 6 {
		if err := l.Step(context.Background()); err != nil {
			log.Fatal(err)
		}
	}
	if err := q.GaussTo(upper, l.H); err != nil {
		log.Fatal(err)
	}
	if err := q.RadauTo(lower, l.H, 1); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f <= %.4f <= %.4f\n", lower[0], exact, upper[0])
	// Output: 162.5588 <= 162.5620 <= 162.5681
}

func ExampleCG() {
	e, err := linalg.NewEngine(nil, 1)
	if err != nil {
		log.Fatal(err)
	}
	a := diagonal{1, 2, 4}
	b, x := linalg.NewMatrix(3, 1), linalg.NewMatrix(3, 1)
	copy(b.Data, []float64{1, 1, 1})
	res, err := krylov.NewCG(e, 3, 1).Solve(context.Background(), a, linalg.Identity(3), x, b,
		krylov.CGOptions{Tol: 1e-8})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f in %d passes\n", x.Data, res.Passes)
	// Output: [1.000 0.500 0.250] in 3 passes
}

package bbgp_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"time"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/score"
	"bbgp.dev/linalg"
	"gonum.org/v1/gonum/mat"
)

// Inputs in a gonum matrix, a fit that reports its steps and may be cancelled.
func ExampleFit_progress() {
	x, y := mat.NewDense(120, 1, nil), make([]float64, 120)
	for i := range y {
		x.Set(i, 0, float64(i)/20)
		y[i] = math.Cos(x.At(i, 0))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	steps := 0
	m, err := bbgp.Fit(ctx, &bbgp.Data{X: linalg.MatrixOf(x), Y: y},
		bbgp.Options{MaxSteps: 30, Progress: func(s bbgp.Step) { steps++ }})
	if errors.Is(err, context.DeadlineExceeded) && m != nil {
		fmt.Println("the best model so far")
	} else if err != nil {
		log.Fatal(err)
	}
	p, err := m.Predict(ctx, linalg.MatrixOf(mat.NewDense(1, 1, []float64{3})), bbgp.PredictOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("cos 3 is %.2f; steps were reported: %v\n", p.Mean[0], steps > 0)
	// Output: cos 3 is -0.99; steps were reported: true
}

func ExampleModel_Predict() {
	ctx := context.Background()
	m, err := bbgp.Fit(ctx, table(200), bbgp.Options{})
	if err != nil {
		log.Fatal(err)
	}
	xs := linalg.Matrix{Rows: 2, Cols: 2, Stride: 2, Data: []float64{0.25, 0.5, 3, 0.5}}
	p, err := m.Predict(ctx, xs, bbgp.PredictOptions{SD: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("known among the data, unknown far away:", p.SD[0] < 0.05, p.SD[1] > 0.5)
	fmt.Println("bounds:", p.BoundKind, p.SDLower[0] <= p.SD[0] && p.SD[0] <= p.SDUpper[0])
	// Output:
	// known among the data, unknown far away: true true
	// bounds: exact true
}

// Draws of the function answer what means and deviations cannot: where is the
// maximum?
func ExampleModel_Sample() {
	ctx := context.Background()
	m, err := bbgp.Fit(ctx, table(200), bbgp.Options{})
	if err != nil {
		log.Fatal(err)
	}
	xs := linalg.NewMatrix(101, 2)
	for i := range 101 {
		xs.Set(i, 0, float64(i)/100)
		xs.Set(i, 1, 0.5)
	}
	s, err := m.Sample(ctx, xs, bbgp.SampleOptions{Draws: 200, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	mean := 0.0
	for c := range 200 {
		best := 0
		for i := range 101 {
			if s.Values.At(i, c) > s.Values.At(best, c) {
				best = i
			}
		}
		mean += xs.At(best, 0) / 200
	}
	fmt.Printf("the maximum of sin 6a is near %.1f (π/12 = %.2f)\n", mean, math.Pi/12)
	// Output: the maximum of sin 6a is near 0.3 (π/12 = 0.26)
}

func ExampleModel_LeaveOneOut() {
	ctx, d := context.Background(), table(150)
	d.Y[42] += 2 // a wrong value
	m, err := bbgp.Fit(ctx, d, bbgp.Options{})
	if err != nil {
		log.Fatal(err)
	}
	l, err := m.LeaveOneOut(ctx, bbgp.LeaveOutOptions{})
	if err != nil {
		log.Fatal(err)
	}
	v, err := score.Validate(l.Y, l.Laws, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("most suspicious row:", v.Outliers[0].Row)
	// Output: most suspicious row: 42
}

func ExampleModel_Save() {
	ctx := context.Background()
	m, err := bbgp.Fit(ctx, table(100), bbgp.Options{MaxSteps: 10})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "bbgp")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.bbgp")
	if err := m.Save(path); err != nil {
		log.Fatal(err)
	}
	back, err := bbgp.Load(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(back.N(), "rows,", back.Names, "->", back.Target)
	// Output: 100 rows, [a b] -> y
}

package posterior

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// formTable returns n places of d inputs in [0, 1], half of them in clusters, with a waving target.
func formTable(n, d int, noise float64, seed uint64) *gp.Table {
	rng := rand.New(rand.NewPCG(seed, 6))
	t := &gp.Table{X: linalg.NewMatrix(n, d), Y: make([]float64, n)}
	for i := range n {
		for k := range d {
			v := rng.Float64()
			if i%2 == 0 {
				v = 0.1*float64((i*7+k*3)%10) + 0.02*rng.NormFloat64()
			}
			t.X.Set(i, k, v)
			t.Y[i] += math.Sin(9*v*float64(k+1)) / float64(d)
		}
		t.Y[i] += math.Sqrt(noise) * rng.NormFloat64()
	}
	return t
}

// places returns rows between those of x, and some outside.
func places(x linalg.Matrix, rows int) linalg.Matrix {
	xs := linalg.NewMatrix(rows, x.Cols)
	for i := range rows {
		for k := range x.Cols {
			xs.Set(i, k, (x.At(i, k)+x.At(i+1, k))/2*[]float64{1, 1, 1, 1.5}[i%4])
		}
	}
	return xs
}

// A formModel is a process whose products are below n², with what a dense factor says of the same.
type formModel struct {
	name     string
	m, exact *Posterior
	xs       linalg.Matrix
}

// formModelOf returns the i-th of 24: four kernels, one to three inputs, noise of 1e-1 to 1e-6 of the variance,
// lengthscales of .02 to 1000, tolerances of that of predictions to 1e-5.
func formModelOf(t *testing.T, i int) (c formModel) {
	kernel := []string{"matern12", "matern32", "matern52", "gaussian"}[i%4]
	noise := []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6}[i/2%6]
	length := []float64{0.02, 0.1, 0.3, 1, 1000}[i%5]
	d := 1 + i%3
	if d == 1 {
		kernel = "gaussian" // Matérn functions of one input need no approximation
	}
	tol := min([]float64{predictTol64, 1e-8, 1e-5}[i/3%3], 1e-4*noise) // so that K̂ stays positive definite
	p := gp.Params{Kernel: kernel, Variance: 1, Noise: noise}
	for range d {
		p.Lengthscales = append(p.Lengthscales, length)
	}
	table, unknown := formTable(700, d, noise, uint64(i)), Weights{MeanError: math.Inf(1)}
	c.name = fmt.Sprintf("%d: %s, %d inputs, noise %g, l %g, tau %.2g", i, kernel, d, noise, length, tol)
	c.exact = New(table, p, PrecondSpec{Dense: true}, nil, unknown)
	c.m, c.xs = New(table, p, PrecondSpec{Rank: 30, Neighbours: 16}, nil, unknown), places(table.X, 60)
	if err := c.m.prepare(context.Background(), gptest.Engine(t), true); err != nil {
		t.Fatal(c.name, err)
	}
	c.m.op.SetForm(kernelmv.FormH2, tol, tol)
	return c
}

// TestFormError: means whose weights were found by products below n² are within what is said of them of
// those of a dense factor, solved for as usual and as far as they go, when the form is what is left.
func TestFormError(t *testing.T) {
	ctx, e, needed := context.Background(), gptest.Engine(t), 0
	for i := range 24 {
		c := formModelOf(t, i)
		want, err := c.exact.Predict(ctx, e, c.xs, Options{MeanTol: denseTol})
		if err != nil {
			t.Fatal(c.name, err)
		}
		for _, tol := range []float64{0, denseTol} {
			got, err := c.m.Predict(ctx, e, c.xs, Options{MeanTol: tol})
			if err != nil {
				t.Fatal(c.name, err)
			}
			form, err := c.m.formError(ctx, linalg.Column(c.m.weights))
			if err != nil {
				t.Fatal(c.name, err)
			}
			worst := 0.0
			for r, v := range got.Mean {
				worst = max(worst, math.Abs(v-want.Mean[r]))
			}
			if limit := got.MeanError + want.MeanError; !(worst <= limit) {
				t.Errorf("%s: means are off by %.3g, at most %.3g was said", c.name, worst, limit)
			}
			if worst > got.MeanError-form+want.MeanError {
				needed++
			}
			t.Logf("%s: off by %.2g, said %.2g, of which the form %.2g, dense %.2g", c.name, worst, got.MeanError, form,
				want.MeanError)
		}
	}
	if needed == 0 {
		t.Error("nothing tells whether what the form adds is in the bound")
	}
}

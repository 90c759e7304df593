package train

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// TestFisher compares the information matrix with the mean outer product of
// gradients over draws of y from the model, whose expectation it is.
func TestFisher(t *testing.T) {
	d := gptest.RandomTable(40, 2, 5)
	p := gp.Params{Kernel: "matern52", Variance: 1.4, Noise: 0.05, Lengthscales: []float64{0.8, 2}}
	e := gptest.Engine(t)
	f, err := newFisher(context.Background(), e, d, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	info := f.information(f.meanSub).(denseInformation).f
	o, err := evidence.NewExact(e, d, p)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := o.Factor(ctx, p); err != nil {
		t.Fatal(err)
	}
	l := o.A.Clone()
	r := rand.New(rand.NewPCG(1, 2))
	const draws = 5000
	got := linalg.NewMatrix(4, 4)
	meanSq := 0.0
	for range draws {
		z := make([]float64, 40)
		for i := range z {
			z[i] = r.NormFloat64()
		}
		for i := range d.Y {
			d.Y[i] = 0
			for j := range i + 1 {
				d.Y[i] += l.At(i, j) * z[j]
			}
		}
		ev, err := o.Evaluate(ctx, p, evidence.Options{Gradient: true})
		if err != nil {
			t.Fatal(err)
		}
		g := gptest.Flatten(ev.Gradient.Lengthscales, ev.Gradient.Variance, ev.Gradient.Noise, ev.Gradient.Mean)
		for i, s := range []float64{0.8, 2, 1.4, 0.05} {
			g[i] *= s
		}
		for i := range 4 {
			for j := range 4 {
				got.Data[i*4+j] += g[i] * g[j] / draws
			}
		}
		meanSq += g[4] * g[4] / draws
	}
	for i := range 4 {
		for j := range 4 {
			// standard error of a mean of products of near-normal variables
			se := math.Sqrt((info.At(i, i)*info.At(j, j) + info.At(i, j)*info.At(i, j)) / draws)
			if math.Abs(got.At(i, j)-info.At(i, j)) > 6*se {
				t.Errorf("F[%d][%d] = %v, draws give %v ± %v", i, j, info.At(i, j), got.At(i, j), se)
			}
		}
	}
	if math.Abs(meanSq-f.meanAll) > 6*f.meanAll*math.Sqrt(2.0/draws) {
		t.Errorf("F_cc = %v, draws give %v", f.meanAll, meanSq)
	}
}

// The information of the noise is that of all rows: the metric of training does
// not overshoot.
func TestMergedInformation(t *testing.T) {
	e := gptest.Engine(t)
	p := gp.Params{Kernel: "matern32", Variance: 0.8, Noise: 0.3, Lengthscales: []float64{1.1, 0.7}}
	d := gptest.RepeatedTable(120, "weights", 4)
	all, err := newFisher(context.Background(), e, d, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	few, err := newFisher(context.Background(), e, d.Merged(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	a, b := all.information(1), few.information(1)
	for i := range all.f.Rows {
		gptest.CloseTo(t, "information", b.at(i), a.at(i), 1e-8)
	}
}

// Information seen through random vectors is the true one to a part of it along every direction, also
// along those that the data hardly tell.
func TestSketchedInformation(t *testing.T) {
	e, ctx := gptest.Engine(t), context.Background()
	r := rand.New(rand.NewPCG(6, 7))
	for _, noise := range []float64{1e-6, 0.1} {
		d := filled(3*cost.SketchVectors, 5, func(_ int, x []float64) float64 {
			for j := range x {
				x[j] = r.NormFloat64()
			}
			return 0
		})
		p := gp.Params{Kernel: "matern32", Variance: 20, Noise: noise, Lengthscales: []float64{8, 12, 20, 3, 100}}
		_, a, err := whitenedRows(ctx, e, d, p, 0.5, false)
		if err != nil {
			t.Fatal(err)
		}
		_, b, err := whitenedRows(ctx, e, d, p, 0.5, true)
		if err != nil {
			t.Fatal(err)
		}
		if a.Cols == b.Cols {
			t.Fatal("the information was not seen through random vectors")
		}
		got := misfit(t, e, gram(e, a), gram(e, b))
		t.Logf("noise %g: factors up to %.3g", noise, got)
		if got > 1.4 {
			t.Errorf("noise %g: a direction is wrong by a factor %v", noise, got)
		}
	}
}

package train

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
)

// The information in factors is the dense one, and so are the steps made with it.
func TestWideInformation(t *testing.T) {
	d := gptest.RandomTable(18, 4, 7)
	p := gp.Params{Kernel: "matern52", Variance: 1.4, Noise: 0.05, Lengthscales: []float64{0.8, 2, math.Inf(1), 1.1}}
	e, ctx := gptest.Engine(t), context.Background()
	o, err := evidence.NewExact(e, d, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Factor(ctx, p); err != nil {
		t.Fatal(err)
	}
	fs := &fisher{within: 0.3}
	if fs.a, err = whitened(ctx, o.Cholesky, p, triangles{o.Cholesky, 1}); err != nil {
		t.Fatal(err)
	}
	a := fs.information(2.5).(wideInformation)
	b := (&fisher{f: gram(e, fs.a), within: 0.3}).information(2.5).(denseInformation)
	for i := range 7 {
		for j := range i + 1 {
			got := e.Dot(a.a.Row(i), a.a.Row(j))
			if i == j {
				got = a.at(i)
			}
			if want := b.f.At(i, j); math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
				t.Errorf("F_%d%d = %v, dense %v", i, j, got, want)
			}
		}
	}
	r := rand.New(rand.NewPCG(2, 3))
	g, lo, hi, free := make([]float64, 7), make([]float64, 7), make([]float64, 7), make([]bool, 7)
	for trial := range 20 {
		for i := range g {
			g[i], lo[i], hi[i], free[i] = 20*r.NormFloat64(), -r.Float64(), r.Float64(), i != 2
		}
		units := []float64{1, 1, 0, 0.5, 1, 2, 1}
		m := quadraticModel{e: e, damping: 0.1 + float64(trial), base: a.scaled(units)}
		x, gainX := m.step(g, lo, hi, free)
		m.base = b.scaled(units)
		y, gainY := m.step(g, lo, hi, free)
		// λ acts on own, too, in the dense matrix: by F_cc's and the noise's small part.
		if math.Abs(gainX-gainY) > 0.35*gainY {
			t.Errorf("gains %v and %v of %v and %v", gainX, gainY, x, y)
		}
	}
	// The solution is that of the matrix.
	s := a.system(&quadraticModel{damping: 0.01}, free)
	x, zero := s.solve(e, g, free), make([]float64, 7)
	s.residualTo(zero, g, x)
	for i, v := range zero {
		if free[i] && math.Abs(v) > 1e-9 {
			t.Errorf("residual %d is %v", i, v)
		}
	}
	if v, w := s.quadratic(g, x), 0.5*e.Dot(g[:2], x[:2])+0.5*e.Dot(g[3:], x[3:]); math.Abs(v-w) > 1e-9*math.Abs(w) {
		t.Errorf("the model gains %v at its top, %v", v, w)
	}
}

// Where no information can be had, each row is worth a unit of curvature, in the form that the table asks for.
func TestUnitInformation(t *testing.T) {
	const rows = 50
	dense, ok := unitInformation(rows, 3).(denseInformation)
	wide, also := unitInformation(rows, 2000).(wideInformation)
	if !ok || !also {
		t.Fatalf("dense %v, wide %v", ok, also)
	}
	for i := range 6 {
		for j := range 6 {
			want := 0.0
			if i == j {
				want = rows
			}
			if got := dense.f.At(i, j); got != want {
				t.Errorf("F_%d%d = %v, want %v", i, j, got, want)
			}
		}
	}
	for i := range 2003 {
		if got := wide.at(i); got != rows {
			t.Fatalf("F_%d%d = %v of a wide table", i, i, got)
		}
	}
}

package main

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"bbgp.dev/bbgp"
	"bbgp.dev/linalg"
)

// TestLooseDeviations: predict tells of deviations that rounding leaves open, and of no others.
func TestLooseDeviations(t *testing.T) {
	dir, n := t.TempDir(), 60
	rng := rand.New(rand.NewPCG(3, 4))
	d := &bbgp.Data{X: linalg.NewMatrix(n, 1), Y: make([]float64, n), Names: []string{"x"}, Target: "y"}
	for i := range n {
		d.X.Set(i, 0, rng.NormFloat64())
		d.Y[i] = 3*d.X.At(i, 0) + 0.1*rng.NormFloat64()
	}
	data := write(t, dir, "new.csv", "x\n0\n.5\n")
	for _, c := range []struct {
		variance, length float64
		told             bool
	}{{1e10, 1e4, true}, {1e3, 30, false}} {
		p := bbgp.Params{Kernel: "matern32", Variance: c.variance, Noise: 1e-3, Lengthscales: []float64{c.length}}
		m, err := bbgp.NewModel(t.Context(), d, p, bbgp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "m")
		if err := m.Save(file); err != nil {
			t.Fatal(err)
		}
		r := want(t, exitOK, "predict", file, data, "--sd")
		if got := strings.Contains(r.err, "the sd of 2 rows is known to a quarter of itself or less"); got != c.told {
			t.Errorf("variance %g, length %g: told %v: %s%s", c.variance, c.length, got, r.err, r.out)
		}
	}
}

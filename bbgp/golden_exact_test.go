package bbgp

import (
	"math"
	"testing"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/evidencetest"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
)

// TestExactGolden checks L and its gradient against values from long double
// arithmetic, to 1e-9 and 1e-7 relative.
func TestExactGolden(t *testing.T) {
	for _, name := range goldenSets {
		t.Run(name, func(t *testing.T) {
			g, _, std := loadGolden(t, name)
			half := first1000(std)
			checkGolden(t, "n1000.initial", half, g.N1000.Initial, 1e-9, 1e-7)
			checkGolden(t, "n1000.low_noise", half, g.N1000.LowNoise, 1e-9, 1e-7)
			checkGolden(t, "initial", std, g.Initial, 1e-9, 1e-7)
			if testing.Short() {
				return
			}
			// bike's optimum is at the noise floor, where a float64 Cholesky is
			// off by 4e-4 in L and by 55 in a gradient of 1.6e8.
			tol := 1e-9
			if name == "bike" {
				tol = 1e-2 / float64(g.Optimum.LML)
			}
			checkGolden(t, "optimum", std, g.Optimum, tol, math.Inf(1))
		})
	}
}

func checkGolden(t *testing.T, what string, d *gp.Table, g goldenPoint, tolValue, tolGrad float64) {
	t.Helper()
	p := g.params()
	ev := evidencetest.Exact(t, d, p, evidence.Options{Gradient: !math.IsInf(tolGrad, 1)})
	if e := gptest.Relative(ev.LML, float64(g.LML)); e > tolValue {
		t.Errorf("%s: L = %.12g, want %.12g: relative error %.2g", what, ev.LML, float64(g.LML), e)
	}
	if ev.Gradient == nil {
		return
	}
	want := g.gradient()
	for i, v := range flat(ev.Gradient) {
		if e := gptest.Relative(v, want[i]); e > tolGrad {
			t.Errorf("%s: gradient %d = %.12g, want %.12g: relative error %.2g", what, i, v, want[i], e)
		}
	}
}

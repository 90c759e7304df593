package kernelmv

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/linalg/linalgtest"
)

// The gradient by inputs that are out is that of the dense form.
func TestH2GradientOut(t *testing.T) {
	ctx, inf := context.Background(), math.Inf(1)
	n := rowsOf(8000)
	rng := rand.New(rand.NewPCG(8, 3))
	x := h2Points("clusters", n, 5, 3)
	setColumn(x, 4, func(int) float64 { return 7 })
	u, g := linalgtest.RandMatrix(rng, n, 3), []float64{1, -.5, .2}
	for _, f := range families {
		e := linalgtest.NewEngine(t, nil, 2)
		o := newOp(t, e, x, Kernel{f, 1.7, []float64{inf, .2, inf, .1, inf}}, make([]float64, n))
		var got [2][]float64
		for k, form := range []Form{FormDense, FormH2} {
			o.SetForm(form, 1e-9, 1e-9)
			got[k] = make([]float64, 5)
			if err := o.GradInvSqTo(ctx, got[k], u, g); err != nil {
				t.Fatal(err)
			}
		}
		for d, want := range got[0] {
			if math.Abs(got[1][d]-want) > 1e-5*math.Abs(want) {
				t.Errorf("%v, input %d: %v, dense %v", f, d, got[1][d], want)
			}
		}
	}
}

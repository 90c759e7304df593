package lanczos

import (
	"math"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// What a product of the process leaves of K̂δ is within the doubt that it adds: the change of L by δ'Eδ/2 and that of
// r'P⁻¹r/2. A long step is left to exact products.
func TestRoughly(t *testing.T) {
	d, p := gptest.SmoothTable(1500, 2, 0.1), gptest.TestParams("matern32", 2, .01)
	r, c := whole(t, d, p, evidence.Options{Request: cost.Request{Probes: 3, Neighbours: 16}, Eps: 1, Product: "h2",
		Precision: "f64", Tolerance: 1e-4}, kernelmv.F64)
	r.h2, r.own, r.op = true, kernelmv.Coarse, r.o.op.With(kernelmv.Coarse)
	n := r.o.n
	exact, rough, white := linalg.NewMatrix(n, 1), linalg.NewMatrix(n, 1), linalg.NewMatrix(n, 1)
	accepted, refused := 0, 0
	for _, size := range []float64{1e-3, 1e-2, 0.1, 1, 10, 1e3} {
		step := linalg.NewMatrix(n, 1)
		for i := range step.Data {
			step.Data[i] = size * math.Sin(float64(i*i))
		}
		c.doubt = 0
		done, err := r.roughly(c, rough, step)
		if err != nil {
			t.Fatal(err)
		}
		if !done {
			refused++
			continue
		}
		accepted++
		if err := r.exactly(exact, step); err != nil {
			t.Fatal(err)
		}
		form := 0.0
		for i, v := range exact.Data {
			exact.Data[i] = v - rough.Data[i]
			form += step.Data[i] * exact.Data[i]
		}
		r.o.pre.FInvTo(white, exact)
		left := r.o.e.Dot(white.Data, white.Data) / r.o.b.node
		if does := math.Abs(form)/2 + left/2 + math.Sqrt(r.opt.Eps*left); !(does <= c.doubt) || c.doubt > r.opt.Eps/20 {
			t.Errorf("a step of %g: it does %v, doubt %v", size, does, c.doubt)
		}
	}
	if accepted == 0 || refused == 0 {
		t.Errorf("%d accepted, %d left to exact products", accepted, refused)
	}
}

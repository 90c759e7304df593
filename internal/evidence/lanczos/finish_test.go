package lanczos

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// whole runs the process of an evaluation to its end and returns it with its columns.
func whole(t *testing.T, d *gp.Table, p gp.Params, opt evidence.Options,
	prec kernelmv.Precision) (*process, *solution) {
	t.Helper()
	o := mustObjective(t, d, p)
	if err := o.Rebuild(context.Background(), p, opt); err != nil {
		t.Fatal(err)
	}
	r := &process{o: o, ctx: context.Background(), p: p, far: p, opt: opt, prec: prec, own: prec, op: o.op.With(prec)}
	if err := r.begin(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.iterate(); err != nil {
		t.Fatal(err)
	}
	c, err := r.columns()
	if err != nil {
		t.Fatal(err)
	}
	c.r, c.w = linalg.NewMatrix(o.n, 1), linalg.NewMatrix(o.n, 1)
	return r, c
}

// advance keeps q = 2 r'v + v'K̂v and v'K̂v for any step.
func TestAdvance(t *testing.T) {
	d, p := gptest.SmoothTable(300, 3, 0.1), gptest.TestParams("matern32", 3, 1e-2)
	r, c := whole(t, d, p, evidence.Options{Request: cost.Request{Probes: 7, Rank: 0, Neighbours: 0}, Eps: 1,
		Gradient: true}, kernelmv.F64)
	kv := linalg.NewMatrix(r.o.n, 1)
	if err := r.exactly(kv, c.v); err != nil {
		t.Fatal(err)
	}
	r.residual(c, kv)
	step := linalg.NewMatrix(r.o.n, 1)
	for i := range step.Data {
		step.Data[i] = math.Sin(float64(i))
	}
	left, err := r.residualOf(c, step)
	if err != nil {
		t.Fatal(err)
	}
	r.advance(c, step, left)
	if err := r.exactly(kv, c.v); err != nil {
		t.Fatal(err)
	}
	form, q := 0.0, 0.0
	for i, v := range c.v.Data {
		form += v * kv.Data[i]
		q += v * (2*(d.Y[i]-p.Mean) - kv.Data[i])
		if want := d.Y[i] - p.Mean - kv.Data[i]; math.Abs(c.r.Data[i]-want) > 1e-9*form {
			t.Fatalf("r[%d] = %v, want %v", i, c.r.Data[i], want)
		}
	}
	if math.Abs(c.q-q) > 1e-10*form || math.Abs(c.kv-form) > 1e-10*form {
		t.Errorf("q = %v, want %v; v'K̂v = %v, want %v", c.q, q, c.kv, form)
	}
}

// Where float32 products move the log determinant, the bounds still hold the value of
// float64 products with the same probes, and few columns do for the correction.
func TestFloat32Corrected(t *testing.T) {
	d, p := gptest.SmoothTable(1200, 4, 0.3), gptest.TestParams("matern32", 4, 0.05)
	p.Variance = 80
	for j := range p.Lengthscales {
		p.Lengthscales[j] *= 20
	}
	opt := evidence.Options{Request: cost.Request{Probes: 7, Rank: 60, Neighbours: 0}, Eps: 0.1, Seed: 1}
	r, c := whole(t, d, p, opt, kernelmv.F32)
	ku := linalg.NewMatrix(r.o.n, c.u.Cols)
	if err := r.exactly(ku, c.u); err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for i, s := range linalg.ColumnDots(c.u, ku) {
		want += s - c.ku[i]
	}
	if err := r.correctLoud(c); err != nil {
		t.Fatal(err)
	}
	if loud, _ := loudColumns(c.u); loud >= c.u.Cols || math.Abs(c.fix-want)/2 > c.doubt ||
		c.doubt > 0.02*math.Abs(want) {
		t.Errorf("%d of %d columns move log det A by %v ± %v, all by %v", loud, c.u.Cols, c.fix, 2*c.doubt, want)
	}
	var ev [2]*evidence.Value
	for i, prec := range []string{"f32", "f64"} {
		opt.Precision, opt.Eps = prec, []float64{0.1, 0.01}[i]
		var err error
		if ev[i], err = mustObjective(t, d, p).Evaluate(context.Background(), p, opt); err != nil {
			t.Fatal(err)
		}
	}
	if ev[0].Precision != "f32" {
		t.Fatalf("precision %s: this says nothing", ev[0].Precision)
	}
	// The same probes: the value of float64 products has to lie between the bounds.
	if apart := max(ev[0].Lower-ev[1].Upper, ev[1].Lower-ev[0].Upper); apart > 1e-3 || ev[0].Upper-ev[0].Lower > 0.2 {
		t.Errorf("float32 [%v, %v], float64 [%v, %v], apart by %v",
			ev[0].Lower, ev[0].Upper, ev[1].Lower, ev[1].Upper, apart)
	}
}

// What rounding has left of the residual is repaired, by the inverse that the process knows or by conjugate gradients,
// until the bounds have room for it, and the solution is then that of float64 products.
func TestRefine(t *testing.T) {
	d, p := gptest.SmoothTable(300, 3, 0.1), gptest.TestParams("matern32", 3, 1e-2)
	for _, c := range []struct {
		rank, neighbours int
		prec             kernelmv.Precision
	}{{0, 16, kernelmv.F64}, {30, 0, kernelmv.F64}, {30, 0, kernelmv.F32}, {0, 16, kernelmv.F32}} {
		opt := evidence.Options{Request: cost.Request{Probes: 7, Rank: c.rank, Neighbours: c.neighbours}, Eps: 0.1}
		r, s := whole(t, d, p, opt, c.prec)
		kv := linalg.NewMatrix(r.o.n, 1)
		for i := range s.v.Data {
			s.v.Data[i] *= 1 + 0.05*math.Sin(float64(i)) // what a basis in float32 may do, and more
		}
		if err := r.exactly(kv, s.v); err != nil {
			t.Fatal(err)
		}
		r.residual(s, kv)
		room := max(2*opt.Eps-(r.o.b.gaussMean-r.o.b.radauMean), opt.Eps/4)
		before := s.rest + 2*r.unseen(s)
		if before <= 2*room {
			t.Fatalf("%+v: %v is left of %v: this says nothing", c, before, room)
		}
		if err := r.refine(s); err != nil {
			t.Fatal(err)
		}
		if !(s.rest <= room) || s.excess != 0 {
			t.Errorf("%+v: %v and %v are left of %v, %v allowed", c, s.rest, s.excess, before, room)
		}
		if err := r.exactly(kv, s.v); err != nil {
			t.Fatal(err)
		}
		form, q := 0.0, 0.0
		for i, v := range s.v.Data {
			form += v * kv.Data[i]
			q += v * (2*(d.Y[i]-p.Mean) - kv.Data[i])
		}
		if math.Abs(s.q-q) > 1e-6*form+2*s.doubt {
			t.Errorf("%+v: q = %v, want %v", c, s.q, q)
		}
	}
}

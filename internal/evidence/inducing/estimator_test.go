package inducing

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/evidencetest"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// denseBound is the bound by dense formulas that share no step with estimator.go;
// v is the auxiliary vector of CGLB, nil for SGPR.
func denseBound(e *linalg.Engine, d *gp.Table, p gp.Params, pivots []int32, v []float64) float64 {
	n, m := d.X.Rows, len(pivots)
	k := gp.KernelOf(p)
	noise := gp.NoiseOf(p, d)
	kuf, kuu := linalg.NewMatrix(m, n), linalg.NewMatrix(m, m)
	for a, i := range pivots {
		for j := range n {
			kuf.Set(a, j, k.At(d.X.Row(int(i)), d.X.Row(j)))
		}
		for b, j := range pivots {
			kuu.Set(a, b, k.At(d.X.Row(int(i)), d.X.Row(int(j))))
		}
		kuu.Set(a, a, kuu.At(a, a)+jitterShare*p.Variance)
	}
	uu, err := e.NewCholesky(kuu)
	if err != nil {
		panic(err)
	}
	w := linalg.NewMatrix(m, n)
	uu.SolveTo(w, kuf)
	q := linalg.NewMatrix(n, n)
	e.GemmTo(q, 1, kuf, true, w, false, 0)
	t := 0.0
	for i := range n {
		t += (p.Variance - q.At(i, i)) / noise[i]
		q.Set(i, i, q.At(i, i)+noise[i])
	}
	pc, err := e.NewCholesky(q)
	if err != nil {
		panic(err)
	}
	r, u := linalg.NewMatrix(n, 1), linalg.NewMatrix(n, 1)
	for i := range n {
		r.Data[i] = d.Y[i] - p.Mean
	}
	value := -0.5 * (float64(n)*math.Log(2*math.Pi) + pc.LogDet())
	if v == nil {
		pc.SolveTo(u, r)
		return value - 0.5*(t+e.Dot(r.Data, u.Data))
	}
	quad := 0.0
	for i := range n {
		kv := noise[i] * v[i]
		for j := range n {
			kv += k.At(d.X.Row(i), d.X.Row(j)) * v[j]
		}
		r.Data[i] -= kv
		quad += v[i] * (2*r.Data[i] + kv)
	}
	pc.SolveTo(u, r)
	return value - 0.5*(float64(n)*math.Log1p(t/float64(n))+quad+e.Dot(r.Data, u.Data))
}

func TestSparseBounds(t *testing.T) {
	e, err := linalg.NewEngine(nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	data, p := gptest.SparseCase(150, 3)
	truth := evidencetest.Exact(t, data, p, evidence.Options{})
	for _, conjugate := range []bool{false, true} {
		for _, rank := range []int{1, 20, 150} {
			s, err := New(e, data, p, rank, conjugate)
			if err != nil {
				t.Fatal(err)
			}
			opt := evidence.Options{Eps: 1, Gradient: true}
			if err := s.Rebuild(ctx, p, opt); err != nil {
				t.Fatal(err)
			}
			ev, err := s.Evaluate(ctx, p, opt)
			if err != nil {
				t.Fatal(err)
			}
			var v []float64
			if conjugate {
				v = ev.Alpha
			}
			want := denseBound(e, data, p, s.pivots, v)
			if math.Abs(ev.LML-want) > 1e-8*math.Abs(want) {
				t.Errorf("conjugate %v rank %d: bound %.12g, dense formula %.12g", conjugate, rank, ev.LML, want)
			}
			if ev.LML > truth.LML+1e-6 {
				t.Errorf("conjugate %v rank %d: %g is above the exact %g", conjugate, rank, ev.LML, truth.LML)
			}
			if rank == 150 && !conjugate && truth.LML-ev.LML > 1e-2 {
				t.Errorf("all rows: bound %g, exact %g", ev.LML, truth.LML)
			}
			checkSparseGradient(t, e, data, p, s.pivots, v, ev.Gradient)
		}
	}
}

// checkSparseGradient compares g with central differences of denseBound.
func checkSparseGradient(t *testing.T, e *linalg.Engine, d *gp.Table, p gp.Params, pivots []int32, v []float64,
	g *evidence.Gradient) {
	t.Helper()
	at := func(q gp.Params) float64 { return denseBound(e, d, q, pivots, v) }
	check := func(name string, got float64, set func(q *gp.Params) *float64) {
		t.Helper()
		q := p.Clone()
		x := set(&q)
		mid, h := *x, 1e-5
		*x = mid + h
		up := at(q)
		*x = mid - h
		down := at(q)
		if want := (up - down) / (2 * h); math.Abs(got-want) > 1e-6*math.Abs(want)+2e-6 {
			t.Errorf(
				"rank %d, CGLB %v: d by %s is %.10g, differences give %.10g", len(pivots), v != nil, name, got, want)
		}
	}
	check("mean", g.Mean, func(q *gp.Params) *float64 { return &q.Mean })
	check("variance", g.Variance, func(q *gp.Params) *float64 { return &q.Variance })
	check("noise", g.Noise, func(q *gp.Params) *float64 { return &q.Noise })
	for j := range p.Lengthscales {
		check("lengthscale", g.Lengthscales[j], func(q *gp.Params) *float64 { return &q.Lengthscales[j] })
	}
}

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

// Weights are solved for to what is asked, in either precision and with every form of P, and the bound of what is
// left of r'K̂⁻¹r holds; the likelihood is what it is without. Where rounding allows no more, K̂⁻¹r is known instead.
func TestSolveWeights(t *testing.T) {
	d := gptest.SmoothTable(700, 3, 0.1)
	for _, k := range []struct {
		precision  string
		noise      float64
		rank, near int
		memory     int64
		asked      float64
		beyondF64  bool
	}{
		{precision: "f64", noise: 1e-2, rank: 60, asked: 1e-9},
		{precision: "f64", noise: 1e-4, rank: 40, near: 16, asked: 1e-9},
		{precision: "f64", noise: 1e-4, near: 16, memory: 1, asked: 1e-9}, // the basis is not there
		{precision: "f32", noise: 1e-2, rank: 60, asked: 1e-9},
		{precision: "f32", noise: 1e-2, near: 16, asked: 1e-9},
		{precision: "f64", noise: 1e-8, rank: 100, near: 32, asked: 1e-25, beyondF64: true},
	} {
		p := gptest.TestParams("matern32", 3, k.noise)
		opt := evidence.Options{Request: cost.Request{Probes: 7, Rank: k.rank, Neighbours: k.near}, Eps: 1,
			Precision: k.precision, Seed: 3, Memory: k.memory}
		plain, _, err := evidence.Escalate(context.Background(), mustObjective(t, d, p), 700, p, opt)
		if err != nil {
			t.Fatal(err)
		}
		opt.Weights = k.asked
		ev, _, err := evidence.Escalate(context.Background(), mustObjective(t, d, p), 700, p, opt)
		if err != nil {
			t.Fatal(err)
		}
		rest, off := residualForm(t, d, p, ev)
		if ev.LML != plain.LML || plain.AlphaRest != 0 {
			t.Errorf("%+v: L %v, without weights %v", k, ev.LML, plain.LML)
		}
		if k.beyondF64 {
			if ev.AlphaRest <= k.asked || ev.AlphaLeft == nil || off > 0.3 {
				t.Errorf("%+v: bound %g, weights of the residual %d, off by %.2g", k,
					ev.AlphaRest, len(ev.AlphaLeft), off)
			}
		} else if ev.AlphaRest > k.asked || ev.AlphaLeft != nil || rest > 1.01*ev.AlphaRest {
			t.Errorf("%+v: bound %g, it is %g", k, ev.AlphaRest, rest)
		}
	}
}

// The end of ctx takes nothing of a value that is known.
func TestSolveWeightsInterrupted(t *testing.T) {
	d, p := gptest.SmoothTable(400, 3, 0.1), gptest.TestParams("matern32", 3, 1e-4)
	r, _ := whole(t, d, p, evidence.Options{Request: cost.Request{Probes: 3, Neighbours: 8}, Eps: 1, Weights: 1e-20},
		kernelmv.F64)
	ctx, stop := context.WithCancel(context.Background())
	r.ctx = ctx
	ev := &evidence.Value{Alpha: make([]float64, 400)}
	stop()
	if err := r.solveWeights(ev); err != nil || ev.AlphaRest != 0 || ev.Alpha == nil {
		t.Error(err, ev.AlphaRest)
	}
}

// residualForm returns r'K̂⁻¹r of the weights of ev, and by what share AlphaLeft differs from K̂⁻¹r.
func residualForm(t *testing.T, d *gp.Table, p gp.Params, ev *evidence.Value) (form, off float64) {
	t.Helper()
	n := d.X.Rows
	dense, err := evidence.NewExact(gptest.Engine(t), d, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := dense.Factor(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	r, x := linalg.NewMatrix(n, 1), linalg.NewMatrix(n, 1)
	o := mustObjective(t, d, p)
	if err := o.op.Reset(gp.KernelOf(p), gp.NoiseOf(p, d)); err != nil {
		t.Fatal(err)
	}
	if err := o.op.With(kernelmv.F64).MulTo(context.Background(), r, linalg.Column(ev.Alpha)); err != nil {
		t.Fatal(err)
	}
	for i, y := range d.Y {
		r.Data[i] = y - p.Mean - r.Data[i]
	}
	dense.Chol.SolveTo(x, r)
	size := 0.0
	for i, v := range x.Data {
		form += v * r.Data[i]
		size += v * v
		if ev.AlphaLeft != nil {
			off += (v - ev.AlphaLeft[i]) * (v - ev.AlphaLeft[i])
		}
	}
	return form, math.Sqrt(off / size)
}

// A preconditioner serves again where it would be made anew by the same request at the same place, with other probes.
func TestPreconditionerServes(t *testing.T) {
	d, p := gptest.SmoothTable(400, 3, 0.1), gptest.TestParams("matern32", 3, 1e-2)
	o, ctx := mustObjective(t, d, p), context.Background()
	opt := evidence.Options{Request: cost.Request{Probes: 7, Rank: 20, Neighbours: 8}, Eps: 1, Seed: 3}
	rebuild := func(p gp.Params, opt evidence.Options) preconditioner {
		t.Helper()
		if err := o.Rebuild(ctx, p, opt); err != nil {
			t.Fatal(err)
		}
		return o.pre
	}
	first, probe := rebuild(p, opt), o.probes.At(0, 0)
	again := opt
	again.Seed, again.PrecondSeed, again.Probes = 7, 3, 9
	if rebuild(p, again) != first || o.probes.Cols != 9 || o.start.Cols != 10 {
		t.Error("another preconditioner, or the old probes")
	}
	q := p.Clone()
	q.Mean++
	if rebuild(q, again) != first {
		t.Error("it does not depend on the mean")
	}
	if rebuild(p, opt) != first || o.probes.At(0, 0) != probe {
		t.Error("other probes by the same seed")
	}
	q.Noise *= 2
	if second := rebuild(q, again); second == first || rebuild(q, opt) != second {
		t.Error("the preconditioner of another place")
	}
	again.PrecondSeed, again.Neighbours = 4, 8
	other := rebuild(q, again)
	again.Neighbours = 9
	if rebuild(q, again) == other {
		t.Error("the preconditioner of another request")
	}
}

// A solution is followed by another where it has gained much: in r'K̂⁻¹r or r'r by four, and in r'K̂⁻¹r alone once r'r
// is as fine as means need. One that has lost in either by more than scatter is not taken.
func TestBetterWeights(t *testing.T) {
	for _, k := range []struct {
		rest, square float64 // of a solution after (1, 1)
		fine         float64
		better, far  bool
	}{
		{0.9, 0.1, 0.5, true, true}, {0.9, 0.1, 2, true, false}, {0.2, 0.9, 2, true, true},
		{0.6, 0.6, 0.5, true, false}, {3, 0.1, 0.5, false, false}, {1.5, 0.9, 0.5, false, false},
	} {
		s, b := solvedFor{rest: k.rest, square: k.square}, solvedFor{rest: 1, square: 1}
		if better, far := s.better(&b, k.fine); better != k.better || far != k.far {
			t.Errorf("%+v: better %v, far %v", k, better, far)
		}
	}
}

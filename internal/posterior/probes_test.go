package posterior

import (
	"context"
	"errors"
	"math"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/kernelmv"
)

func TestChiSquareBounds(t *testing.T) {
	// Tables of the distribution: 2.5 % and 97.5 % for 64 and 2 degrees of freedom.
	for _, c := range []struct {
		s         int
		low, high float64
	}{{64, 43.776, 88.004}, {2, 0.050636, 7.377759}} {
		low, high := chiSquareBounds(c.s, 0.025)
		if gptest.Relative(low, c.low) > 2e-5 || gptest.Relative(high, c.high) > 2e-5 {
			t.Errorf("%d: %v and %v, want %v and %v", c.s, low, high, c.low, c.high)
		}
	}
	// The far tail: P(χ²_2 > x) = exp(-x/2).
	if low, high := chiSquareBounds(2, 1e-6); gptest.Relative(high, -2*math.Log(1e-6)) > 1e-9 ||
		gptest.Relative(low, -2*math.Log1p(-1e-6)) > 1e-9 {
		t.Errorf("1e-6: %v and %v", low, high)
	}
}

// TestGapUnbiased: the squares of ω'ρ have the gap as their mean, with and
// without V, so over many rows their sum agrees with that of the gaps.
func TestGapUnbiased(t *testing.T) {
	ctx := context.Background()
	d, test := gptest.RandomTable(900, 4, 5), gptest.RandomTable(400, 4, 6)
	d.NoiseExtra, d.NoiseScale = nil, nil
	for _, r := range []PrecondSpec{{Rank: 60}, {Neighbours: 24}} {
		p := gp.Params{Kernel: "matern52", Variance: 3, Noise: 0.05, Lengthscales: []float64{3, 4, 5, 6}}
		dense, other := pair(t, d, p, r)
		e := gptest.Engine(t)
		want, err := dense.Predict(ctx, e, test.X, Options{SD: true, SDTol: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		if err := other.prepare(ctx, e, true); err != nil {
			t.Fatal(err)
		}
		if other.probes, err = other.newGapProbes(ctx, true); err != nil {
			t.Fatal(err)
		}
		if (other.probes.rank > 0) != (r.Rank > 0) {
			t.Fatalf("%+v: V has %d columns", r, other.probes.rank)
		}
		rows := make([]int, test.X.Rows)
		for i := range rows {
			rows[i] = i
		}
		v := newVarianceBounds(test.X.Rows, p.Variance)
		if _, _, err := other.regress(ctx, test.X, rows, 1, v); err != nil { // no second try
			t.Fatal(err)
		}
		gap, estimate := 0.0, 0.0
		for i := range rows {
			sum := (v.hi[i] - v.lo[i]) / (other.probes.most - other.probes.least)
			estimate += sum / probeCount
			gap += v.hi[i] + other.probes.least*sum - want.Hi[i]
			if v.lo[i] > want.Hi[i] || v.hi[i] < want.Lo[i] {
				t.Errorf("%+v, row %d: %v outside [%v, %v]", r, i, want.Hi[i], v.lo[i], v.hi[i])
			}
		}
		if q := estimate / gap; q < 0.85 || q > 1.15 {
			t.Errorf("%+v: measured gaps are %.3f of the true ones", r, q)
		}
		if gap/float64(len(rows)) < 1e-4 {
			t.Errorf("%+v: mean gap %v: nothing to measure", r, gap/float64(len(rows)))
		}
	}
}

// TestMeansAlone: means need neither a solver nor probes; deviations of few rows
// need no probes, those of many do.
func TestMeansAlone(t *testing.T) {
	ctx := context.Background()
	d, test := gptest.RandomTable(700, 3, 5), gptest.RandomTable(fewRows, 3, 6)
	p := gp.Params{Kernel: "matern32", Variance: 1, Noise: 0.05, Lengthscales: []float64{1, 2, 3}}
	_, m := pair(t, d, p, PrecondSpec{Neighbours: 16})
	m.prepared = prepared{} // of the solution
	e := gptest.Engine(t)
	for _, c := range []struct {
		rows               int
		sd, solver, probes bool
	}{{fewRows, false, false, false}, {fewRows / 2, true, true, false}, {fewRows / 2, true, true, true}} {
		got, err := m.Predict(ctx, e, test.X.Sub(0, c.rows, 0, 3), Options{SD: c.sd})
		if err != nil {
			t.Fatal(err)
		}
		if (got.Lo != nil) != c.sd || (m.pre != nil) != c.solver || (m.probes != nil) != c.probes {
			t.Errorf("%+v: solver %v, probes %v", c, m.pre != nil, m.probes != nil)
		}
	}
}

// TestPredictRigorous: what is asked to be certain is, for both kinds of
// preconditioner, and means that were solved for loosely lie within.
func TestPredictRigorous(t *testing.T) {
	ctx := context.Background()
	d, test := gptest.RandomTable(500, 3, 5), gptest.RandomTable(fewRows, 3, 6)
	p := gp.Params{Kernel: "matern32", Variance: 1, Noise: 0.05, Lengthscales: []float64{1, 2, 3}}
	for kind, r := range map[string]PrecondSpec{"rigorous": {Rank: 60}, "exact": {Neighbours: 16}} {
		dense, m := pair(t, d, p, r)
		for i := range m.weights {
			m.weights[i] *= 1 + 1e-4*float64(i%3)
		}
		m.prepared, m.meanError = prepared{}, 1
		want, err := dense.Predict(ctx, gptest.Engine(t), test.X, Options{SD: true, SDTol: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Predict(ctx, gptest.Engine(t), test.X, Options{SD: true, SDTol: 0.05, Rigorous: true})
		if err != nil {
			t.Fatal(err)
		}
		if got.Kind != kind || m.probes != nil {
			t.Errorf("bounds are %s, want %s", got.Kind, kind)
		}
		for i := range want.Mean {
			w, g := want.row(i), got.row(i)
			if w.mean < g.meanLo-1e-9 || w.mean > g.meanHi+1e-9 {
				t.Errorf("%s, row %d: mean %v outside [%v, %v]", kind, i, w.mean, g.meanLo, g.meanHi)
			}
			if w.sd < g.sdLo*(1-1e-9) || w.sd > g.sdHi*(1+1e-9) {
				t.Errorf("%s, row %d: sd %v outside [%v, %v]", kind, i, w.sd, g.sdLo, g.sdHi)
			}
			if kind == "exact" && g.meanHi-g.meanLo > 1e-2 {
				t.Errorf("row %d: mean within [%v, %v]", i, g.meanLo, g.meanHi)
			}
		}
	}
}

// TestGapFewRows: fewer training rows than probes, and a single one.
func TestGapFewRows(t *testing.T) {
	ctx, test := context.Background(), gptest.RandomTable(fewRows, 2, 6)
	for _, n := range []int{1, 2, 40} {
		d := gptest.RandomTable(n, 2, 5)
		p := gp.Params{Kernel: "matern32", Variance: 1, Noise: 0.05, Lengthscales: []float64{1, 2}}
		for _, r := range []PrecondSpec{{Neighbours: 8}, {Rank: 8}} {
			dense, m := pair(t, d, p, r)
			want, err := dense.Predict(ctx, gptest.Engine(t), test.X, Options{SD: true, SDTol: 0.05})
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Predict(ctx, gptest.Engine(t), test.X, Options{SD: true, SDTol: 0.05})
			if err != nil {
				t.Fatal(err)
			}
			for i := range want.Mean {
				if w, g := want.row(i), got.row(i); w.sd < g.sdLo-1e-7 || w.sd > g.sdHi+1e-7 {
					t.Errorf("%d rows, %+v, row %d: sd %v outside [%v, %v]", n, r, i, w.sd, g.sdLo, g.sdHi)
				}
			}
			if _, err := m.LeaveOneOut(ctx, gptest.Engine(t)); err != nil {
				t.Errorf("%d rows, %+v: %v", n, r, err)
			}
		}
	}
}

// TestGapNewWeights: weights that are solved for again have bounds of their own,
// and what cannot be reached is tried once.
func TestGapNewWeights(t *testing.T) {
	ctx, e := context.Background(), gptest.Engine(t)
	d, test := gptest.RandomTable(500, 3, 5), gptest.RandomTable(fewRows, 3, 6)
	p := gp.Params{Kernel: "matern32", Variance: 1, Noise: 0.05, Lengthscales: []float64{1, 2, 3}}
	dense, m := pair(t, d, p, PrecondSpec{Neighbours: 16})
	want, err := dense.Predict(ctx, e, test.X, Options{SD: true, SDTol: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.weights {
		m.weights[i] *= 1 + 1e-2*float64(i%3)
	}
	m.prepared, m.meanError = prepared{}, 1
	for _, tol := range []float64{0, 1e-3, 1e-6, 1e-300, 1e-300} {
		got, err := m.Predict(ctx, e, test.X, Options{SD: true, SDTol: 0.05, MeanTol: tol})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range want.Mean {
			if g := got.row(i); v < g.meanLo-1e-9 || v > g.meanHi+1e-9 {
				t.Fatalf("tolerance %g, row %d: mean %v outside [%v, %v]", tol, i, v, g.meanLo, g.meanHi)
			}
		}
	}
	kept := m.probes
	if _, err := m.Predict(ctx, e, test.X, Options{SD: true, SDTol: 0.05, MeanTol: 1e-300}); err != nil ||
		m.probes != kept {
		t.Errorf("what cannot be reached was tried again; %v", err)
	}
}

// TestGapBetween: what rounding may do widens both bounds; a gap that is measured
// larger than the variance leaves no lower bound and does not raise the upper one.
func TestGapBetween(t *testing.T) {
	g := &gapProbes{least: 0.004, most: 0.015}
	lo, hi := g.between(1, 0, 10, 0)
	if gptest.Relative(lo, 1-0.15) > 1e-12 || gptest.Relative(hi, 1-0.04) > 1e-12 {
		t.Errorf("[%v, %v] for a sound regression", lo, hi)
	}
	if a, b := g.between(1, 0.01, 10, 0); gptest.Relative(a, lo-0.01) > 1e-12 || gptest.Relative(b, hi+0.01) > 1e-12 {
		t.Errorf("[%v, %v] for a variance known to 0.01", a, b)
	}
	d := 0.1 / math.Sqrt(probeCount)
	if a, b := g.between(1, 0, 10, d); gptest.Relative(a, 1-0.015*math.Pow(math.Sqrt(10)+0.1, 2)) > 1e-12 ||
		gptest.Relative(b, 1-0.004*math.Pow(math.Sqrt(10)-0.1, 2)) > 1e-12 {
		t.Errorf("[%v, %v] for probes known to %v", a, b, d)
	}
	v := newVarianceBounds(1, 0.5)
	for _, c := range [][3]float64{{0.1, 10, 0}, {1e-3, 1e13, 0}, {1, 1e13, 1e12}} {
		lo, hi := g.between(c[0], 0, c[1], c[2])
		v.meet(0, lo, hi)
		if v.lo[0] < 0 || v.lo[0] > v.hi[0] || v.hi[0] > 0.5 {
			t.Errorf("[%v, %v] after %v", v.lo[0], v.hi[0], c)
		}
	}
}

// TestProbesBelowSquare: probes drawn by products below n² have the covariance K̂⁻¹, so that ω'K̂ω
// is χ² with n degrees of freedom; products that are too coarse are seen.
func TestProbesBelowSquare(t *testing.T) {
	ctx, e := context.Background(), gptest.Engine(t)
	d := gptest.RandomTable(2500, 2, 7)
	d.NoiseExtra, d.NoiseScale = nil, nil
	params := gp.Params{Kernel: "matern32", Variance: 1, Noise: 1e-3, Lengthscales: []float64{0.5, 0.5}}
	p := New(d, params, PrecondSpec{Neighbours: 24}, nil, Weights{})
	if err := p.prepare(ctx, e, true); err != nil {
		t.Fatal(err)
	}
	p.op.SetForm(kernelmv.FormH2, probeFormTol, predictTol64)
	p.weights = make([]float64, p.N())
	g, err := p.gapProbesBy(ctx, false, kernelmv.Coarse)
	if err != nil {
		t.Fatal(err)
	}
	n := float64(p.N())
	for s := range probeCount {
		form := 0.0
		for i := range p.N() {
			form += g.cols.At(i, s) * g.own.At(i, s)
		}
		if math.Abs(form-n) > 6*math.Sqrt(2*n) {
			t.Errorf("probe %d: ω'K̂ω = %.0f, %.0f expected", s, form, n)
		}
	}
	for _, c := range []struct {
		tol  float64
		want error
	}{{1e-8, nil}, {3e-2, errProbeForm}} {
		p.op.SetForm(kernelmv.FormH2, c.tol, predictTol64)
		if err := p.checkForm(ctx, g.cols, g.own); !errors.Is(err, c.want) {
			t.Errorf("tolerance %g: %v, want %v", c.tol, err, c.want)
		}
	}
}

package posterior

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// pair returns posteriors of the same data and parameters: one answers by Cholesky, one as
// spec says.
func pair(t *testing.T, d *gp.Table, p gp.Params, spec PrecondSpec) (dense, other *Posterior) {
	t.Helper()
	solved := func(spec PrecondSpec) *Posterior {
		m := New(d, p, spec, nil, Weights{})
		if err := m.Refine(context.Background(), gptest.Engine(t), 1e-8); err != nil {
			t.Fatal(err)
		}
		return m
	}
	return solved(PrecondSpec{Dense: true}), solved(spec)
}

// A deviation holds what a prediction says of one row, as bounds of its mean and of the
// standard deviation of the function.
type deviation struct{ mean, meanLo, meanHi, sd, sdLo, sdHi float64 }

func (p *Prediction) row(i int) deviation {
	lo, hi := math.Sqrt(p.Lo[i]), math.Sqrt(p.Hi[i])
	return deviation{p.Mean[i], p.Mean[i] + min(0, p.Shift[i]-p.Width[i]), p.Mean[i] + max(0, p.Shift[i]+p.Width[i]),
		(lo + hi) / 2, lo, hi}
}

// TestPredictionBounds: mean and variance of the dense solution lie within the
// bounds of the others, which are as narrow as asked: iteration for few rows,
// regressions and probes for many.
func TestPredictionBounds(t *testing.T) {
	for _, rows := range []int{70, fewRows + 40} {
		boundRows(t, rows)
	}
}

func boundRows(t *testing.T, rows int) {
	ctx := context.Background()
	d := gptest.RandomTable(600, 3, 2)
	test := gptest.RandomTable(rows, 3, 3)
	for i := range 10 { // at, and almost at, training rows
		copy(test.X.Row(i), d.X.Row(7*i))
		test.X.Data[3*i] += 1e-9 * float64(i)
	}
	test.X.Set(rows-1, 0, 1e3) // far outside
	for _, c := range []struct {
		noise, variance float64
		r               PrecondSpec
	}{
		{0.1, 1, PrecondSpec{Rank: 50}}, {0.1, 200, PrecondSpec{Rank: 100}}, {1e-2, 1, PrecondSpec{Neighbours: 32}},
		{1e-4, 3, PrecondSpec{Neighbours: 32}}, {1e-3, 30, PrecondSpec{Rank: 50, Neighbours: 16}},
		{1e-6, 1, PrecondSpec{Rank: 500}},
	} {
		p := gp.Params{Kernel: "matern32", Mean: 0.1, Variance: c.variance, Noise: c.noise,
			Lengthscales: []float64{1, 3, math.Inf(1)}}
		if c.noise < 1e-3 {
			d.NoiseExtra = nil
		}
		dense, iter := pair(t, d, p, c.r)
		want, err := dense.Predict(ctx, gptest.Engine(t), test.X, Options{SD: true, SDTol: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		got, err := iter.Predict(ctx, gptest.Engine(t), test.X, Options{SD: true, SDTol: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		if made := iter.probes != nil; made != (rows >= fewRows) {
			t.Errorf("noise %g, %d rows: probes made: %v", c.noise, rows, made)
		}
		for i := range want.Mean {
			want, got := want.row(i), got.row(i)
			// Near a noise-free row the variance is a difference of large numbers
			// in the dense solution too.
			slack := 1e-7*math.Sqrt(c.variance) + 1e-12*c.variance/math.Sqrt(c.noise)
			if want.mean < got.meanLo-1e-7 || want.mean > got.meanHi+1e-7 {
				t.Errorf("noise %g, row %d: mean %v outside [%v, %v]", c.noise, i, want.mean, got.meanLo,
					got.meanHi)
			}
			if want.sd < got.sdLo-slack || want.sd > got.sdHi+slack {
				t.Errorf("noise %g, row %d: sd %v outside [%v, %v]", c.noise, i, want.sd, got.sdLo, got.sdHi)
			}
			if w := (got.sdHi - got.sdLo) / (got.sdHi + got.sdLo); w > 0.0501 {
				t.Errorf("noise %g, row %d: relative half width %.3f", c.noise, i, w)
			}
		}
	}
}

// TestDenseHalf: what the variance says of the size of a combination holds for the solution itself, for all kernels
// and noises, repeated rows and places far from all; it is taken where rounding is small against what is asked for, so
// that intervals are those of the whole solution or around them, and not where it is not.
func TestDenseHalf(t *testing.T) {
	ctx, e := context.Background(), gptest.Engine(t)
	ask := Options{SDTol: 0.05}
	for i := range 16 {
		d := gptest.RandomTable(200, 1+i%3, uint64(i))
		p := gp.Params{Kernel: gp.Families()[i%4], Variance: []float64{1, 100}[i/8],
			Lengthscales: []float64{2, 1, 3}[:1+i%3], Noise: []float64{1, 1e-2, 1e-4, 1e-9}[i/2%4]}
		if p.Noise < 1e-8 {
			d.NoiseExtra, d.NoiseScale = nil, nil
		}
		copy(d.X.Data[100*d.X.Cols:], d.X.Data[:50*d.X.Cols])
		m := New(d, p, PrecondSpec{Dense: true}, nil, Weights{MeanError: math.Inf(1)})
		xs := gptest.RandomTable(40, d.X.Cols, 99).X
		copy(xs.Row(3), d.X.Row(7))
		xs.Set(4, 0, 1e3)
		if _, err := m.Predict(ctx, e, xs, ask); err != nil {
			t.Fatal(err)
		}
		half, whole := newVarianceBounds(40, p.Variance), newVarianceBounds(40, p.Variance)
		if err := m.dense(ctx, xs, ask, half); err != nil {
			t.Fatal(err)
		}
		if err := m.dense(ctx, xs, Options{}, whole); err != nil {
			t.Fatal(err)
		}
		x, all := linalg.NewMatrix(40, 200), make([]int32, 200)
		for r := range all {
			all[r] = int32(r)
		}
		if err := m.op.CrossTo(ctx, x, xs, all); err != nil {
			t.Fatal(err)
		}
		x = transpose(x)
		m.chol.SolveTo(x, x)
		for c := range 40 {
			size := 1.0
			for r := range 200 {
				size += math.Abs(x.At(r, c))
			}
			if most := m.round.within(0, half.hi[c]).size; !(size <= most) {
				t.Errorf("case %d, row %d: 1 + |x| = %.4g, at most %.4g by the variance", i, c, size, most)
			}
			if half.lo[c] > whole.lo[c] || half.hi[c] < whole.hi[c] || half.width[c] < whole.width[c] {
				t.Errorf("case %d, row %d: [%v, %v] is closer than [%v, %v]", i, c, half.lo[c], half.hi[c], whole.lo[c],
					whole.hi[c])
			}
		}
		saved := half.hi[0]-half.lo[0] > whole.hi[0]-whole.lo[0]
		if want := p.Noise > 1e-8; want != saved {
			t.Errorf("case %d, noise %g: half of the solution is enough: %v", i, p.Noise, saved)
		}
	}
}

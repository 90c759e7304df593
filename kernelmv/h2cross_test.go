package kernelmv

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// Products at other rows are within what a Source says of dense ones, for few rows and many, near
// and far from those of the table, and do not depend on the threads.
func TestSource(t *testing.T) {
	ctx := context.Background()
	for i, kind := range []string{"uniform", "clusters", "curves", "grid"} {
		for j, f := range families {
			for d := 2; d <= 3; d++ {
				if (i+j+d)%4 > 0 || testing.Short() && i != 1 {
					continue
				}
				n, tol := h2LeastRows[d]+rowsOf(3000), []float64{1e-6, 1e-9, 1e-11}[(i+j)%3]
				x := h2Points(kind, n, d, uint64(i))
				k := Kernel{f, 1.7, []float64{.1, .15, .2}[:d]}
				v := linalgtest.RandMatrix(rand.New(rand.NewPCG(2, uint64(d))), n, 1+j%2)
				for _, m := range []int{3, n / 4} {
					xs := h2Points([]string{"grid", "uniform"}[(i+m)%2], m, d, 9)
					xs.Set(0, 0, 1e7)
					xs.Set(1, 1, -3)
					copy(xs.Row(m-1), x.Row(5))
					compareSource(ctx, t, x, xs, v, k, tol)
				}
			}
		}
	}
}

func compareSource(ctx context.Context, t *testing.T, x, xs, v linalg.Matrix, k Kernel, tol float64) {
	t.Helper()
	var first linalg.Matrix
	for threads := 1; threads <= 2; threads++ {
		o := newOp(t, linalgtest.NewEngine(t, nil, threads), x, k, nil)
		s, err := o.NewSource(ctx, v, tol)
		if err != nil {
			t.Fatal(err)
		}
		got, want := linalg.NewMatrix(xs.Rows, v.Cols), linalg.NewMatrix(xs.Rows, v.Cols)
		for range 2 {
			if err := s.MulTo(ctx, got, xs); err != nil {
				t.Fatal(err)
			}
		}
		if threads == 2 {
			if !slices.Equal(first.Data, got.Data) {
				t.Errorf("%v, %d rows: threads change bits", k, xs.Rows)
			}
			return
		}
		first = got
		if err := o.CrossMulTo(ctx, want, xs, v); err != nil {
			t.Fatal(err)
		}
		for c := range v.Cols {
			limit, most := s.Error(c), 0.0
			for i := range xs.Rows {
				most = max(most, math.Abs(got.At(i, c)-want.At(i, c)))
			}
			if !(most <= limit) {
				t.Errorf("%v, %d of %d rows, tol %g: off by %.3g, %.3g allowed", k, xs.Rows, x.Rows, tol, most, limit)
			}
		}
	}
}

// Many rows take the tree, and the work ends with its context.
func TestSourceForm(t *testing.T) {
	x := h2Points("uniform", 20000, 2, 1)
	o := newOp(t, linalgtest.NewEngine(t, nil, 1), x, Kernel{Matern32, 1, []float64{.1, .1}}, nil)
	v := linalgtest.RandMatrix(rand.New(rand.NewPCG(2, 2)), 20000, 1)
	s, err := o.NewSource(context.Background(), v, 1e-7)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []int{4000, 20000} {
		plan, err := s.plan(context.Background(), o.pts.x[:m*2])
		if err != nil || plan == nil || plan.pairs > 0.7*float64(m)*20000 {
			t.Errorf("%d rows: plan %v, %v", m, plan, err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := o.NewSource(ctx, v, 1e-9); err != context.Canceled {
		t.Errorf("NewSource = %v", err)
	}
	if err := s.MulTo(ctx, linalg.NewMatrix(20000, 1), x); err != context.Canceled {
		t.Errorf("MulTo = %v", err)
	}
}

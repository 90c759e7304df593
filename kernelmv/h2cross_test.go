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
				n, tol := h2LeastRows[d]+rowsOf(600), []float64{1e-6, 1e-9, 1e-11}[(i+j)%3]
				x := h2Points(kind, n, d, uint64(i))
				k := Kernel{f, 1.7, []float64{.1, .15, .2}[:d]}
				v := linalgtest.RandMatrix(rand.New(rand.NewPCG(2, uint64(d))), n, 1+j%2)
				o, s := sourcesOf(ctx, t, x, v, k, tol)
				for _, m := range []int{3, n / 4} {
					xs := h2Points([]string{"grid", "uniform"}[(i+m)%2], m, d, 9)
					xs.Set(0, 0, 1e7)
					xs.Set(1, 1, -3)
					copy(xs.Row(m-1), x.Row(5))
					compareSource(ctx, t, o, s, xs, v)
				}
			}
		}
	}
}

// sourcesOf returns operators and sources of one thread and of two.
func sourcesOf(ctx context.Context, t *testing.T, x, v linalg.Matrix, k Kernel, tol float64) (o [2]*Op, s [2]*Source) {
	t.Helper()
	for i := range s {
		var err error
		o[i] = newOp(t, linalgtest.NewEngine(t, nil, i+1), x, k, nil)
		if s[i], err = o[i].NewSource(ctx, v, tol); err != nil {
			t.Fatal(err)
		}
	}
	return o, s
}

func compareSource(ctx context.Context, t *testing.T, o [2]*Op, s [2]*Source, xs, v linalg.Matrix) {
	t.Helper()
	var got [2]linalg.Matrix
	for i := range s {
		got[i] = linalg.NewMatrix(xs.Rows, v.Cols)
		for range 2 {
			if err := s[i].MulTo(ctx, got[i], xs); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !slices.Equal(got[0].Data, got[1].Data) {
		t.Errorf("%v, %d rows: threads change bits", o[0].Kernel(), xs.Rows)
	}
	want := linalg.NewMatrix(xs.Rows, v.Cols)
	if err := o[0].CrossMulTo(ctx, want, xs, v); err != nil {
		t.Fatal(err)
	}
	for c := range v.Cols {
		limit, most := s[0].Error(c), 0.0
		for i := range xs.Rows {
			most = max(most, math.Abs(got[0].At(i, c)-want.At(i, c)))
		}
		if !(most <= limit) {
			t.Errorf("%v, %d of %d rows: off by %.3g, %.3g allowed", o[0].Kernel(), xs.Rows, o[0].Dim(), most, limit)
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

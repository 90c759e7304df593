package krylov

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// drift is an operator whose products are off by more and more: rounding in the large.
type drift struct {
	linalg.SymOp
	calls int
}

func (d *drift) MulTo(ctx context.Context, dst, src linalg.Matrix) error {
	err := d.SymOp.MulTo(ctx, dst, src)
	d.calls++
	for i := range dst.Data {
		dst.Data[i] *= 1 + 1e-3*math.Sin(float64(i*d.calls))
	}
	return err
}

// TestCGKeepsBest: a start that is better than all that products allow is not made worse,
// and its residual is reported.
func TestCGKeepsBest(t *testing.T) {
	op, f := krylovCase(t, 120, 10, 1e-4)
	b, s := rademacher(linalgtest.NewRand(6), 120, 3), NewCG(op.e, 120, 3)
	x := linalg.NewMatrix(120, 3)
	if res, err := s.Solve(t.Context(), op, f, x, b, CGOptions{Tol: 1e-10, Verify: true}); err != nil ||
		!res.Converged {
		t.Fatalf("%+v, %v", res, err)
	}
	residual := func(x linalg.Matrix) (sum float64) {
		y := linalg.NewMatrix(120, 3)
		if err := op.MulTo(t.Context(), y, x.Clone()); err != nil {
			t.Fatal(err)
		}
		for i, v := range y.Data {
			sum += (v - b.Data[i]) * (v - b.Data[i])
		}
		return sum
	}
	start := x.Clone()
	res, err := s.Solve(t.Context(), &drift{SymOp: op}, f, x, b, CGOptions{Tol: 1e-12, Warm: true, Verify: true})
	if err != nil || !res.Stagnated || res.Converged {
		t.Fatalf("%+v, %v", res, err)
	}
	if was, is := residual(start), residual(x); is > 1.5*1.5*was+1e-3 {
		t.Errorf("the residual of the start %g became %g", was, is)
	}
	for j, v := range res.RPR {
		if !(v > 0) || math.IsInf(v, 1) {
			t.Errorf("column %d ends with %v", j, v)
		}
	}
}

package linalg

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
)

// Loops are left once the context has ended, a Cholesky factorisation in the midst of
// it, and are whole again afterwards.
func TestUntil(t *testing.T) {
	for _, threads := range []int{1, 3} {
		e, err := NewEngine(nil, threads)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var calls atomic.Int64
		leave := func(after int64) {
			if calls.Add(1) >= after { // all threads wait for it, or they go on meanwhile
				cancel()
				for !e.Par.left() { // the context tells it on a goroutine of its own
					runtime.Gosched()
				}
			}
		}
		done := e.Par.Until(ctx)
		e.Par.For(10000, func(int, int) { leave(50) })
		if n := calls.Load(); n < 50 || n >= 50+int64(threads) {
			t.Errorf("%d threads: %d iterations", threads, n)
		}
		done()

		const n = 900
		a := NewMatrix(n, n)
		for i := range n {
			a.Set(i, i, 2)
		}
		calls.Store(0)
		e.Par.Between = func(int) { calls.Add(1) }
		c, err := e.NewCholesky(a)
		if err != nil {
			t.Fatal(err)
		}
		whole := calls.Load()
		if got := c.LogDet(); math.Abs(got-n*math.Ln2) > 1e-9 {
			t.Errorf("log det %v after an interrupt", got)
		}
		ctx, cancel = context.WithCancel(t.Context())
		calls.Store(0)
		e.Par.Between = func(int) { leave(10) }
		done = e.Par.Until(ctx)
		_, _ = e.NewCholesky(a.Clone())
		done()
		cancel()
		if some := calls.Load(); some > 10+int64(threads) || whole < 20 {
			t.Errorf("%d threads: %d of %d iterations after an interrupt", threads, some, whole)
		}

		// An inverse, and what of it is no product.
		ctx, cancel = context.WithCancel(t.Context())
		calls.Store(0)
		done = e.Par.Until(ctx)
		b := NewMatrix(n, n)
		b.Set(0, n-1, 7)
		c.InverseTo(b)
		done()
		cancel()
		if some := calls.Load(); some > 10+int64(threads) || b.At(0, n-1) != 7 {
			t.Errorf("%d threads: %d iterations of an inverse after an interrupt, %v", threads, some, b.At(0, n-1))
		}
	}
}

package comm_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"bbgp.dev/internal/comm"
	"bbgp.dev/internal/comm/commtest"
)

// Whichever rank is told to stop, and by what, all of them stop at the same call, for the same reason.
func TestAgreed(t *testing.T) {
	errCause := errors.New("time budget")
	for _, c := range []struct {
		told int
		time bool // the end of a time within
		want error
	}{
		{0, false, context.Canceled}, {2, false, context.Canceled}, {1, true, context.DeadlineExceeded},
	} {
		var mu sync.Mutex
		calls := map[int]int{}
		err := commtest.Run(3, func(m comm.Comm) error {
			a := comm.NewAgreed(m)
			own, stop := context.WithCancel(context.Background())
			defer stop()
			ctx, done := a.Context(own)
			defer done()
			outer, end := ctx, time.Now().Add(time.Hour)
			if c.told == m.Rank() && c.time {
				end = time.Now().Add(5 * time.Millisecond)
			}
			ctx, done = comm.WithDeadlineCause(ctx, a, end, errCause)
			defer done()
			child, stopChild := context.WithCancel(ctx)
			defer stopChild()
			if c.told == m.Rank() && !c.time {
				time.AfterFunc(5*time.Millisecond, stop)
			}
			n := 0
			for ; ctx.Err() == nil; n++ {
				if child.Err() != nil {
					return errors.New("a context within is over before")
				}
				if err := a.AllGather(make([]float64, 3), []int{0, 1, 2, 3}); err != nil {
					return err
				}
			}
			if child.Err() == nil || (outer.Err() == nil) != c.time {
				return fmt.Errorf("context within: %v, around: %v", child.Err(), outer.Err())
			}
			mu.Lock()
			calls[n]++
			mu.Unlock()
			if ctx.Err() != c.want || m.Rank() == c.told && c.time && context.Cause(ctx) != errCause {
				return fmt.Errorf("ended by %v, cause %v", ctx.Err(), context.Cause(ctx))
			}
			return nil
		})
		if err != nil || len(calls) != 1 {
			t.Errorf("rank %d told: calls %v, %v", c.told, calls, err)
		}
	}
}

// Alone, contexts are what they always are.
func TestAgreedAlone(t *testing.T) {
	a := comm.NewAgreed(comm.Local())
	own, stop := context.WithCancel(context.Background())
	defer stop()
	ctx, done := a.Context(own)
	defer done()
	if ctx != own {
		t.Error("another context")
	}
	for _, c := range []comm.Comm{nil, comm.Local(), a} {
		ctx, done := comm.WithDeadlineCause(context.Background(), c, time.Now().Add(-1), nil)
		if ctx.Err() != context.DeadlineExceeded {
			t.Errorf("%v: %v", c, ctx.Err())
		}
		done()
	}
}

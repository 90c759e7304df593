package linalg

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"bbgp.dev/internal/comm"
)

// A made is what a task of the tests returns.
type made struct {
	Values []float64
	Name   string
}

// Every task is computed once, by a rank alone, and its result is on all of them, bit by bit.
func TestTasks(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 7} {
		for _, count := range []int{0, 1, 4, 15} {
			var calls atomic.Int64
			onRanks(t, ranks, func(e *Engine) error {
				if alone := e.Alone(); alone != e.Alone() || alone.Ranks() != 1 {
					return errors.New("what is alone has others, or changes")
				}
				got, err := Tasks(context.Background(), e, count, func(_ context.Context, i int) (made, error) {
					calls.Add(1)
					return made{[]float64{math.Copysign(0, -1), math.Sqrt(float64(i)), math.Inf(1)}, fmt.Sprint(i)}, nil
				})
				if err != nil || len(got) != count {
					return fmt.Errorf("%d results, %v", len(got), err)
				}
				for i, m := range got {
					if m.Name != fmt.Sprint(i) || !math.Signbit(m.Values[0]) || m.Values[1] != math.Sqrt(float64(i)) ||
						!math.IsInf(m.Values[2], 1) {
						return fmt.Errorf("result %d: %+v", i, m)
					}
				}
				return nil
			})
			want := count
			if count == 1 { // there is nothing to share
				want = ranks
			}
			if int(calls.Load()) != want {
				t.Errorf("%d ranks: %d calls for %d tasks", ranks, calls.Load(), count)
			}
		}
	}
}

// The first error of a loop is that of all ranks, also where a rank behind it fails before.
func TestTasksFail(t *testing.T) {
	errEven := errors.New("even")
	for _, ranks := range []int{1, 2, 3, 7} {
		onRanks(t, ranks, func(e *Engine) error {
			_, err := Tasks(context.Background(), e, 9, func(_ context.Context, i int) (int, error) {
				if i == 4 || i == 6 || i == 7 {
					return 0, fmt.Errorf("task %d: %w", i, errEven)
				}
				return i, nil
			})
			if !errors.Is(err, errEven) || err.Error() != "task 4: even" {
				return fmt.Errorf("error %v", err)
			}
			return nil
		})
	}
}

// A rank that is told to stop leaves its task, and then all of them stop.
func TestTasksStop(t *testing.T) {
	onRanks(t, 3, func(e *Engine) error {
		a := comm.NewAgreed(e.Comm)
		e.Comm = a
		own, stop := context.WithCancel(context.Background())
		defer stop()
		ctx, done := a.Context(own)
		defer done()
		ctx, end := comm.WithDeadlineCause(ctx, a, time.Now().Add(time.Hour), nil)
		defer end()
		if e.Rank() == 2 {
			stop()
		}
		_, err := Tasks(ctx, e, 6, func(ctx context.Context, i int) (int, error) {
			if i%3 == 2 {
				<-ctx.Done()
			}
			return i, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) || ctx.Err() == nil {
			return fmt.Errorf("error %v, context %v", err, ctx.Err())
		}
		return nil
	})
}

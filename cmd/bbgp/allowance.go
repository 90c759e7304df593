package main

import (
	"context"
	"errors"
	"time"

	"bbgp.dev/internal/comm"
	"bbgp.dev/linalg"
)

// An allowance is the time that --time gives a command, from its start on: reading, training,
// and what comes after it.
type allowance struct {
	began time.Time
	all   time.Duration // 0: no end
}

var errTimeOver = errors.New("the time budget is over")

// left is what bbgp.Options.Time can be, 0 for no end. Ranks, which begin at different
// moments, count from the training on.
func (w allowance) left(a *app) (time.Duration, error) {
	if w.all == 0 || a.together() {
		return w.all, nil
	}
	if d := w.all - time.Since(w.began); d > 0 {
		return d, nil
	}
	return 0, &budgetError{"the time budget was over before the training began"}
}

// within is ctx until the end of the time.
func (w allowance) within(ctx context.Context, e *linalg.Engine) (context.Context, context.CancelFunc) {
	if w.all == 0 {
		return ctx, func() {}
	}
	return comm.WithDeadlineCause(ctx, e.Comm, w.began.Add(w.all), errTimeOver)
}

// timed begins the allowance of a command, and ends the program if it is over before parameters and
// tables are read, which may wait for a pipe; read tells that they are.
func (a *app) timed(d time.Duration) (w allowance, read func()) {
	w = allowance{time.Now(), d}
	if d <= 0 || a.quit == nil || a.together() {
		return w, func() {}
	}
	t := time.AfterFunc(d, func() {
		a.farewell.Do(func() { a.last("the time budget was over before the tables were read: nothing is computed") })
		a.quit(exitBudget)
	})
	return w, func() { t.Stop() }
}

package comm

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// An Agreed is a Comm whose ranks stop together. A signal or the end of a time reaches one rank before the others, and
// a rank that leaves alone lets the others wait for ever; so each says with every AllGather whether it is to stop, and
// the contexts that are made here end on all ranks at the same call. What runs between two calls sees no change.
type Agreed struct {
	Comm
	watched []*agreedContext
	flags   []float64 // of each rank: a digit per context, 0 while it goes on
	off     []int
}

// The digits of the flags.
const (
	canceled = 1
	timeOver = 2
	base     = 3
	// mostWatched contexts at a time have digits that a float64 holds.
	mostWatched = 32
)

// NewAgreed returns a Comm over c.
func NewAgreed(c Comm) *Agreed {
	a := &Agreed{Comm: c, flags: c.Alloc(c.Size()), off: make([]int, c.Size()+1)}
	for r := range a.off {
		a.off[r] = r
	}
	return a
}

// AllGather is that of the Comm, behind a Poll.
func (a *Agreed) AllGather(x []float64, off []int) error {
	if err := a.Poll(); err != nil {
		return err
	}
	return a.Comm.AllGather(x, off)
}

// Poll lets the ranks agree on which contexts are over. Code that makes no other calls for long calls it, on all ranks.
func (a *Agreed) Poll() error {
	if a.Size() == 1 || len(a.watched) == 0 {
		return nil
	}
	mine := 0.0
	for i, w := range a.watched {
		mine += math.Pow(base, float64(i)) * float64(state(w.local))
	}
	a.flags[a.Rank()] = mine
	if err := a.Comm.AllGather(a.flags, a.off); err != nil {
		return err
	}
	for i, w := range a.watched {
		most := 0
		for _, f := range a.flags {
			most = max(most, int(math.Mod(math.Floor(f/math.Pow(base, float64(i))), base)))
		}
		if most > 0 {
			w.end(most)
		}
	}
	return nil
}

func state(ctx context.Context) int {
	switch ctx.Err() {
	case nil:
		return 0
	case context.DeadlineExceeded:
		return timeOver
	}
	return canceled
}

// An agreedContext is over when the ranks have agreed on it. It is one of the standard library below, so that contexts
// made of it end with it and not a moment later.
type agreedContext struct {
	context.Context
	local  context.Context // what this rank knows
	cancel context.CancelCauseFunc
	how    atomic.Int32
}

func (w *agreedContext) end(how int) {
	w.how.CompareAndSwap(0, int32(how))
	w.cancel(context.Cause(w.local)) // nil, which is context.Canceled, where another rank has ended it
}

// localKey asks a context for what this rank knows.
type localKey struct{}

// Here returns what this rank alone knows of ctx: it ends as soon as that ends here. What is computed between two
// calls, by this rank for all, may end with it if the next call tells the others.
func Here(ctx context.Context) context.Context {
	if local, ok := ctx.Value(localKey{}).(context.Context); ok {
		return local
	}
	return ctx
}

func (w *agreedContext) Value(key any) any {
	if key == (localKey{}) {
		return w.local
	}
	return w.Context.Value(key)
}

func (w *agreedContext) Err() error {
	err := w.Context.Err()
	if err != nil && w.how.Load() == timeOver {
		return context.DeadlineExceeded
	}
	return err
}

// Context returns a context that is over on all ranks from the same call on, soon after ctx is over on any of them.
// All ranks make it, and give it back by the function that is returned, in the order reverse to that of making.
func (a *Agreed) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	return a.watch(context.WithoutCancel(ctx), ctx)
}

func (a *Agreed) watch(parent, local context.Context) (context.Context, context.CancelFunc) {
	if a.Size() == 1 {
		return local, func() {}
	}
	if len(a.watched) == mostWatched {
		panic("comm: Context: too many")
	}
	w := &agreedContext{local: local}
	w.Context, w.cancel = context.WithCancelCause(parent)
	a.watched = append(a.watched, w)
	at := len(a.watched) - 1
	return w, func() {
		w.cancel(nil)
		a.watched = a.watched[:min(at, len(a.watched))]
	}
}

// WithDeadlineCause is context.WithDeadlineCause for a computation on c, nil for one alone: where ranks are joined, the
// context ends on all of them at the same call.
func WithDeadlineCause(ctx context.Context, c Comm, end time.Time, cause error) (context.Context, context.CancelFunc) {
	a, ok := c.(*Agreed)
	if !ok || a.Size() == 1 {
		return context.WithDeadlineCause(ctx, end, cause)
	}
	local, stop := context.WithDeadlineCause(Here(ctx), end, cause)
	agreed, done := a.watch(ctx, local)
	return agreed, func() {
		done()
		stop()
	}
}

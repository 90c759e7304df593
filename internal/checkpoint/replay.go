package checkpoint

import (
	"context"
	"time"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// An Estimator answers from a journal while that lasts, and writes to
// it what it computes. What is expensive, Rebuild, waits until it is needed.
type Estimator struct {
	Of      evidence.Estimator
	Journal *Journal
	Rows    int
	// While the journal answers: the last Rebuild, and the state behind it.
	pending *rebuild
	saved   []byte
	behind  bool // saved is of after the pending Rebuild
}

type rebuild struct {
	p   gp.Params
	opt evidence.Options
}

// Rebuild is that of the other estimator; it is put off while the journal answers.
func (o *Estimator) Rebuild(ctx context.Context, p gp.Params, opt evidence.Options) error {
	next := o.Journal.peek()
	if key := callKey("rebuild", p, opt); next != nil && next.Key == key { // it failed
		return replayedFault(o.Journal.Take(key))
	}
	before, behind := o.pending, o.behind
	o.pending, o.behind = &rebuild{p.Clone(), opt}, false
	if next != nil {
		return ctx.Err()
	}
	err := o.live(ctx)
	if err != nil {
		o.pending, o.behind = before, behind // the last one stands
	}
	return err
}

// Evaluate is that of the other estimator.
func (o *Estimator) Evaluate(ctx context.Context, p gp.Params, opt evidence.Options) (*evidence.Value, error) {
	key := callKey("evaluate", p, opt)
	if next := o.Journal.peek(); next != nil && next.Value != nil {
		refused := opt.Reject != nil && opt.Reject(next.Value.Upper)
		if !next.Value.Usable(o.Rows, len(p.Lengthscales), opt.Gradient && !refused) {
			o.Journal.Cut()
		}
	}
	if e := o.Journal.Take(key); e != nil {
		o.saved, o.behind = e.State, true
		if e.Value == nil {
			return nil, replayedFault(e)
		}
		return e.Value, ctx.Err()
	}
	if err := o.live(ctx); err != nil {
		return nil, err
	}
	opt.Keep = &keeper{o.Journal, key, time.Now()}
	ev, err := o.Of.Evaluate(ctx, p, opt)
	if ctx.Err() == nil {
		o.Journal.Add(o.entry(key, ev, err))
	}
	return ev, err
}

// live brings the objective to where the journal ends.
func (o *Estimator) live(ctx context.Context) error {
	if !o.behind {
		o.Restore()
	}
	if r := o.pending; r != nil {
		if err := o.Of.Rebuild(ctx, r.p, r.opt); err != nil {
			if ctx.Err() == nil {
				o.Journal.Add(o.entry(callKey("rebuild", r.p, r.opt), nil, err))
			}
			return err
		}
		o.pending = nil
	}
	o.Restore()
	return nil
}

// Restore gives the objective the state of the last answer.
func (o *Estimator) Restore() {
	if s, ok := o.Of.(evidence.Stateful); ok && o.saved != nil {
		s.Restore(o.saved)
	}
	o.saved = nil
}

func (o *Estimator) entry(key [32]byte, ev *evidence.Value, err error) *Entry {
	e := &Entry{Key: key, Value: ev}
	if s, ok := o.Of.(evidence.Stateful); ok {
		e.State = s.State()
	}
	if err != nil {
		e.Value, e.Fault, e.Singular = nil, err.Error(), evidence.NotFinite(err)
	}
	return e
}

// A replayedError is an error of an earlier run.
type replayedError struct {
	text     string
	singular bool
}

func (e *replayedError) Error() string { return e.text }

func (e *replayedError) Is(target error) bool { return e.singular && target == gp.ErrNotFinite }

func replayedFault(e *Entry) error { return &replayedError{e.Fault, e.Singular} }

// The states of the objectives. That of the exact one is empty.

package bbgp

import (
	"context"
	"math"
	"slices"

	"bbgp.dev/internal/gp"
)

// A stateful objective is one whose value depends on more than the last Rebuild
// and the arguments of Evaluate.
type stateful interface {
	state() []byte
	restore([]byte)
}

// A journaled objective answers from a journal while that lasts, and writes to
// it what it computes. What is expensive, Rebuild, waits until it is needed.
type journaled struct {
	obj     objective
	journal *Journal
	rows    int
	// While the journal answers: the last Rebuild, and the state behind it.
	pending *rebuild
	saved   []byte
	behind  bool // saved is of after the pending Rebuild
}

type rebuild struct {
	p   Params
	opt EvalOptions
}

// Rebuild is the objective's; it is put off while the journal answers.
func (o *journaled) Rebuild(ctx context.Context, p Params, opt EvalOptions) error {
	next := o.journal.peek()
	if key := callKey("rebuild", p, opt); next != nil && next.Key == key { // it failed
		return replayedFault(o.journal.take(key))
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

// Evaluate is the objective's.
func (o *journaled) Evaluate(ctx context.Context, p Params, opt EvalOptions) (*Evaluation, error) {
	key := callKey("evaluate", p, opt)
	if next := o.journal.peek(); next != nil && next.Value != nil && !next.Value.usable(o.rows, len(p.Lengthscales), opt.Gradient) {
		o.journal.cut()
	}
	if e := o.journal.take(key); e != nil {
		o.saved, o.behind = e.State, true
		if e.Value == nil {
			return nil, replayedFault(e)
		}
		return e.Value, ctx.Err()
	}
	if err := o.live(ctx); err != nil {
		return nil, err
	}
	ev, err := o.obj.Evaluate(ctx, p, opt)
	if ctx.Err() == nil {
		o.journal.add(o.entry(key, ev, err))
	}
	return ev, err
}

// usable says whether an evaluation from a file, whose sums may be right and its
// contents not, can be one of n rows and d inputs.
func (ev *Evaluation) usable(n, d int, gradient bool) bool {
	switch {
	case math.IsNaN(ev.Lower) || math.IsNaN(ev.Upper) || ev.Passes < 0 || ev.Probes < 0 || !(ev.Node >= 0 && ev.Node <= 1):
		return false
	case ev.Rejected:
		return true
	case len(ev.Alpha) != n || !allSane(ev.Alpha...) || !allSane(ev.LML, ev.StdErr, ev.MeanInfo) || ev.StdErr < 0:
		return false
	case ev.Rank < -1 || ev.Rank > n || ev.Neighbours < -1 || ev.Neighbours > n:
		return false
	case !gradient:
		return true
	}
	g := ev.Gradient
	return g != nil && len(g.Lengthscales) == d && allSane(g.Lengthscales...) && allSane(g.Mean, g.Variance, g.Noise)
}

// mostSane bounds what is believed of a file: a search multiplies a few such numbers, and
// must not overflow. A true evaluation beyond it is computed again.
const mostSane = 1e60

func allSane(v ...float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return !(math.Abs(x) <= mostSane) })
}

func allFinite(v ...float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return !gp.Finite(x) })
}

// live brings the objective to where the journal ends.
func (o *journaled) live(ctx context.Context) error {
	if !o.behind {
		o.restore()
	}
	if r := o.pending; r != nil {
		if err := o.obj.Rebuild(ctx, r.p, r.opt); err != nil {
			if ctx.Err() == nil {
				o.journal.add(o.entry(callKey("rebuild", r.p, r.opt), nil, err))
			}
			return err
		}
		o.pending = nil
	}
	o.restore()
	return nil
}

// restore gives the objective the state of the last answer.
func (o *journaled) restore() {
	if s, ok := o.obj.(stateful); ok && o.saved != nil {
		s.restore(o.saved)
	}
	o.saved = nil
}

func (o *journaled) entry(key [32]byte, ev *Evaluation, err error) *entry {
	e := &entry{Key: key, Value: ev}
	if s, ok := o.obj.(stateful); ok {
		e.State = s.state()
	}
	if err != nil {
		e.Value, e.Fault, e.Singular = nil, err.Error(), notFinite(err)
	}
	return e
}

// A replayedError is an error of an earlier run.
type replayedError struct {
	text     string
	singular bool
}

func (e *replayedError) Error() string { return e.text }

func (e *replayedError) Is(target error) bool { return e.singular && target == ErrNotFinite }

func replayedFault(e *entry) error { return &replayedError{e.Fault, e.Singular} }

// The states of the objectives. That of the exact one is empty.

func (o *krylovObjective) state() []byte {
	return append(floatState(o.wide, float64(o.finer)), floatState(o.v...)...)
}

func (o *krylovObjective) restore(b []byte) {
	if v := stateFloats(b); (len(v) == 2 || len(v) == 2+o.n) && allFinite(v...) {
		o.wide, o.finer, o.v = v[0], int(v[1]), slices.Clone(v[2:])
	}
}

func (s *sparse) state() []byte { return floatState(s.v.Data...) }

func (s *sparse) restore(b []byte) {
	if v := stateFloats(b); len(v) == len(s.v.Data) && allFinite(v...) {
		copy(s.v.Data, v)
	}
}

func (s *iterative) state() []byte {
	b, err := s.src.MarshalBinary()
	if err != nil {
		panic("bbgp: state: " + err.Error()) // that of a PCG cannot fail
	}
	return b
}

func (s *iterative) restore(b []byte) {
	// A state of another kind is of a damaged journal, whose checksum was right:
	// the generator keeps its seed.
	_ = s.src.UnmarshalBinary(b)
}

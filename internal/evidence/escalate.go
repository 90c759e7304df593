package evidence

import (
	"context"
	"errors"
	"fmt"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/gp"
)

// Answers to bounds that stop improving before they are eps apart, or to
// rounding that leaves the whitened matrix indefinite: float64 and ever stronger
// preconditioners, and at last the dense computation, if it fits the memory.

const (
	answerRank, answerNear = 192, 64 // the first answer at least
	answers                = 3
)

// NeedsEscalation says whether err calls for an answer.
func NeedsEscalation(err error) bool {
	var s *StagnationError
	return errors.As(err, &s) || errors.Is(err, ErrPrecision)
}

// stronger returns opt with twice the preconditioner, in float64.
func stronger(opt Options, n int) Options {
	opt.Rank = min(max(2*opt.Rank, answerRank), n/2)
	opt.Neighbours = min(max(2*opt.Neighbours, answerNear), n-1)
	opt.Precision, opt.Latents = "f64", 0
	return opt
}

// Retry calls run with as many answers as that takes, n rows. It returns the options
// that did it.
func Retry(opt Options, n int, run func(Options) error) (Options, error) {
	for try := 0; ; try++ {
		err := run(opt)
		if err == nil || !NeedsEscalation(err) || try == answers {
			return opt, err
		}
		opt = stronger(opt, n)
	}
}

// Escalate is Retry with a new preconditioner and an evaluation at p.
func Escalate(ctx context.Context, obj Estimator, n int, p gp.Params, opt Options) (*Value, Options, error) {
	return EscalateFrom(ctx, obj, n, p, p, opt)
}

// EscalateFrom is Escalate with a preconditioner for at, near p.
func EscalateFrom(ctx context.Context, obj Estimator, n int, at, p gp.Params,
	opt Options) (ev *Value, used Options, err error) {
	used, err = Retry(opt, n, func(opt Options) (err error) {
		if err = obj.Rebuild(ctx, at, opt); err == nil {
			ev, err = obj.Evaluate(ctx, p, opt)
		}
		return err
	})
	return ev, used, err
}

// NotFinite says whether err means that a point cannot be evaluated, as
// opposed to a run that has to end.
func NotFinite(err error) bool {
	return errors.Is(err, gp.ErrNotFinite) || NeedsEscalation(err)
}

// ErrPrecision asks for float64 products, and where those are in use already,
// for a better preconditioner.
var ErrPrecision = errors.New("the arithmetic is not accurate enough here")

// A StagnationError says that the bounds of an evaluation stopped improving
// before they were eps apart.
type StagnationError struct {
	Passes           int
	Gap              float64 // the best distance of the bounds, nats
	Precision        string
	Rank, Neighbours int // of the preconditioner
	Latents          int
}

func (e *StagnationError) Error() string {
	what := cost.Size{Rank: e.Rank, Neighbours: e.Neighbours, Latents: e.Latents}
	return fmt.Sprintf("the bounds stopped improving at %.3g nats after %d passes in %s (%s): a larger rank, more "+
		"neighbours, a larger noise or method exact would help", e.Gap, e.Passes, e.Precision, what)
}

// Is makes a stagnation in float32 one more reason for float64.
func (e *StagnationError) Is(target error) bool {
	return target == ErrPrecision && e.Precision == "f32"
}

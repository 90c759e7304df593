package bbgp

import (
	"context"
	"errors"
	"math"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/posterior"
)

// A time budget that ends before the first evaluation on all rows.
//
// The parameters that the search before it has found are kept, and marked. With
// noise d_i σ_n² + e_i between a and b, a <= K̂ <= n σ_f² + b and tr K̂ <= n (σ_f² + b)
// give, by Hadamard and by the smallest and the largest eigenvalue,
//
//	-2L - n log 2π <= n log(σ_f² + b) + |y-c|²/a,
//	-2L - n log 2π >= n log a + |y-c|²/(n σ_f² + b),
//
// which is little, and certain.

// timeIsUp says whether err means that the time of the fit is over, and not ctx.
func timeIsUp(ctx context.Context, err error) bool {
	return ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded)
}

// foundSoFar returns the parameters of the last candidate that was not dropped, or where the search
// for candidates has not come to its end, of its highest step.
func (f *fit) foundSoFar() (p Params, ok bool) {
	for i := range f.Starts {
		if c := &f.Starts[i]; c.Dropped == "" {
			p, ok = c.Parameters, true
		}
	}
	best := math.Inf(-1)
	for i := range f.Count.Trace {
		if s := &f.Count.Trace[i]; len(f.Starts) == 0 && s.Accepted && s.LML > best {
			p, ok, best = s.Parameters, true, s.LML
		}
	}
	return p, ok
}

// unevaluated makes m the model at p, of whose likelihood only the crude bounds are known.
func (f *fit) unevaluated(m *Model, p Params) {
	r, n := &m.Result, float64(f.Whole.X.Rows)
	low, high := math.Inf(1), 0.0
	for _, v := range gp.NoiseOf(p, f.Whole) {
		low, high = min(low, v), max(high, v)
	}
	square := 0.0
	for _, y := range f.Whole.Y {
		square += (y - p.Mean) * (y - p.Mean)
	}
	within, _, _ := f.Whole.WithinGroups(p.Noise)
	lower := within - 0.5*(n*math.Log(2*math.Pi)+n*math.Log(p.Variance+high)+square/low)
	upper := within - 0.5*(n*math.Log(2*math.Pi)+n*math.Log(low)+square/(n*p.Variance+high))
	m.Parameters = p.Clone()
	r.Parameters, r.LML, r.Lower, r.Upper, r.BoundKind = m.Parameters,
		lower, Bound(lower), Bound(upper), enum.BoundRigorous
	m.post = f.posterior(m.Parameters, posterior.PrecondSpec{Rank: -1, Neighbours: -1},
		posterior.Weights{Alpha: make([]float64, f.Whole.X.Rows), MeanError: math.Inf(1)})
	r.Stopped = enum.StoppedTime
	r.warn("the time was over before the first evaluation of all rows: the parameters are those of the " +
		"search before it, " +
		"the likelihood is hardly known, and the first prediction solves for the weights")
	f.cost(r)
}

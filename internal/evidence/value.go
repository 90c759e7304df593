package evidence

import (
	"context"
	"io"
	"math"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/gp"
)

// A Gradient holds the derivatives of the log marginal likelihood by the
// natural parameters.
type Gradient struct {
	Mean         float64   `json:"mean"`         // by the constant mean
	Lengthscales []float64 `json:"lengthscales"` // 0 where the lengthscale is +Inf
	Variance     float64   `json:"variance"`     // by the variance
	Noise        float64   `json:"noise"`        // by the noise variance
}

// Natural turns the derivatives by log ℓ in Lengthscales into those by ℓ.
func (g *Gradient) Natural(p gp.Params) {
	for j, l := range p.Lengthscales {
		g.Lengthscales[j] /= l
		if math.IsInf(l, 1) {
			g.Lengthscales[j] = 0
		}
	}
}

// An Value is the log marginal likelihood at one point.
type Value struct {
	// LML is the estimate, the middle of what [Lower, Upper] contain, which is its bias only; StdErr is
	// the standard error over the probes. Method exact has all three equal and 0.
	LML, Lower, Upper, StdErr float64
	Law                       Scatter // of what the probes leave open, see Interval
	// Gradient is nil unless asked for. That of method bbgp is of the likelihood with the probes as they are.
	Gradient *Gradient
	// Alpha approximates K̂⁻¹ (y - c).
	Alpha []float64
	// AlphaRest bounds r'K̂⁻¹r, r = y - c - K̂ Alpha, where Options.Weights has asked for it; else 0, unknown.
	// AlphaLeft is about K̂⁻¹r where rounding has kept that above what was asked for, nil if unknown.
	AlphaRest float64
	AlphaLeft []float64
	// MeanInfo is 1'P⁻¹1, about the information of c, 1'K̂⁻¹1; 0 if unknown.
	MeanInfo float64

	Passes, Products    int     // passes over the kernel matrix, columns multiplied
	Before              int     // of Passes those of the evaluation that this one goes on from, see Options.After
	Wasted              int     // passes in float32 that were not accurate enough
	Unsure32            float64 // nats that float32 products were foreseen to leave unsure
	Replayed            int     // passes made twice because the basis did not fit Memory
	Rank, Neighbours    int     // of the preconditioner
	Latents             int     // of it, where it is of that form
	Reason              string  // why it is as large as it is
	Probes, GradColumns int
	ProbesReason        string  // why there are so many
	Precision           string  // f32 or f64
	PrecisionReason     string  // why
	BoundKind           string  // rigorous or probable
	Product             string  // dense or h2
	Pairs               float64 // work of a product, in entries of a dense one
	Tolerance           float64 // of an entry of K in units of σ_f², for h2
	ProductDoubt        float64 // nats that what is left of it may do to LML
	Node                float64 // lower end of the spectrum of F⁻¹K̂F⁻ᵀ used; 0 if unknown
	Rejected            bool    // stopped early by Options.Reject; only Upper holds
	Seconds             float64
	SecondsByPhase      map[string]float64
}

// Options say how closely a point is evaluated.
type Options struct {
	cost.Request
	Eps  float64 // width of the bounds of the bias, nats
	Seed uint64
	// PrecondSeed is that of the preconditioner, 0 for Seed. One that is there serves again where it would be made
	// by the same request at the same place.
	PrecondSeed uint64
	Precision   string  // auto, f32 or f64
	Product     string  // auto, dense or h2
	Tolerance   float64 // of h2 in float32; 0 lets the noise choose
	Gradient    bool
	// Reported says that the gradient is for others than a training: derivatives are within 1e-4 of their terms.
	Reported bool
	// After is the Eps of the last evaluation, in dense products and not rejected, if this one is of the same
	// place, preconditioner and probes and goes on from it; 0 for one of its own.
	After float64
	// Weights is what r'K̂⁻¹r of Alpha is to be at most, as far as rounding allows; 0 for what the likelihood needs.
	Weights float64
	Memory  int64 // budget of the whole computation in bytes; 0 means none
	// Reject, if not nil, is asked during the evaluation with the upper bound
	// known so far; true ends it, Rejected set.
	Reject func(upper float64) bool
	// Keep, if not nil, keeps what a long evaluation has reached.
	Keep Keeper
}

// Reports says whether derivatives are reported.
func (o *Options) Reports() bool { return o.Gradient && o.Reported }

// A Keeper keeps what an evaluation that takes long has reached, for the same evaluation of a later run.
type Keeper interface {
	// Kept is all that is kept, nil where nothing is.
	Kept() io.Reader
	// Due says whether it is time to keep, where the evaluation is stopping or goes on.
	Due(stopping bool) bool
	// Keep adds what write writes to what is kept or, where fresh, puts it in its place. A w that fails takes no more
	// and says nothing.
	Keep(fresh bool, write func(w io.Writer))
}

// An Estimator evaluates the log marginal likelihood of one set of data. A
// stage of training begins with Rebuild, which fixes the preconditioner and
// the probes; within it Evaluate is a deterministic smooth function of p.
type Estimator interface {
	Rebuild(ctx context.Context, p gp.Params, opt Options) error
	Evaluate(ctx context.Context, p gp.Params, opt Options) (*Value, error)
}

// Note writes to s what the evaluation tells of others of as many rows.
func (ev *Value) Note(s *cost.History) {
	s.Passes, s.Neighbours, s.Rows, s.Unsure = ev.Passes-ev.Wasted, ev.Neighbours, len(ev.Alpha), ev.Unsure32
}

// Learn writes to s what the evaluation of a subset at p tells about those of more rows.
func (ev *Value) Learn(s *cost.History, p gp.Params) {
	if ev.BoundKind == "exact" {
		return
	}
	ev.Note(s)
	s.Rough = p.Kernel == "matern12"
	if ev.Precision == "f64" {
		s.Float32FailedAt = max(s.Float32FailedAt, p.Noise/p.Variance)
	}
}

// Usable says whether an evaluation from a file, whose sums may be right and its
// contents not, can be one of n rows and d inputs.
func (ev *Value) Usable(n, d int, gradient bool) bool {
	switch {
	case math.IsNaN(ev.Lower) || math.IsNaN(ev.Upper) || ev.Passes < 0 || ev.Before < 0 || ev.Probes < 0 ||
		!(ev.Node >= 0 && ev.Node <= 1):
		return false
	case ev.Rejected:
		return true
	case len(ev.Alpha) != n || !allSane(ev.Alpha...) || !allSane(ev.LML, ev.StdErr, ev.MeanInfo) || ev.StdErr < 0:
		return false
	case !(ev.AlphaRest >= 0) || len(ev.AlphaLeft) != 0 && len(ev.AlphaLeft) != n || !allSane(ev.AlphaLeft...):
		return false
	case ev.Rank < -1 || ev.Rank > n || ev.Neighbours < -1 || ev.Neighbours > n || ev.Latents < 0 || ev.Latents > n:
		return false
	case !gradient:
		return true
	}
	g := ev.Gradient
	return g != nil && len(g.Lengthscales) == d && allSane(g.Lengthscales...) && allSane(g.Mean, g.Variance, g.Noise)
}

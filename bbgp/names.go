package bbgp

import (
	"context"

	"bbgp.dev/internal/checkpoint"
	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/cost/calibrate"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/train"
	"bbgp.dev/linalg"
)

// Params are the parameters θ of a model, in natural units. Their JSON form is
//
//	{"kernel":"matern32","mean":0,"variance":1,"noise":1,"lengthscales":[1,null]}
//
// where null stands for a lengthscale of +Inf: the input has no influence.
// Reading demands every key but kernel (matern32 if absent) and mean (0 if
// absent), and refuses keys it does not know. The fields are
//
//	Kernel       string    // matern12, matern32, matern52 or gaussian
//	Mean         float64   // c
//	Variance     float64   // σ_f²
//	Noise        float64   // σ_n²
//	Lengthscales []float64 // ℓ_1..ℓ_D, +Inf allowed
//
// and the methods Clone, a copy with memory of its own, and Check(d int) error, which
// returns a *ParamError for the first parameter out of range for d inputs.
type Params = gp.Params

// DefaultParams returns the start of the paper: c = 0 and every other
// parameter 1, for d inputs. kernel "" means matern32.
func DefaultParams(kernel string, d int) Params { return gp.DefaultParams(kernel, d) }

// A ParamError says which parameter is out of range or missing. Key is its name in the
// JSON form, such as "noise" or "lengthscales[3]"; Reason says what is wrong.
type ParamError = gp.ParamError

// A DataError says which cell of the data cannot be used: Row, the index of the row from 0,
// -1 when no single row is at fault; Column, the name of the column or ""; and Reason.
type DataError = gp.DataError

// A Scaling standardises inputs and target: x' = (x - mean)/scale, with the mean of
// the training rows and their population standard deviation, 1 where that is 0. The fields
// are XMean and XScale, for each input, YMean and YScale; XTo and YTo standardise.
type Scaling = gp.Scaling

// An OptionError says which option has a value that cannot be used. Option is the name
// of the field of Options, in lower case; Reason says what is wrong.
type OptionError = gp.OptionError

// A MemoryError refuses a run that would not fit its budget, before it starts. Needed
// and Budget are bytes.
type MemoryError = gp.MemoryError

// ErrNotFinite is what an evaluation returns when the matrix or the value is
// not finite or not positive definite at the parameters asked for.
var ErrNotFinite = gp.ErrNotFinite

// Costs are what the parts of a computation cost one thread, all in one unit; the choices
// of method, preconditioner and probes are made by them. The default, cycles of a core with
// AVX-512, makes every choice, and with it the bits of every result, the same on all machines.
// Check tells whether they can be used, List gives them by name, Scale one of them.
type Costs = cost.Costs

// A Gradient holds the derivatives of the log marginal likelihood by the natural
// parameters: Mean, Lengthscales (0 where the lengthscale is +Inf), Variance, Noise.
type Gradient = evidence.Gradient

// An Interval is empty or holds a lower and an upper end.
type Interval = evidence.Interval

// A Bound is a float64 that is null in JSON where it is not finite.
type Bound = evidence.Bound

// A StagnationError says that bounds stopped improving before they were close enough.
type StagnationError = evidence.StagnationError

// A FileError says why a file is not a model, or a checkpoint, that this version can
// read: Path, "" for a stream, and Reason.
type FileError = gp.FileError

// A Journal keeps the evaluations of a fit in a file (Options.Journal). Close closes the
// file and returns the first error of a write; Replayed tells how many evaluations were
// taken from the file.
type Journal = checkpoint.Journal

// ResumeJournal goes on with the journal in a file, or starts one there. It
// fails with a *FileError if the file is something else.
func ResumeJournal(path string) (*Journal, error) { return checkpoint.ResumeJournal(path) }

// MeasureCosts measures the costs on this machine, in ns, by one thread of the
// routines of e, in some 0.5 s. The numbers differ from call to
// call, and so may the choices made by them. It returns ctx.Err() if ctx ends first.
func MeasureCosts(ctx context.Context, e *linalg.Engine) (Costs, error) {
	if err := checkCall(ctx, e); err != nil {
		return Costs{}, err
	}
	return calibrate.Measure(ctx, e)
}

// A Candidate is a place where the training on all rows may begin, and what became of
// it. The search finds candidates by several means, compares them by the likelihood of
// all rows, climbs from the best, and looks about where that ends; Result.Starts
// lists them all, in the order in which they were found. docs/USAGE.md tells its fields.
type Candidate = train.Candidate

// A Step is one evaluation of the training, for progress reports and plots.
// docs/USAGE.md tells its fields.
type Step = train.Step

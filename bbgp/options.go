package bbgp

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"time"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/train"
	"bbgp.dev/linalg"
)

// Options holds the settings of Fit and LogMarginalLikelihood. The zero value
// asks for the defaults.
type Options struct {
	// Kernel names the covariance function; "" means that of Start or of the parameters
	// asked for, and otherwise matern32. One that these contradict is an *OptionError.
	Kernel string
	// Method is bbgp, exact, sgpr (Titsias 2009), cglb (Artemev et al. 2021),
	// iterative (Gardner et al. 2018) or rr (Potapczynski et al. 2021); "" means
	// exact where the dense computation is the cheaper one and fits Memory, up to
	// some 700 rows, and bbgp otherwise. Whatever the method of training, predictions are
	// those of the exact process at the parameters found.
	Method enum.Method
	// Optimizer is lbfgs, levenberg or adam; "" means lbfgs, and adam for the
	// methods iterative and rr, whose values are too noisy for anything else.
	Optimizer enum.Optimizer
	// MaxSteps ends the training after so many evaluations on all rows, those of the
	// search of few rows not among them; 0 means 400.
	MaxSteps int
	// Eps bounds the bias of an evaluation and is the gain below which training
	// stops, in nats; 0 means 1.
	Eps float64
	// Probes is the number of random probes; 0 means 7, which with the target fill
	// the 8 columns of a tile, and for LogMarginalLikelihood 15 where they cost
	// hardly more. The last evaluation of a fit takes more, see LMLStdErr.
	Probes int
	// LMLStdErr is the standard error per row asked of the reported likelihood;
	// 0 means 1e-3.
	LMLStdErr float64
	// Rank and Neighbours set the preconditioner; 0 leaves the choice to the
	// program, a negative value means none.
	Rank, Neighbours int
	// NoDense lets predictions be made by products and bounds also up to 3000 rows,
	// where otherwise they come from a dense factor.
	NoDense bool
	// Costs are what method, rank, neighbours and probes are chosen by; nil means
	// StandardCosts. With those of Measure, which are never twice the same, nor
	// need the choices be, and the results.
	Costs *Costs
	// Precision is auto, f32 or f64; "" means auto. Derivatives that are reported take f64 unless f32 is asked for.
	Precision enum.Precision
	// Product is the form of products with the covariance matrix: dense, h2 (an
	// approximation of its far part to Tolerance, with up to three inputs in the distance),
	// or auto, h2 where that is less work; "" means auto.
	Product enum.Product
	// Tolerance bounds the error of an entry in units of σ_f² in form h2, for the products
	// of the iteration; corrections are made with a hundredth of it. 0 means 1e-3 of the
	// noise, less with more rows. It is made finer where what it does to a likelihood is not
	// far below Eps.
	Tolerance float64
	// NoScale takes inputs and target as they are.
	NoScale bool
	// ScaleFloor is added to the standard deviations that inputs and target are divided
	// by; 0 makes a fit the same in all units, gp.PaperFloor is what the paper does.
	ScaleFloor float64
	// NoGradient leaves the gradient out of LogMarginalLikelihood; Fit ignores it.
	NoGradient bool
	// FixMean keeps c at its start instead of fitting it.
	FixMean bool
	// Start is where training starts; nil means all ones, after a pre-fit on a
	// random subset.
	Start *Params
	// PrefitRows is the size of that subset, at most half of the rows; 0 means
	// 500, a negative value none, as in the paper.
	PrefitRows int
	// Restarts is the number of starts of the search, beside those of random rows; 0
	// means as many as the budget of the choice allows, a larger number more for those
	// who doubt.
	Restarts int
	// Seed starts every random stream of the run.
	Seed uint64
	// Memory is a budget in bytes; 0 means none. What cannot fit is refused
	// with a *MemoryError before it starts.
	Memory int64
	// Time ends the training with the best parameters so far; 0 means no limit.
	Time time.Duration
	// Engine computes; nil means the best routines of this CPU on GOMAXPROCS threads.
	Engine *linalg.Engine
	// Journal, if not nil, keeps the evaluations of Fit, or answers from those of
	// an earlier, interrupted run.
	Journal *Journal
	// Progress, if not nil, is called after each step, on the calling goroutine.
	Progress func(Step)

	guide        evidence.Prior // of few rows
	methodReason string         // why Method is what it is
	probesReason string         // why Probes are
	autoProbes   bool           // nobody has asked for a number
}

// settle fills the defaults in for n rows of d inputs and checks the rest.
func (o Options) settle(n, d int) (Options, error) {
	if o.Start != nil {
		if err := checkKernel(o.Kernel, *o.Start); err != nil {
			return o, err
		}
		o.Kernel = o.Start.Kernel
	}
	setDefault(&o.Kernel, gp.Families()[0])
	o.Costs = cost.OrStandard(o.Costs)
	if err := o.Costs.Check(); err != nil {
		return o, err
	}
	o.methodReason = "as asked"
	if o.Method == "" {
		var method string
		method, o.methodReason = cost.Method(n, d, o.Costs, o.Memory)
		o.Method = enum.Method(method)
	}
	stochastic := o.Method == enum.MethodIterative || o.Method == enum.MethodRR
	if stochastic {
		setDefault(&o.Optimizer, enum.OptimizerAdam)
	}
	setDefault(&o.Optimizer, enum.OptimizerLBFGS)
	if stochastic && o.Optimizer != enum.OptimizerAdam {
		return o, &OptionError{Option: "optimizer", Reason: fmt.Sprintf("method %s needs adam", o.Method)}
	}
	setDefault(&o.Precision, enum.PrecisionAuto)
	setDefault(&o.Product, enum.ProductAuto)
	if err := o.checkChoices(); err != nil {
		return o, err
	}
	if err := o.checkNumbers(); err != nil {
		return o, err
	}
	setDefault(&o.Eps, 1)
	setDefault(&o.LMLStdErr, 1e-3)
	if o.autoProbes, o.probesReason = o.Probes == 0, "as asked"; o.autoProbes {
		o.Probes, o.probesReason = cost.FewProbes, cost.UsualProbes
	}
	setDefault(&o.MaxSteps, 400)
	setDefault(&o.PrefitRows, 500)
	if o.Engine == nil {
		e, err := linalg.NewEngine(nil, runtime.GOMAXPROCS(0))
		if err != nil {
			return o, err
		}
		o.Engine = e
	}
	return o, nil
}

// checkKernel tells whether parameters are of the kernel that was asked for, "" for any.
func checkKernel(asked string, p Params) error {
	if asked == "" || asked == p.Kernel {
		return nil
	}
	return &OptionError{Option: "kernel", Reason: fmt.Sprintf(
		"%s is asked for, the parameters are of %s", asked, p.Kernel)}
}

// checkChoices returns an *OptionError for the first word that is not known.
func (o *Options) checkChoices() error {
	return cmp.Or(checkChoice("kernel", o.Kernel, gp.Families()), checkChoice("method", o.Method, enum.Methods()),
		checkChoice("optimizer", o.Optimizer, enum.Optimizers()),
		checkChoice("precision", o.Precision, enum.Precisions()), checkChoice("product", o.Product, enum.Products()))
}

func checkChoice[T ~string](option string, v T, of []T) error {
	if slices.Contains(of, v) {
		return nil
	}
	return &OptionError{Option: option, Reason: fmt.Sprintf("%q is not one of %v", v, of)}
}

// checkNumbers returns an *OptionError for the first number out of range.
func (o *Options) checkNumbers() error {
	switch {
	case !gp.Finite(o.Eps) || o.Eps < 0:
		return &OptionError{Option: "eps", Reason: fmt.Sprintf("%v is not a positive number", o.Eps)}
	case !gp.Finite(o.ScaleFloor) || o.ScaleFloor < 0:
		return &OptionError{Option: "scalefloor", Reason: fmt.Sprintf("%v is not a number of at least 0", o.ScaleFloor)}
	case !gp.Finite(o.LMLStdErr) || o.LMLStdErr < 0:
		return &OptionError{Option: "lmlstderr", Reason: fmt.Sprintf("%v is not a positive number", o.LMLStdErr)}
	case !(o.Tolerance >= 0 && o.Tolerance < 1):
		return &OptionError{Option: "tolerance", Reason: fmt.Sprintf("%v is not between 0 and 1", o.Tolerance)}
	case o.Probes < 0 || o.Probes > 63:
		return &OptionError{Option: "probes", Reason: fmt.Sprintf("%d is not between 1 and 63", o.Probes)}
	case o.Restarts < 0 || o.Restarts > train.MostRestarts:
		return &OptionError{Option: "restarts", Reason: fmt.Sprintf("%d is not between 0 and %d",
			o.Restarts, train.MostRestarts)}
	case o.MaxSteps < 0:
		return &OptionError{Option: "maxsteps", Reason: fmt.Sprintf("%d is negative", o.MaxSteps)}
	}
	return nil
}

func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// evalOptions returns what the options say about single evaluations.
func (o *Options) evalOptions() evidence.Options {
	e := evidence.Options{Eps: o.Eps, Seed: o.Seed, Precision: string(o.Precision),
		Product: string(o.Product), Tolerance: o.Tolerance,
		Gradient: true, Memory: o.Memory}
	size := func(v int) int {
		switch {
		case v == 0:
			return -1 // choose
		case v < 0:
			return 0
		}
		return v
	}
	e.Probes, e.Costs = o.Probes, o.Costs
	e.Rank, e.Neighbours = size(o.Rank), size(o.Neighbours)
	return e
}

// budget returns what the options say about memory.
func (o *Options) budget() *cost.Budget {
	return &cost.Budget{Method: string(o.Method), Bytes: o.Memory,
		Probes: o.Probes, Preconditioner: o.size(), Inducing: o.inducing(), Costs: o.Costs}
}

// size is that of the preconditioner as far as it is asked for.
func (o *Options) size() cost.Size {
	e := o.evalOptions()
	return cost.Size{Rank: e.Rank, Neighbours: e.Neighbours}
}

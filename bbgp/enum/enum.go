package enum

// A Method computes the likelihood that is climbed.
type Method string

// The methods; a fit of a target that is constant has needed none, MethodConstant.
const (
	MethodBBGP      Method = "bbgp"      // Burt, Artemev, van der Wilk 2021
	MethodExact     Method = "exact"     // by Cholesky
	MethodSGPR      Method = "sgpr"      // Titsias 2009
	MethodCGLB      Method = "cglb"      // Artemev et al. 2021
	MethodIterative Method = "iterative" // Gardner et al. 2018
	MethodRR        Method = "rr"        // Potapczynski et al. 2021
	MethodConstant  Method = "constant"  // told by results alone
)

// Methods returns those that Options.Method takes.
func Methods() []Method {
	return []Method{MethodBBGP, MethodExact, MethodSGPR, MethodCGLB, MethodIterative, MethodRR}
}

// An Optimizer climbs it.
type Optimizer string

// The optimisers.
const (
	OptimizerLBFGS     Optimizer = "lbfgs"     // a trust region with curvature pairs
	OptimizerLevenberg Optimizer = "levenberg" // the same with a Fisher information alone
	OptimizerAdam      Optimizer = "adam"      // Kingma, Ba 2015
)

// Optimizers returns those that Options.Optimizer takes.
func Optimizers() []Optimizer {
	return []Optimizer{OptimizerLBFGS, OptimizerLevenberg, OptimizerAdam}
}

// A Precision is that of products with the kernel matrix.
type Precision string

// The precisions; results tell float32 or float64.
const (
	PrecisionAuto Precision = "auto"
	PrecisionF32  Precision = "f32"
	PrecisionF64  Precision = "f64"
)

// Precisions returns those that Options.Precision takes.
func Precisions() []Precision { return []Precision{PrecisionAuto, PrecisionF32, PrecisionF64} }

// A Product is the form of products with the kernel matrix.
type Product string

// The forms of products; results tell dense or h2.
const (
	ProductAuto  Product = "auto"
	ProductDense Product = "dense"
	ProductH2    Product = "h2" // below n², for up to three inputs in the distance
)

// Products returns those that Options.Product takes.
func Products() []Product { return []Product{ProductAuto, ProductDense, ProductH2} }

// A BoundKind tells what bounds rest on.
type BoundKind string

// The kinds of bounds.
const (
	BoundExact    BoundKind = "exact"    // but for rounding, which they take in
	BoundRigorous BoundKind = "rigorous" // on no estimate
	BoundProbable BoundKind = "probable" // on random probes, or an estimate of an eigenvalue
)

// A Stopped tells why a training ended.
type Stopped string

// The ends of a training.
const (
	StoppedConverged Stopped = "converged"
	StoppedMaxSteps  Stopped = "max-steps"
	StoppedTime      Stopped = "time"
	StoppedCancelled Stopped = "cancelled"
	StoppedStalled   Stopped = "stalled" // it went no further, a warning says why
)

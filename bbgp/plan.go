package bbgp

import (
	"context"
	"math"
	"time"
)

// A Plan predicts what a fit will take: time and work from a fit of a random
// sample of the rows, memory from the sizes of what a fit keeps.
//
// Products and gradients grow as n², the preconditioner, the basis and the
// predictions of the end as n, a dense evaluation as n³; the pre-fit and the
// information matrix have a size of their own. The number of evaluations is
// that of the sample; how that of passes grows, two more evaluations tell, at the
// sample's result, on the sample and on four times its rows.
type Plan struct {
	Rows        int     `json:"rows"`
	Distinct    int     `json:"distinct_rows"`
	Inputs      int     `json:"inputs"`
	Method      string  `json:"method"`
	Precision   string  `json:"precision"`
	Rank        int     `json:"rank"`
	Neighbours  int     `json:"neighbours"`
	Probes      int     `json:"probes"`
	Evaluations int     `json:"evaluations"`
	Passes      int     `json:"passes"`
	Seconds     float64 `json:"seconds"`
	CPUSeconds  float64 `json:"cpu_seconds"`
	Bytes       int64   `json:"bytes"`       // at the peak
	LeastBytes  int64   `json:"least_bytes"` // the smallest budget that is accepted
	Sample      int     `json:"sample_rows"`
	Took        float64 `json:"sample_seconds"`
}

const (
	planRows         = 1500             // of the sample; half of the rows if that is less
	planTime         = 20 * time.Second // for the sample
	usualEvaluations = 16               // of a fit
	planSteps        = 4                // times the sample's rows, for the growth of passes
	precGrowth       = 1.2              // time of the preconditioner, as a power of n
	// A low-rank part covers more of a small sample, which overstates the growth.
	planShare  = 0.8
	leastPower = 0.2 // growth of passes, as a power of n
	mostPower  = 1
)

// NewPlan plans Fit(ctx, d, opt). It fails as Fit does, but for a budget of
// memory, which it leaves to the caller to compare.
func NewPlan(ctx context.Context, d *Data, opt Options) (*Plan, error) {
	if err := d.check(true); err != nil {
		return nil, err
	}
	began := time.Now()
	m := d.merged()
	n := m.X.Rows
	set, err := opt.settle(n, d.X.Cols)
	if err != nil {
		return nil, err
	}
	p := &Plan{Rows: d.X.Rows, Distinct: n, Inputs: d.X.Cols, Method: set.Method}
	p.Sample = min(n, max(min(n/2, planRows), 50))
	sub := m.Rows(subset(n, p.Sample, set.Seed+2))
	budget := set.Memory
	set.Time, set.Memory, set.Journal, set.Progress = planTime, 0, nil, nil
	fit, err := Fit(ctx, sub, set)
	if err != nil {
		return nil, err
	}
	r := &fit.Result
	p.Precision, p.Rank, p.Neighbours, p.Probes = r.Precision, r.Rank, r.Neighbours, r.Probes
	grow := float64(n) / float64(p.Sample)
	// Fits of samples differ more in their evaluations than fits of whole tables.
	did := float64(max(r.Evaluations, 1))
	p.Evaluations = min(int(math.Sqrt(did*usualEvaluations)+0.5), set.MaxSteps)
	more := float64(p.Evaluations) / did
	power, err := passPower(ctx, m, sub, fit.Parameters, set)
	if err != nil {
		return nil, err
	}
	p.Passes = int(more*float64(r.Passes)*math.Pow(grow, power) + 0.5)
	p.Seconds = growth(r, set.Method, more, grow, power)
	p.CPUSeconds = p.Seconds * r.CPUSeconds / r.Seconds
	rank := r.Rank
	if set.Rank == 0 { // others are tried on the way
		rank = max(rank, min(mostRank, n/4))
	}
	p.LeastBytes = set.leastBytes(n, d.X.Rows, d.X.Cols)
	set.Memory = budget
	p.Bytes = set.peakBytes(n, d.X.Rows, d.X.Cols, rank, r.Neighbours)
	p.Took = time.Since(began).Seconds()
	return p, nil
}

// passPower is the power of n that the passes of an evaluation at q grow with.
func passPower(ctx context.Context, d, sub *Data, q Params, opt Options) (float64, error) {
	rows := min(planSteps*sub.X.Rows, d.X.Rows)
	if opt.Method == "exact" || rows < 2*sub.X.Rows {
		return leastPower, nil
	}
	var passes [2]float64
	for k, s := range []*Data{sub, d.Rows(subset(d.X.Rows, rows, opt.Seed+2))} {
		rep, err := LogMarginalLikelihood(ctx, s, q, opt)
		if err != nil {
			return 0, err
		}
		passes[k] = float64(rep.Passes + 1) // 2 passes or 3 is chance
	}
	power := math.Log(passes[1]/passes[0]) / math.Log(float64(rows)/float64(sub.X.Rows))
	return min(max(planShare*power, leastPower), mostPower), nil
}

// growth is the time of a fit of grow times the rows of r's and more times its
// evaluations.
func growth(r *Result, method string, more, grow, power float64) float64 {
	left, once, each := r.Seconds, 0.0, 0.0
	take := func(sum *float64, phase string, power float64) {
		s := r.SecondsByPhase[phase]
		left -= s
		*sum += s * math.Pow(grow, power)
	}
	take(&once, "prefit", 0)
	take(&each, "fisher", 0)
	if method == "exact" {
		return once + more*(each+max(left, 0)*math.Pow(grow, 3))
	}
	take(&each, "kernel_products", 2+power)
	take(&each, "gradient", 2)
	take(&each, "preconditioner", precGrowth)
	take(&each, "reorthogonalisation", 1+2*power)
	take(&each, "small_eigenproblems", 2*power)
	take(&once, "final", 2+power)
	return once + more*(each+max(left, 0)*grow)
}

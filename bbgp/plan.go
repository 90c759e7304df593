package bbgp

import (
	"context"
	"math"
	"time"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/gp"
)

// A Plan predicts what a fit will take, from a fit of a random sample of the rows
// and one evaluation, at its result, on four times as many; memory from the sizes of
// what a fit keeps.
//
// In an evaluation products and gradients grow as n², the preconditioner and the
// basis as n, a dense one as n³; how its passes grow, the two sizes tell. The number
// of evaluations hardly depends on n; that of a sample, small and fitted to the last
// nat, tells less the smaller a part it is.
type Plan struct {
	Rows        int            `json:"rows"`          // rows that would be used
	Distinct    int            `json:"distinct_rows"` // rows once repeated ones are merged
	Inputs      int            `json:"inputs"`        // inputs
	Method      enum.Method    `json:"method"`
	Precision   enum.Precision `json:"precision"`
	Rank        int            `json:"rank"`
	Neighbours  int            `json:"neighbours"`
	Latents     int            `json:"latents"` // instead of both
	Probes      int            `json:"probes"`
	Product     enum.Product   `json:"product"`             // dense or h2
	ProductCPU  float64        `json:"product_cpu_seconds"` // CPU time of one product, about
	Evaluations int            `json:"evaluations"`         // evaluations that the fit would take, about
	Passes      int            `json:"passes"`              // passes over the kernel matrix, about
	Seconds     float64        `json:"seconds"`             // wall time of the fit, about
	CPUSeconds  float64        `json:"cpu_seconds"`         // CPU time of the fit, about
	Bytes       int64          `json:"bytes"`               // at the peak
	LeastBytes  int64          `json:"least_bytes"`         // the smallest budget that is accepted
	Sample      int            `json:"sample_rows"`         // rows of the sample that was fitted
	Took        float64        `json:"sample_seconds"`      // seconds that this took
}

const (
	planRows   = 1500             // of the sample; half of the rows if that is less
	planTime   = 60 * time.Second // for the sample
	planSteps  = 4                // times the sample's rows, for one evaluation
	finalWork  = 3.5              // evaluations that the end of a fit is worth
	adapted    = 0.8              // of the work of a first evaluation: later ones know what P should be
	precGrowth = 1.2              // time of the preconditioner, as a power of n
	// A low-rank part covers more of a small sample, which overstates the growth.
	planShare  = 0.8
	leastPower = 0.2 // growth of passes, as a power of n
	mostPower  = 1
)

// NewPlan plans Fit(ctx, d, opt). It fails as Fit does, but for a budget of
// memory, which it leaves to the caller to compare.
func NewPlan(ctx context.Context, d *Data, opt Options) (*Plan, error) {
	if err := checkFit(ctx, d, &opt); err != nil {
		return nil, err
	}
	began := time.Now()
	m := d.withTable(d.table().Merged())
	n := m.X.Rows
	set, err := opt.settle(n, d.X.Cols)
	if err != nil {
		return nil, err
	}
	p := &Plan{Rows: d.X.Rows, Distinct: n, Inputs: d.X.Cols, Method: set.Method}
	p.Sample = min(n, max(min(n/2, planRows), 50))
	rows := gp.Subset(n, p.Sample, set.Seed+2)
	if set.onMap(n, d.X.Cols) {
		rows = set.mapSample(m, p.Sample)
	}
	sub := m.Rows(rows)
	sample := set
	sample.Time, sample.Memory, sample.Journal, sample.Progress = planTime, 0, nil, nil
	fit, err := Fit(ctx, sub, sample)
	if err != nil {
		return nil, err
	}
	r := &fit.Result
	p.Precision, p.Rank, p.Neighbours, p.Probes = r.Precision, r.Rank, r.Neighbours, r.Probes
	size := set.size() // as far as it is known
	if set.Method == enum.MethodExact {
		p.dense(&set, r)
	} else if size, err = p.products(ctx, &set, fit, m, sub, sample); err != nil {
		return nil, err
	}
	p.LeastBytes = set.budget().LeastBytes(n, d.X.Rows, d.X.Cols)
	p.Bytes = set.budget().PeakBytes(n, d.X.Rows, d.X.Cols, size)
	p.Took = time.Since(began).Seconds()
	return p, nil
}

// evaluations returns how many the training of the sample took, beside those of its search, and how many that of all
// rows would take.
func (p *Plan) evaluations(set *Options, r *Result) (did, all, searched float64) {
	did = float64(max(r.Evaluations, 1))
	if set.config().SearchesDense(p.Sample, p.Inputs) {
		searched = float64(searchedBy(r))
		did = max(did-searched, 1)
	}
	grow := float64(p.Distinct) / float64(p.Sample)
	all = min(cost.UsualEvaluations*math.Pow(did/cost.UsualEvaluations, min(2/(grow*grow), 0.5)),
		float64(set.MaxSteps))
	return did, all, searched
}

// dense plans a fit by dense evaluations from that of the sample.
func (p *Plan) dense(set *Options, r *Result) {
	did, evals, searched := p.evaluations(set, r)
	p.Evaluations = int(evals + 0.5)
	n, d, config, more := p.Distinct, p.Inputs, set.config(), 1.0
	if searched > 0 && config.SearchesDense(n, d) {
		all, few := config.DenseEvaluations(n, d), config.DenseEvaluations(p.Sample, d)
		more = float64(all) * cost.ExactCost(n, d, set.Costs) / (float64(few) * cost.ExactCost(p.Sample, d, set.Costs))
		p.Evaluations += all
	}
	p.CPUSeconds = denseCPU(r, evals/did, float64(n)/float64(p.Sample), more)
	p.Seconds = p.CPUSeconds * r.Seconds / r.CPUSeconds
}

// products plans a fit by products from that of the rows of sub and one evaluation on more of those of d. It returns
// the size of P as far as it is known.
func (p *Plan) products(ctx context.Context, set *Options, fit *Model, d, sub *Data,
	opt Options) (size cost.Size, err error) {
	if set.onMap(p.Distinct, p.Inputs) {
		if size, done, err := p.onMap(ctx, set, fit, d); done || err != nil {
			return size, err
		}
	}
	r := &fit.Result
	_, evals, _ := p.evaluations(set, r)
	if set.onMap(p.Distinct, p.Inputs) { // with dense products, too
		evals = math.Min(evals, mapEvaluations)
	}
	at, power, err := evaluateLarger(ctx, d, sub, fit.Parameters, opt)
	if err != nil {
		return size, err
	}
	more := float64(p.Distinct) / float64(at.rows)
	square := 2.0
	if p.Product = at.Product; p.Product == enum.ProductH2 {
		square = 1
	}
	p.ProductCPU = at.SecondsByPhase["kernel_products"] / float64(max(at.Passes, 1)) * at.CPUSeconds / at.Seconds *
		math.Pow(more, square)
	p.Evaluations = int(evals + 0.5)
	p.Passes = int(adapted*evals*float64(at.Passes)*math.Pow(more, power) + 0.5)
	once := r.SecondsByPhase["prefit"] + r.SecondsByPhase["fisher"]
	p.CPUSeconds = once*r.CPUSeconds/r.Seconds + adapted*(evals+finalWork)*at.cpu(more, power)
	p.Seconds = p.CPUSeconds * at.Seconds / at.CPUSeconds
	return set.size(), nil
}

// A larger is an evaluation on that many rows.
type larger struct {
	*LMLReport
	rows int
}

// evaluateLarger evaluates at q on planSteps times the rows of sub, and on sub: the
// passes grow with that power of n.
func evaluateLarger(ctx context.Context, d, sub *Data, q Params, opt Options) (at larger, power float64, err error) {
	at.rows = min(planSteps*sub.X.Rows, d.X.Rows)
	if at.LMLReport, err = LogMarginalLikelihood(ctx,
		d.Rows(gp.Subset(d.X.Rows, at.rows, opt.Seed+2)), q, opt); err != nil {
		return at, 0, err
	}
	if at.rows < 2*sub.X.Rows {
		return at, leastPower, nil
	}
	few, err := LogMarginalLikelihood(ctx, sub, q, opt)
	if err != nil {
		return at, 0, err
	}
	// 2 passes or 3 is chance.
	power = math.Log(float64(at.Passes+1)/float64(few.Passes+1)) / math.Log(float64(at.rows)/float64(sub.X.Rows))
	return at, min(max(planShare*power, leastPower), mostPower), nil
}

// cpu is the CPU time of an evaluation on grow times the rows.
func (l larger) cpu(grow, power float64) float64 {
	left, sum, square := l.Seconds, 0.0, 2.0
	if l.Product == enum.ProductH2 {
		square = 1
	}
	for _, phase := range []struct {
		name  string
		power float64
	}{{"kernel_products", square + power}, {"gradient", square}, {"preconditioner", min(precGrowth, square+0.1)},
		{"reorthogonalisation", 1 + 2*power}, {"small_eigenproblems", 2 * power}} {
		s := l.SecondsByPhase[phase.name]
		left -= s
		sum += s * math.Pow(grow, phase.power)
	}
	return (sum + max(left, 0)*grow) * l.CPUSeconds / l.Seconds
}

// denseCPU is the CPU time of a dense fit of grow times the rows of r's and more
// times its evaluations; the information matrix has a size of its own, and the search
// takes search times that of r.
func denseCPU(r *Result, more, grow, search float64) float64 {
	once, each := r.SecondsByPhase["prefit"], r.SecondsByPhase["fisher"]
	left := max(r.Seconds-once-each, 0)
	return (search*once + more*(each+left*math.Pow(grow, 3))) * r.CPUSeconds / r.Seconds
}

// searchedBy is the number of evaluations that the search of a fit took.
func searchedBy(r *Result) (evals int) {
	for _, c := range r.Starts {
		evals += c.Evaluations
	}
	return evals
}

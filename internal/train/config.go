package train

import (
	"context"

	"bbgp.dev/internal/checkpoint"
	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// A Config says how a search and the training after it are made; it does not change.
type Config struct {
	Kernel, Method, Optimizer string
	MaxSteps                  int     // evaluations on all rows
	Eps                       float64 // nats that are worth a stage
	LMLStdErr                 float64 // of the last evaluation, a row
	Probes                    int
	FixMean                   bool
	Start                     *gp.Params // nil: the search finds it
	PrefitRows, Restarts      int
	Seed                      uint64
	Engine                    *linalg.Engine
	Journal                   *checkpoint.Journal // nil: none
	Costs                     *cost.Costs
	Budget                    *cost.Budget
	Eval                      evidence.Options // of evaluations

	// New returns the estimator of the method for standardised rows, ByProducts the one that
	// subsets are evaluated by, without what Wrap adds: journal, replicates and priors, of which
	// Complete leaves out the journal.
	New, ByProducts func(d *gp.Table, p gp.Params) (evidence.Estimator, error)
	Wrap, Complete  func(obj evidence.Estimator, d *gp.Table) evidence.Estimator
	// Foreseen, if not nil, is called with the first start before the first evaluation on all rows.
	Foreseen func(ctx context.Context, p gp.Params) error
}

// A Search finds the parameters of one table.
type Search struct {
	Config *Config
	Raw    *gp.Table // repeated rows merged
	Whole  *gp.Table // the same standardised
	Std    *gp.Table // what the search sees: Whole, or that with rounded cells
	Flat   []bool    // constant inputs
	Count  *Counters
	Seen   cost.History // in the fits of subsets
	Starts []Candidate  // what was tried, in the order in which it was found

	blind bool // near rows hold too little of the function, so that random rows lead the search
}

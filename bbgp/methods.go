package bbgp

import (
	"math"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/gp"
)

// newObjective returns the objective of o.Method on standardised data.
func (o *Options) newObjective(d *gp.Table, p Params) (objective, error) {
	obj, err := o.bareObjective(d, p)
	if err != nil {
		return nil, err
	}
	return o.wrap(obj, d), nil
}

// wrap adds what all methods share: the journal, the within-group term of merged
// rows, and the priors of few rows.
func (o *Options) wrap(obj objective, d *gp.Table) objective {
	if o.Journal != nil {
		obj = &journaled{obj: obj, journal: o.Journal, rows: d.X.Rows}
	}
	return o.complete(obj, d)
}

// complete is wrap without the journal.
func (o *Options) complete(obj objective, d *gp.Table) objective {
	if d.Repeats != nil {
		obj = mergedObjective{obj, d}
	}
	if o.guide.weight > 0 {
		obj = guided{obj, o.guide}
	}
	return obj
}

func (o *Options) bareObjective(d *gp.Table, p Params) (objective, error) {
	switch o.Method {
	case "exact":
		return newExactObjective(o.Engine, d, p)
	case "sgpr", "cglb":
		return newSparse(o.Engine, d, p, o.inducing(), o.Method == "cglb")
	case "iterative", "rr":
		return newIterative(o.Engine, d, p, o.Method == "rr")
	}
	return newKrylovObjective(o.Engine, d, p)
}

const sparseRank = 1000 // inducing rows of sgpr and cglb by default

// inducing is the number of inducing rows that is asked for.
func (o *Options) inducing() int {
	if o.Rank <= 0 {
		return sparseRank
	}
	return o.Rank
}

// lastProbes is the number of probes that brings the standard error of an
// evaluation with s probes and error se down to want, at least 16.
func lastProbes(s int, se, want float64) int {
	if s < 1 || !(want > 0) {
		return cost.MinLastProbes
	}
	need := math.Ceil(float64(s) * se * se / (want * want))
	return int(min(max(need, cost.MinLastProbes), cost.MaxLastProbes))
}

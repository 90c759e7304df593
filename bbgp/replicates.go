package bbgp

import (
	"context"

	"bbgp.dev/internal/gp"
)

// A mergedObjective adds the within-group term to the objective of merged rows,
// whatever the method.
type mergedObjective struct {
	objective
	d *gp.Table
}

// Evaluate evaluates the rows as they were before they were merged.
func (o mergedObjective) Evaluate(ctx context.Context, p Params, opt EvalOptions) (*Evaluation, error) {
	value, slope, _ := o.d.WithinGroups(p.Noise)
	if reject := opt.Reject; reject != nil {
		opt.Reject = func(upper float64) bool { return reject(upper + value) }
	}
	ev, err := o.objective.Evaluate(ctx, p, opt)
	if err != nil {
		return nil, err
	}
	ev.add(value)
	if ev.Gradient != nil {
		ev.Gradient.Noise += slope
	}
	return ev, nil
}

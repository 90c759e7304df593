package evidence

import (
	"context"

	"bbgp.dev/internal/gp"
)

// A WithReplicates adds the within-group term to the objective of merged rows,
// whatever the method.
type WithReplicates struct {
	Estimator
	D *gp.Table
}

// Evaluate evaluates the rows as they were before they were merged.
func (o WithReplicates) Evaluate(ctx context.Context, p gp.Params, opt Options) (*Value, error) {
	value, slope, _ := o.D.WithinGroups(p.Noise)
	if reject := opt.Reject; reject != nil {
		opt.Reject = func(upper float64) bool { return reject(upper + value) }
	}
	ev, err := o.Estimator.Evaluate(ctx, p, opt)
	if err != nil {
		return nil, err
	}
	ev.Add(value)
	off := roundingMargin * o.D.WithinRounding(p.Noise)
	ev.Lower, ev.Upper = ev.Lower-off, ev.Upper+off
	if ev.Gradient != nil {
		ev.Gradient.Noise += slope
	}
	return ev, nil
}

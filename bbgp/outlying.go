package bbgp

import (
	"context"
	"fmt"

	"bbgp.dev/bbgp/score"
	"bbgp.dev/internal/posterior"
)

// Outlying lists the rows that lie far off what the rows around them say, the farthest
// first: beyond 4 deviations and 6 spreads of the residuals. Rows that were merged
// because they repeat are one, with the index of their place in the order of places.
// Robust models, whose noise explains such rows, have none.
func (m *Model) Outlying(ctx context.Context, opt LeaveOutOptions) ([]score.Outlier, error) {
	if err := m.callable(ctx, opt.Engine); err != nil {
		return nil, err
	}
	if m.Result.ConstantTarget || m.Result.NoiseDF > 0 {
		return nil, nil
	}
	rows, err := m.post.Outlying(ctx, opt.Engine)
	return m.outliers(rows), err
}

// Around predicts the given training rows, each from its 60 nearest others at the
// parameters of the model: Z is N(0, 1) if the model is right. Rows count as in Trained.
// A model of a constant target, or of fewer than 8 rows, says nothing: nil.
func (m *Model) Around(ctx context.Context, rows []int, opt LeaveOutOptions) ([]score.Outlier, error) {
	if err := m.callable(ctx, opt.Engine); err != nil {
		return nil, err
	}
	if m.Result.ConstantTarget || len(rows) == 0 {
		return nil, nil
	}
	for _, i := range rows {
		if i < 0 || i >= m.N() {
			return nil, &DataError{Row: -1, Reason: fmt.Sprintf("there is no training row %d of %d", i, m.N())}
		}
	}
	around, err := m.post.Around(ctx, opt.Engine, rows)
	return m.outliers(around), err
}

// outliers returns residuals in the units of the target.
func (m *Model) outliers(rows []posterior.Residual) []score.Outlier {
	var out []score.Outlier
	s, y := &m.Scaling, m.post.Data().Y
	for _, r := range rows {
		out = append(out, score.Outlier{Row: r.Row, Y: s.YMean + s.YScale*y[r.Row], Mean: s.YMean + s.YScale*r.Mean,
			SDObs: s.YScale * r.SD, Z: r.Z})
	}
	return out
}

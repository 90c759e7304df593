package bbgp

import (
	"fmt"

	"bbgp.dev/bbgp/score"
)

// Score returns the errors of p against y. It needs deviations, and fails with a
// *DataError where the lengths differ.
func (m *Model) Score(p *Prediction, y []float64) (score.Score, error) {
	if p == nil || m == nil {
		return score.Score{}, &DataError{Row: -1, Reason: "no model or no prediction"}
	}
	if len(y) != len(p.Mean) || len(p.Laws) != len(y) {
		return score.Score{}, &DataError{Row: -1, Column: m.Target,
			Reason: fmt.Sprintf("%d truths, %d means, %d deviations", len(y), len(p.Mean), len(p.Laws))}
	}
	if len(y) == 0 {
		return score.Score{}, &DataError{Row: -1, Column: m.Target, Reason: "no rows to score"}
	}
	var s score.Sum
	for i, v := range y {
		s.Add(v, p.Laws[i])
	}
	return s.Score(m.Scaling.YScale), nil
}

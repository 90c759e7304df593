package bbgp

import (
	"fmt"

	"bbgp.dev/bbgp/score"
	"bbgp.dev/internal/gp"
)

// The scores of package score, which counts for all of the program.
type (
	Score      = score.Score
	Validation = score.Validation
	Coverage   = score.Coverage
	Outlier    = score.Outlier
)

// Validate compares y with normal predictions N(mean, sdObs²), all in the same units,
// and lists the given number of outliers; score.Validate does so for other laws, such
// as those of Prediction.Laws. It fails with a *DataError where lengths differ, nothing
// is there, or a number is not finite or a deviation not positive.
func Validate(y, mean, sdObs []float64, outliers int) (*Validation, error) {
	n := len(y)
	if len(mean) != n || len(sdObs) != n || n == 0 {
		return nil, &DataError{Row: -1, Reason: fmt.Sprintf("%d truths, %d means, %d deviations", n, len(mean),
			len(sdObs))}
	}
	laws := make([]score.Law, n)
	for i, sd := range sdObs {
		if !gp.Finite(y[i]) || !gp.Finite(mean[i]) || !gp.Finite(sd) || sd <= 0 {
			return nil, &DataError{Row: i, Reason: fmt.Sprintf("%v predicted as %v ± %v", y[i], mean[i], sd)}
		}
		laws[i] = score.Normal(mean[i], sd)
	}
	return score.Validate(y, laws, outliers)
}

// Score returns the errors of p against y. It needs deviations, and fails with a
// *DataError where the lengths differ.
func (m *Model) Score(p *Prediction, y []float64) (Score, error) {
	if p == nil || m == nil {
		return Score{}, &DataError{Row: -1, Reason: "no model or no prediction"}
	}
	if len(y) != len(p.Mean) || len(p.Laws) != len(y) {
		return Score{}, &DataError{Row: -1, Column: m.Target,
			Reason: fmt.Sprintf("%d truths, %d means, %d deviations", len(y), len(p.Mean), len(p.Laws))}
	}
	if len(y) == 0 {
		return Score{}, &DataError{Row: -1, Column: m.Target, Reason: "no rows to score"}
	}
	var s score.Sum
	for i, v := range y {
		s.Add(v, p.Laws[i])
	}
	return s.Score(m.Scaling.YScale), nil
}

package main

import (
	"math"

	"bbgp.dev/bbgp"
)

// A scoreSum adds up the score of predictions as they come.
type scoreSum struct {
	n, covered, withSD int
	square, nlpd       float64
}

// add counts a prediction for the target y; sd is that of an observation. NaN
// stands for what there is not.
func (s *scoreSum) add(y, mean, sd float64) {
	if math.IsNaN(y) {
		return
	}
	s.n++
	s.square += (y - mean) * (y - mean)
	if math.IsNaN(sd) || sd <= 0 {
		return
	}
	z := (y - mean) / sd
	s.withSD++
	s.nlpd += (z*z+math.Log(2*math.Pi))/2 + math.Log(sd)
	if math.Abs(z) <= 1.959963984540054 { // 97.5 % quantile of N(0, 1)
		s.covered++
	}
}

// score returns the means, nil without targets. scale is the standard deviation
// that the model divides the target by.
func (s *scoreSum) score(scale float64) *bbgp.Score {
	if s.n == 0 {
		return nil
	}
	r := &bbgp.Score{N: s.n, RMSE: math.Sqrt(s.square / float64(s.n))}
	r.RMSEStd = r.RMSE / scale
	if s.withSD > 0 {
		r.NLPD = s.nlpd / float64(s.withSD)
		r.NLPDStd = r.NLPD - math.Log(scale)
		r.Coverage95 = float64(s.covered) / float64(s.withSD)
	}
	return r
}

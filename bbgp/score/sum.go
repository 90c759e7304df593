package score

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// A Score compares predictions with the truth. NaN, null in JSON, stands for what
// does not exist: the density of a law without one, an interval that was not computed,
// the share of a variance of 0.
type Score struct {
	N          int     `json:"n"`          // rows
	RMSE       float64 `json:"rmse"`       // root mean squared error of the mean
	NLPD       float64 `json:"nlpd"`       // mean negative log density of the truth
	Coverage95 float64 `json:"coverage95"` // share of truths in the central 95 % interval of an observation
	RMSEStd    float64 `json:"rmse_std"`   // the same in standardised units of the target
	NLPDStd    float64 `json:"nlpd_std"`   // the same in standardised units
	R2         float64 `json:"r2"`         // share of the variance of the truths that is explained
}

// A jsonScore is a Score with null for what does not exist.
type jsonScore struct {
	N          int      `json:"n"`
	RMSE       *float64 `json:"rmse"`
	NLPD       *float64 `json:"nlpd"`
	Coverage95 *float64 `json:"coverage95"`
	RMSEStd    *float64 `json:"rmse_std"`
	NLPDStd    *float64 `json:"nlpd_std"`
	R2         *float64 `json:"r2"`
}

// MarshalJSON writes the score.
func (s Score) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonScore{s.N, orNull(s.RMSE), orNull(s.NLPD), orNull(s.Coverage95),
		orNull(s.RMSEStd), orNull(s.NLPDStd), orNull(s.R2)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Score) UnmarshalJSON(b []byte) error {
	var j jsonScore
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*s = Score{j.N, orNaN(j.RMSE), orNaN(j.NLPD), orNaN(j.Coverage95), orNaN(j.RMSEStd), orNaN(j.NLPDStd), orNaN(j.R2)}
	return nil
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

func orNull(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// A Sum adds up the score of rows as they come.
type Sum struct {
	n, laws, inside int
	square, nlpd    float64
	mean, spread    float64 // of the truths: Welford
}

// AddMean counts a row whose mean alone was predicted.
func (s *Sum) AddMean(y, mean float64) {
	s.n++
	s.square += (y - mean) * (y - mean)
	delta := y - s.mean
	s.mean += delta / float64(s.n)
	s.spread += delta * (y - s.mean)
}

// Add counts a row with its law.
func (s *Sum) Add(y float64, l Law) {
	s.AddMean(y, l.Mean)
	s.laws++
	s.nlpd -= l.LogDensity(y)
	if l.Beyond(y) >= 0.05 {
		s.inside++
	}
}

// N is the number of rows so far.
func (s *Sum) N() int { return s.n }

// Score returns the means. scale is the standard deviation that the target was
// divided by. Densities and intervals are scored where every row had a law.
func (s *Sum) Score(scale float64) Score {
	n, none := float64(s.n), math.NaN()
	r := Score{N: s.n, RMSE: math.Sqrt(s.square / n), NLPD: none, Coverage95: none, R2: none}
	if s.laws == s.n {
		r.NLPD, r.Coverage95 = s.nlpd/n, float64(s.inside)/n
	}
	if s.spread > 0 {
		r.R2 = 1 - s.square/s.spread
	}
	r.RMSEStd, r.NLPDStd = r.RMSE/scale, r.NLPD-math.Log(scale)
	return r
}

// A Validation adds to the score what single rows tell.
type Validation struct {
	N           int
	RMSE        float64
	NLPD        float64 // NaN, null in JSON, where a law has no density
	CRPS        float64 // mean continuous ranked probability score
	Coverage95  float64
	Calibration []Coverage
	Outliers    []Outlier // the least probable first
}

// MarshalJSON writes the validation.
func (v Validation) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		N           int        `json:"n"`
		RMSE        *float64   `json:"rmse"`
		NLPD        *float64   `json:"nlpd"`
		CRPS        *float64   `json:"crps"`
		Coverage95  *float64   `json:"coverage95"`
		Calibration []Coverage `json:"calibration"`
		Outliers    []Outlier  `json:"outliers"`
	}{v.N, orNull(v.RMSE), orNull(v.NLPD), orNull(v.CRPS), orNull(v.Coverage95), v.Calibration, v.Outliers})
}

// A Coverage is the share of rows that lie in the central interval of a
// probability.
type Coverage struct {
	Probability float64 `json:"probability"`
	Share       float64 `json:"share"`
}

// An Outlier is a row that its prediction does not explain: Z = (Y - Mean)/SDObs, 0
// where Y is Mean.
type Outlier struct {
	Row               int // from 0
	Y, Mean, SDObs, Z float64
}

// MarshalJSON writes the row; z is null where the deviation is 0.
func (o Outlier) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Row   int      `json:"row"`
		Y     float64  `json:"y"`
		Mean  float64  `json:"mean"`
		SDObs *float64 `json:"sd_obs"`
		Z     *float64 `json:"z"`
	}{o.Row, o.Y, o.Mean, orNull(o.SDObs), orNull(o.Z)})
}

// levels are the probabilities of the calibration table.
var levels = []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99}

// Residual returns (y - mean)/sd, 0 where the numerator is.
func Residual(y, mean, sd float64) float64 {
	if y == mean {
		return 0
	}
	return (y - mean) / sd
}

// Validate compares y with laws and lists the given number of outliers. It fails
// where lengths differ, nothing is there, or a number is not finite.
func Validate(y []float64, laws []Law, outliers int) (*Validation, error) {
	n := len(y)
	if len(laws) != n || n == 0 {
		return nil, fmt.Errorf("%d truths, %d predictions", n, len(laws))
	}
	sum, v := Sum{}, &Validation{N: n}
	rows, beyond := make([]Outlier, n), make([]float64, n)
	for i, l := range laws {
		if bad := y[i] + l.Mean; math.IsNaN(bad) || math.IsInf(bad, 0) || !(l.Fixed >= 0 && l.Mixed >= 0) {
			return nil, fmt.Errorf("row %d: %v predicted as %v with variance %v", i+1, y[i], l.Mean, l.Fixed+l.Mixed)
		}
		sum.Add(y[i], l)
		v.CRPS += l.CRPS(y[i]) / float64(n)
		sd := l.SD()
		beyond[i] = l.Beyond(y[i])
		rows[i] = Outlier{Row: i, Y: y[i], Mean: l.Mean, SDObs: sd, Z: Residual(y[i], l.Mean, sd)}
	}
	s := sum.Score(1)
	v.RMSE, v.NLPD, v.Coverage95 = s.RMSE, s.NLPD, s.Coverage95
	slices.SortStableFunc(rows, func(a, b Outlier) int {
		return cmp.Or(cmp.Compare(beyond[a.Row], beyond[b.Row]), cmp.Compare(math.Abs(b.Z), math.Abs(a.Z)))
	})
	v.Outliers = rows[:min(max(outliers, 0), n)]
	slices.Sort(beyond)
	for _, p := range levels {
		// 1 - p is rounded, a row on the border counts as inside.
		out, _ := slices.BinarySearch(beyond, (1-p)*(1-1e-12))
		v.Calibration = append(v.Calibration, Coverage{p, float64(n-out) / float64(n)})
	}
	return v, nil
}

package bbgp

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A Validation compares predictive distributions N(mean, sd²) with what was
// observed.
type Validation struct {
	N           int        `json:"n"`
	RMSE        float64    `json:"rmse"`
	NLPD        float64    `json:"nlpd"` // mean negative log density
	CRPS        float64    `json:"crps"` // mean continuous ranked probability score
	Coverage95  float64    `json:"coverage95"`
	Calibration []Coverage `json:"calibration"`
	Outliers    []Outlier  `json:"outliers"` // the largest |Z| first
}

// A Coverage is the share of rows that lie in the central interval of a
// probability.
type Coverage struct {
	Probability float64 `json:"probability"`
	Share       float64 `json:"share"`
}

// An Outlier is a row that its prediction does not explain: Z = (Y - Mean)/SDObs.
type Outlier struct {
	Row   int     `json:"row"` // from 0
	Y     float64 `json:"y"`
	Mean  float64 `json:"mean"`
	SDObs float64 `json:"sd_obs"`
	Z     float64 `json:"z"`
}

// validationLevels are the probabilities of the calibration table.
var validationLevels = []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99}

// Validate compares y with predictions, all in the same units, and lists the
// given number of outliers. The score of a row with z = (y - mean)/sd is
//
//	CRPS = sd (z (2Φ(z) - 1) + 2φ(z) - π^-1/2)     (Gneiting and Raftery 2007)
//
// It fails with a *DataError where lengths differ, nothing is there, or a number
// is not finite or a deviation not positive.
func Validate(y, mean, sdObs []float64, outliers int) (*Validation, error) {
	n := len(y)
	if len(mean) != n || len(sdObs) != n || n == 0 {
		return nil, &DataError{Row: -1, Reason: fmt.Sprintf("%d truths, %d means, %d deviations", n, len(mean), len(sdObs))}
	}
	v, rows, size := &Validation{N: n}, make([]Outlier, n), make([]float64, n)
	for i := range n {
		sd := sdObs[i]
		if !finite(y[i]) || !finite(mean[i]) || !finite(sd) || sd <= 0 {
			return nil, &DataError{Row: i, Reason: fmt.Sprintf("%v predicted as %v ± %v", y[i], mean[i], sd)}
		}
		e := y[i] - mean[i]
		z := e / sd
		rows[i], size[i] = Outlier{i, y[i], mean[i], sd, z}, math.Abs(z)
		v.RMSE += e * e
		v.NLPD += z*z/2 + math.Log(sd) + math.Log(2*math.Pi)/2
		v.CRPS += sd * (z*math.Erf(z/math.Sqrt2) + math.Sqrt(2/math.Pi)*math.Exp(-z*z/2) - 1/math.Sqrt(math.Pi))
	}
	v.RMSE, v.NLPD, v.CRPS = math.Sqrt(v.RMSE/float64(n)), v.NLPD/float64(n), v.CRPS/float64(n)
	slices.Sort(size)
	share := func(p float64) float64 {
		inside, _ := slices.BinarySearch(size, math.Nextafter(math.Sqrt2*math.Erfinv(p), math.Inf(1)))
		return float64(inside) / float64(n)
	}
	for _, p := range validationLevels {
		v.Calibration = append(v.Calibration, Coverage{p, share(p)})
	}
	v.Coverage95 = share(0.95)
	slices.SortStableFunc(rows, func(a, b Outlier) int { return cmp.Compare(math.Abs(b.Z), math.Abs(a.Z)) })
	v.Outliers = rows[:min(max(outliers, 0), n)]
	return v, nil
}

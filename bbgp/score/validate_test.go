package score

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestValidate(t *testing.T) {
	// One row at z = 1, sd 2: φ and Φ by hand.
	v, err := Validate([]float64{3}, normals([]float64{1}, []float64{2}), 5)
	if err != nil {
		t.Fatal(err)
	}
	phi := math.Exp(-0.5) / math.Sqrt(2*math.Pi)
	crps := 2 * ((2*0.8413447460685429 - 1) + 2*phi - 1/math.Sqrt(math.Pi))
	if math.Abs(v.CRPS-crps) > 1e-12 || v.RMSE != 2 ||
		math.Abs(v.NLPD-(0.5+math.Log(2)+0.5*math.Log(2*math.Pi))) > 1e-12 {
		t.Errorf("%+v, want CRPS %v", v, crps)
	}
	if len(v.Outliers) != 1 || v.Outliers[0].Z != 1 {
		t.Errorf("outliers %+v", v.Outliers)
	}
	// |z| = 1 is within the central 68.27 %, not within 60 %.
	for _, c := range v.Calibration {
		if want := c.Probability > 0.6827; (c.Share == 1) != want {
			t.Errorf("%+v", c)
		}
	}

	// The score is the mean of |X - y| - |X - X'|/2 for draws X, X'.
	rng := rand.New(rand.NewPCG(1, 2))
	sum, n := 0.0, 400000
	for range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		sum += math.Abs(a-0.7) - math.Abs(a-b)/2
	}
	if v, err = Validate([]float64{0.7, 0.7}, normals([]float64{0, 0}, []float64{1, 1}), 0); err != nil ||
		math.Abs(v.CRPS-sum/float64(n)) > 5e-3 {
		t.Errorf("CRPS %v, by sampling %v; %v", v.CRPS, sum/float64(n), err)
	}

	// Normal draws are calibrated; the rows set far off come first.
	y, mean, sd := make([]float64, 4000), make([]float64, 4000), make([]float64, 4000)
	for i := range y {
		sd[i] = 1 + rng.Float64()
		y[i] = sd[i] * rng.NormFloat64()
	}
	y[17], y[5] = 40, -30
	if v, err = Validate(y, normals(mean, sd), 2); err != nil {
		t.Fatal(err)
	}
	for _, c := range v.Calibration {
		if math.Abs(c.Share-c.Probability) > 0.03 {
			t.Errorf("%+v", c)
		}
	}
	if v.Outliers[0].Row != 17 && v.Outliers[0].Row != 5 || len(v.Outliers) != 2 {
		t.Errorf("outliers %+v", v.Outliers)
	}

	for _, c := range [][3][]float64{{{1}, {1, 2}, {1, 1}}, {{}, {}, {}}, {{math.NaN()}, {1}, {1}}} {
		if _, err := Validate(c[0], normals(c[1], c[2]), 1); err == nil {
			t.Errorf("%v: no error", c)
		}
	}
}

func normals(mean, sd []float64) []Law {
	laws := make([]Law, len(mean))
	for i := range laws {
		laws[i] = Normal(mean[i], sd[i])
	}
	return laws
}

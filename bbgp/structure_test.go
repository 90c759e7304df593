package bbgp

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// A model without structure is the process that stands for it: its likelihood and its
// predictions are those of dense computation at its parameters, whatever is known of
// the noise, and its mean is that of the rows, by their precision.
func TestNoStructure(t *testing.T) {
	for name, set := range map[string]func(d *Data, rng *rand.Rand){
		"plain":   func(*Data, *rand.Rand) {},
		"weights": func(d *Data, rng *rand.Rand) { d.NoiseScale = positive(len(d.Y), rng) },
		"known":   func(d *Data, rng *rand.Rand) { d.NoiseExtra = positive(len(d.Y), rng) },
		"both": func(d *Data, rng *rand.Rand) {
			d.NoiseScale, d.NoiseExtra = positive(len(d.Y), rng), positive(len(d.Y), rng)
		},
		"a repeat": func(d *Data, _ *rand.Rand) { copy(d.X.Row(3), d.X.Row(4)) },
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(10, 10))
			const n = 14
			d := &Data{X: linalg.NewMatrix(n, 2), Y: make([]float64, n)}
			for i := range n {
				d.X.Set(i, 0, rng.Float64())
				d.X.Set(i, 1, rng.Float64())
				d.Y[i] = 300 + 20*rng.NormFloat64()
			}
			set(d, rng)
			for i := range d.Y { // as the table says of its rows
				noise := 400 * at(d.NoiseScale, i, 1)
				if d.NoiseExtra != nil {
					d.NoiseExtra[i] *= 400
					noise = d.NoiseExtra[i]
				}
				d.Y[i] = 300 + math.Sqrt(noise)*rng.NormFloat64()
			}
			m, err := Fit(t.Context(), d, Options{Engine: gptest.Engine(t)})
			if err != nil {
				t.Fatal(err)
			}
			r := &m.Result
			if !r.NoStructure || r.DF != n-1 || !strings.Contains(strings.Join(r.Warnings, "\n"),
				"no structure found") || len(r.Irrelevant) != 2 {
				t.Fatalf("structure in noise: %+v", r)
			}
			lml, err := LogMarginalLikelihood(t.Context(), d, m.Parameters,
				Options{Engine: gptest.Engine(t), Method: "exact"})
			if err != nil {
				t.Fatal(err)
			}
			gptest.CloseTo(t, "LML", r.LML, lml.LML, 1e-9)
			p, err := m.Predict(t.Context(), d.X, PredictOptions{SD: true, NoiseScale: d.NoiseScale,
				NoiseExtra: d.NoiseExtra})
			if err != nil {
				t.Fatal(err)
			}
			// Weighted mean and its error, by hand.
			unit := m.Scaling.YScale * m.Scaling.YScale
			a, b := 0.0, 0.0
			for i, y := range d.Y {
				w := 1 / (unit*m.Parameters.Noise*at(d.NoiseScale, i, 1) + at(d.NoiseExtra, i, 0))
				a, b = a+w, b+w*y
			}
			gptest.CloseTo(t, "mean", p.Mean[0], b/a, 1e-9)
			l := m.lawyer()
			gptest.CloseTo(t, "sd", p.SD[5]/l.sd, math.Sqrt(1/(a+a/n)), 1e-6)
			if lo, hi := p.Mean[2]-1.96*p.SDObs[2], p.Mean[2]+1.96*p.SDObs[2]; lo > 290 || hi < 310 {
				t.Errorf("interval [%v, %v]", lo, hi)
			}
		})
	}
}

func positive(n int, rng *rand.Rand) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 0.5 + 2*rng.Float64()
	}
	return v
}

// Of many rows of noise alone an observation has the variance of the function and that of the noise.
func TestNoStructureOfMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 15))
	d := &Data{X: linalg.NewMatrix(1500, 1), Y: make([]float64, 1500)}
	for i := range d.Y {
		d.X.Data[i], d.Y[i] = rng.Float64(), rng.NormFloat64()
	}
	m, err := Fit(t.Context(), d, Options{Engine: gptest.Engine(t)})
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Predict(t.Context(), d.X.Sub(0, 2, 0, 1), PredictOptions{SD: true})
	if err != nil || !m.Result.NoStructure {
		t.Fatalf("%v, %+v", err, m.Result)
	}
	noise := m.Parameters.Noise * m.Scaling.YScale * m.Scaling.YScale
	noise *= 1500 / m.Result.DF
	gptest.CloseTo(t, "variance of an observation", p.SDObs[1]*p.SDObs[1], p.SD[1]*p.SD[1]+noise, 1e-12)
}

// Structure that is there stays: rows that repeat measure their noise, and a line needs
// no more rows than it has parameters.
func TestStructureStays(t *testing.T) {
	var x, y []float64
	for i := range 6 {
		x, y = append(x, float64(i/2)), append(y, float64(100*(i/2))+float64(i%2))
	}
	for name, d := range map[string]*Data{
		"repeats": {X: linalg.Matrix{Rows: 6, Cols: 1, Stride: 1, Data: x}, Y: y},
		"line": {X: linalg.Matrix{Rows: 7, Cols: 1, Stride: 1, Data: []float64{1, 2, 3, 4, 5, 6, 7}},
			Y: []float64{2, 4, 6, 8, 10, 12, 14}},
	} {
		m, err := Fit(t.Context(), d, Options{Engine: gptest.Engine(t)})
		if err != nil {
			t.Fatal(err)
		}
		if m.Result.NoStructure {
			t.Errorf("%s: %v", name, m.Result.Warnings)
		}
	}
}

// Noise that is known is not overruled by the prior of a few rows: what the model adds
// to it is small where the rows need no more.
func TestKnownNoiseOfFewRows(t *testing.T) {
	for n := 4; n <= 8; n++ {
		rng := rand.New(rand.NewPCG(uint64(n), 39))
		d := &Data{X: linalg.NewMatrix(n, 1), Y: make([]float64, n), NoiseExtra: make([]float64, n)}
		for i := range n {
			d.X.Data[i] = float64(i)
			d.NoiseExtra[i] = 10 + 4*rng.Float64()
			d.Y[i] = 60*float64(i) + math.Sqrt(d.NoiseExtra[i])*rng.NormFloat64()
		}
		m, err := Fit(t.Context(), d, Options{Engine: gptest.Engine(t)})
		if err != nil {
			t.Fatal(err)
		}
		if noise := m.Parameters.Noise * m.Scaling.YScale * m.Scaling.YScale; noise > 100 {
			t.Errorf("%d rows of noise 10 to 14: %v was added", n, noise)
		}
	}
}

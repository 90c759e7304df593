package bbgp

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// coarseFit returns a fit that has not begun.
func coarseFit(t *testing.T, d *Data, opt Options) *fit {
	t.Helper()
	raw := d.table().Merged()
	opt.Engine = gptest.Engine(t)
	opt, err := opt.settle(raw.X.Rows, raw.X.Cols)
	if err != nil {
		t.Fatal(err)
	}
	f := &fit{opt: &opt, raw: raw, full: d, count: &counters{seconds: map[string]float64{}}}
	f.newModel()
	return f
}

// A hidden structure is short beside the range of the inputs, or behind a trend.
func hidden(kind string) (d *Data, lml float64) {
	rng := rand.New(rand.NewPCG(7, 7))
	rows := func(n, d int, x func(i, j int) float64, y func(x []float64) float64) *Data {
		t := &Data{X: linalg.NewMatrix(n, d), Y: make([]float64, n)}
		for i := range n {
			for j := range d {
				t.X.Set(i, j, x(i, j))
			}
			t.Y[i] = y(t.X.Row(i))
		}
		return t
	}
	line := func(i, _ int) float64 { return float64(i) / 299 }
	switch kind {
	case "sine":
		return rows(300, 1, line, func(x []float64) float64 { return math.Sin(32 * math.Pi * x[0]) }), 301.1
	case "trend":
		return rows(300, 1, line, func(x []float64) float64 { return 3*x[0] + math.Sin(24*math.Pi*x[0]) }), 595.7
	case "grid":
		return rows(900, 2, func(i, j int) float64 { return float64([]int{i / 30, i % 30}[j]) / 29 }, func(x []float64) float64 {
			return math.Sin(10*math.Pi*x[0]) * math.Cos(10*math.Pi*x[1])
		}), -653
	case "plane":
		return rows(900, 2, func(int, int) float64 { return rng.Float64() }, func(x []float64) float64 {
			return math.Sin(8*math.Pi*x[0])*math.Cos(8*math.Pi*x[1]) + 5*x[0] + 0.05*rng.NormFloat64()
		}), 780
	case "groups": // of 8 rows, with curves of their own
		height := make([]float64, 51)
		for i := range height {
			height[i] = 1 + 4*rng.Float64()
		}
		return rows(400, 2, func(i, j int) float64 { return []float64{10 * rng.Float64(), float64(1 + i/8)}[j] }, func(x []float64) float64 {
			return height[int(x[1])]/(1+math.Exp(5-x[0])) + 0.1*rng.NormFloat64()
		}), -50
	}
	panic(kind)
}

// TestCoarseFinds wants the exact likelihood at the best end near the best known one,
// where what misses the structure is hundreds of nats away.
func TestCoarseFinds(t *testing.T) {
	for _, kind := range []string{"sine", "trend", "grid", "plane", "groups"} {
		t.Run(kind, func(t *testing.T) {
			d, want := hidden(kind)
			f := coarseFit(t, d, Options{})
			got, err := f.coarseCandidates(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			best := math.Inf(-1)
			for _, c := range got {
				if c.Dropped == "" {
					best = max(best, exactAt(t, f.std, c.Parameters))
				}
			}
			if best < want-1 {
				t.Errorf("%v, want %v; %+v", best, want, got)
			}
		})
	}
}

// TestCoarseValue: given all others, an evaluation is the exact one, with repeated rows,
// weights and known noise.
func TestCoarseValue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	d := &Data{X: linalg.NewMatrix(60, 2)}
	for i := range 60 {
		d.X.Set(i, 0, float64(rng.IntN(5)))
		d.X.Set(i, 1, float64(rng.IntN(8)))
		d.Y = append(d.Y, d.X.At(i, 0)+rng.NormFloat64())
		d.NoiseScale = append(d.NoiseScale, float64(1+i%2))
		d.NoiseExtra = append(d.NoiseExtra, 0.1*float64(i%3))
	}
	f := coarseFit(t, d, Options{})
	s, err := newCoarse(f)
	if err != nil {
		t.Fatal(err)
	}
	p := Params{Kernel: "matern32", Mean: 0.2, Variance: 1.3, Noise: 0.2, Lengthscales: []float64{0.8, 1.7}}
	a := s.from(Candidate{Parameters: p})
	s.begin(coarseRound{near: f.raw.X.Rows})
	if err := s.settle(context.Background(), a); err != nil {
		t.Fatal(err)
	}
	obj, err := evidence.NewExact(f.opt.Engine, f.std, p)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := f.opt.wrap(obj, f.std).Evaluate(context.Background(), p, evidence.Options{Gradient: true})
	if err != nil {
		t.Fatal(err)
	}
	gptest.CloseTo(t, "value", a.value, ev.LML, 1e-10*math.Abs(ev.LML))
	for i, g := range logGradient(ev.Gradient, p) {
		gptest.CloseTo(t, fmt.Sprint("derivative ", i), a.grad[i], g, 1e-9*math.Abs(ev.LML))
	}
}

// TestCoarseUnits: inputs and targets in any unit, not standardised, with a pair of rows
// next to each other, have a search that ends.
func TestCoarseUnits(t *testing.T) {
	for _, unit := range []float64{1e-9, 1, 1e9} {
		d, _ := hidden("sine")
		for i := range d.Y {
			d.X.Data[i] *= unit
			d.Y[i] *= unit / 1e3
		}
		d.X.Data[1] = math.Nextafter(d.X.Data[0], 1)
		got, err := coarseFit(t, d, Options{NoScale: true}).coarseCandidates(context.Background(), nil)
		if err != nil || len(got) == 0 || got[0].Dropped != "" {
			t.Fatalf("unit %g: %v, %v", unit, got, err)
		}
		if err := got[0].Parameters.Check(1); err != nil {
			t.Errorf("unit %g: %v", unit, err)
		}
	}
}

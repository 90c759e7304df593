package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/evidencetest"
	"bbgp.dev/internal/evidence/lanczos"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// searchOf returns a search of standardised rows that has not begun.
func searchOf(t *testing.T, d *gp.Table, standardise bool) *Search {
	t.Helper()
	raw, e, costs := d.Merged(), gptest.Engine(t), cost.StandardCosts()
	n, inputs := raw.X.Rows, raw.X.Cols
	method, _ := cost.Method(n, inputs, &costs, 0)
	request := cost.Request{Probes: cost.FewProbes, Rank: -1, Neighbours: -1, Costs: &costs}
	c := &Config{
		Kernel: "matern32", Method: method, Optimizer: "lbfgs", MaxSteps: 400, Eps: 1, LMLStdErr: 1e-3,
		Probes: request.Probes, PrefitRows: 500, Engine: e, Costs: &costs,
		Budget: &cost.Budget{Method: method, Probes: request.Probes, Costs: &costs,
			Preconditioner: cost.Size{Rank: -1, Neighbours: -1}},
		Eval: evidence.Options{Request: request, Eps: 1, Precision: "auto", Product: "auto", Gradient: true},
		Wrap: func(obj evidence.Estimator, d *gp.Table) evidence.Estimator {
			if d.Repeats != nil {
				obj = evidence.WithReplicates{Estimator: obj, D: d}
			}
			return obj
		},
		ByProducts: func(d *gp.Table, p gp.Params) (evidence.Estimator, error) { return lanczos.New(e, d, p) },
	}
	c.Complete = c.Wrap
	c.New = func(d *gp.Table, p gp.Params) (evidence.Estimator, error) {
		obj, err := c.ByProducts(d, p)
		if method == "exact" {
			obj, err = evidence.NewExact(e, d, p)
		}
		return c.Wrap(obj, d), err
	}
	std := raw
	if standardise {
		std = raw.Rows(gp.Subset(n, n, 0))
		for j := range inputs {
			mean, sd := 0.0, columnSD(raw, j)
			for i := range n {
				mean += raw.X.At(i, j) / float64(n)
			}
			for i := range n {
				std.X.Set(i, j, (raw.X.At(i, j)-mean)/sd)
			}
		}
		mean, sd := 0.0, math.Sqrt(varianceOf(d.Y))
		for _, y := range d.Y {
			mean += y / float64(len(d.Y))
		}
		for i := range n {
			std.Y[i] = (raw.Y[i] - mean) / sd
		}
		for i := range std.NoiseExtra {
			std.NoiseExtra[i] /= sd * sd
		}
		std.Repeats = gp.WithinScaled(raw.Repeats, sd)
	}
	return &Search{Config: c, Raw: raw, Whole: std, Std: std, Flat: make([]bool, inputs),
		Count: &Counters{Seconds: map[string]float64{}}}
}

// filled returns n rows of d inputs and a target.
func filled(n, d int, row func(i int, x []float64) float64) *gp.Table {
	t := &gp.Table{X: linalg.NewMatrix(n, d), Y: make([]float64, n)}
	for i := range n {
		t.Y[i] = row(i, t.X.Row(i))
	}
	return t
}

// startAt returns parameters with these lengthscales.
func startAt(noise float64, lengths ...float64) gp.Params {
	p := gp.DefaultParams("", len(lengths))
	p.Noise, p.Lengthscales = noise, lengths
	return p
}

// A hidden structure is short beside the range of the inputs, or behind a trend.
func hidden(kind string) (d *gp.Table, lml float64) {
	rng := rand.New(rand.NewPCG(7, 7))
	rows := func(n, d int, x func(i, j int) float64, y func(x []float64) float64) *gp.Table {
		t := &gp.Table{X: linalg.NewMatrix(n, d), Y: make([]float64, n)}
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
		return rows(900, 2, func(i, j int) float64 { return float64([]int{i / 30, i % 30}[j]) / 29 },
			func(x []float64) float64 {
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
		return rows(400, 2, func(i, j int) float64 { return []float64{10 * rng.Float64(), float64(1 + i/8)}[j] },
			func(x []float64) float64 {
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
			f := searchOf(t, d, true)
			got, err := f.coarseCandidates(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			best := math.Inf(-1)
			for _, c := range got {
				if c.Dropped == "" {
					best = max(best, evidencetest.Exact(t, f.Std, c.Parameters, evidence.Options{}).LML)
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
	d := &gp.Table{X: linalg.NewMatrix(60, 2)}
	for i := range 60 {
		d.X.Set(i, 0, float64(rng.IntN(5)))
		d.X.Set(i, 1, float64(rng.IntN(8)))
		d.Y = append(d.Y, d.X.At(i, 0)+rng.NormFloat64())
		d.NoiseScale = append(d.NoiseScale, float64(1+i%2))
		d.NoiseExtra = append(d.NoiseExtra, 0.1*float64(i%3))
	}
	f := searchOf(t, d, true)
	s, err := newCoarse(f)
	if err != nil {
		t.Fatal(err)
	}
	p := gp.Params{Kernel: "matern32", Mean: 0.2, Variance: 1.3, Noise: 0.2, Lengthscales: []float64{0.8, 1.7}}
	a := s.from(Candidate{Parameters: p})
	s.begin(coarseRound{near: f.Raw.X.Rows})
	if err := s.settle(context.Background(), a); err != nil {
		t.Fatal(err)
	}
	obj, err := evidence.NewExact(f.Config.Engine, f.Std, p)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := f.Config.Wrap(obj, f.Std).Evaluate(context.Background(), p, evidence.Options{Gradient: true})
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
		got, err := searchOf(t, d, false).coarseCandidates(context.Background(), nil)
		if err != nil || len(got) == 0 || got[0].Dropped != "" {
			t.Fatalf("unit %g: %v, %v", unit, got, err)
		}
		if err := got[0].Parameters.Check(1); err != nil {
			t.Errorf("unit %g: %v", unit, err)
		}
	}
}

package bbgp

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// unitsTable draws a table of n rows; what its target and its inputs are goes by the seed. Many have
// a flat likelihood: inputs that tell nothing, functions without noise, planes, noise alone.
func unitsTable(n int, seed uint64) *Data {
	rng := rand.New(rand.NewPCG(seed, 141))
	d := 1 + int(seed)%3
	x, y := linalg.NewMatrix(n, d), make([]float64, n)
	for i := range n {
		r := x.Row(i)
		for j := range r {
			switch (int(seed) + j) % 4 {
			case 0:
				r[j] = rng.Float64()
			case 1:
				r[j] = 3 + rng.NormFloat64()
			case 2:
				r[j] = math.Round(20 * rng.Float64())
			default:
				r[j] = math.Exp(2 * rng.NormFloat64())
			}
		}
		a := r[0]
		noise := []float64{0.1, 0.3, 1, 0, 1e-3}[seed%5]
		switch (seed / 2) % 4 {
		case 0:
			y[i] = 2 + math.Sin(3*a)
		case 1:
			y[i] = 10 * a
		case 2:
			y[i] = 5 + math.Round(a)
		default: // noise alone
			noise = 1
		}
		y[i] += noise * rng.NormFloat64()
	}
	t := &Data{X: x, Y: y}
	switch seed % 10 {
	case 7:
		t.NoiseScale = make([]float64, n)
		for i := range n {
			t.NoiseScale[i] = 1 / float64(1+i%3)
		}
	case 9:
		t.NoiseExtra = make([]float64, n)
		for i := range n {
			t.NoiseExtra[i] = 0.01 * float64(1+i%3)
		}
	}
	return t
}

// in returns d with inputs times ux and targets times uy.
func in(d *Data, ux, uy float64) *Data {
	c := &Data{X: d.X.Clone(), Y: slices.Clone(d.Y), NoiseScale: d.NoiseScale, NoiseExtra: slices.Clone(d.NoiseExtra)}
	for i := range c.X.Data {
		c.X.Data[i] *= ux
	}
	for i := range c.Y {
		c.Y[i] *= uy
	}
	for i := range c.NoiseExtra {
		c.NoiseExtra[i] *= uy * uy
	}
	return c
}

// TestFlatUnits: fits of tables whose likelihood is flat end at one place in all units, although
// the last digits of what they see differ; what is left is the rounding that the bounds state.
func TestFlatUnits(t *testing.T) {
	sizes, tables, factors := []int{20, 40, 80, 150, 300, 600}, []int{18, 39}, [][2]float64{{1e-12, 1e12}, {1e3, 1e-9}}
	if os.Getenv("BBGP_LONG") != "" {
		factors = append(factors, [][2]float64{{1e-12, 1}, {1, 1e-12}, {1e12, 1e12}, {1e-5, 1e7}}...)
		tables = tables[:0]
		for k := range 49 {
			tables = append(tables, k)
		}
	}
	e := gptest.Engine(t)
	for _, k := range tables {
		n := sizes[k%len(sizes)]
		if k >= 40 {
			n = []int{900, 1500, 2999}[k%3]
		}
		d, at := unitsTable(n, uint64(k)), unitsTable(30, uint64(k)+120).X
		opt := Options{Engine: e, Kernel: []string{"matern32", "matern12", "matern52", "gaussian"}[k/3%4]}
		var base *Model
		var p *Prediction
		for i, u := range append([][2]float64{{1, 1}}, factors...) {
			m, err := Fit(t.Context(), in(d, u[0], u[1]), opt)
			if err != nil {
				t.Fatal(err)
			}
			x := in(&Data{X: at}, u[0], 1).X
			q, err := m.Predict(t.Context(), x, PredictOptions{SD: true, Engine: e})
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				base, p = m, q
				t.Logf("%d: %d rows of %d inputs, %s: noise %.2g of %.2g", k, n, d.X.Cols, opt.Kernel,
					m.Parameters.Noise, m.Parameters.Variance)
				continue
			}
			a, b := &base.Result, &m.Result
			if off := math.Abs(b.LML - a.LML); off > 1e-9*max(math.Abs(a.LML), float64(n)) &&
				(b.Upper < a.Lower || a.Upper < b.Lower) {
				t.Errorf("%d, units %v: LML %v, not %v", k, u, b.LML, a.LML)
			}
			z, w := logs(base.Parameters), logs(m.Parameters)
			for i := range z {
				if math.Abs(z[i]-w[i]) > 1e-9 {
					t.Errorf("%d, units %v: the climb has ended at %v, not at %v", k, u, w, z)
					break
				}
			}
			worst := [2]float64{}
			for i := range q.Mean {
				off := math.Abs(q.Mean[i]/u[1]-p.Mean[i]) / base.Scaling.YScale
				worst[0] = max(worst[0], off)
				if off > 1e-9 && (q.MeanLower[i]/u[1] > p.MeanUpper[i] || q.MeanUpper[i]/u[1] < p.MeanLower[i]) {
					t.Errorf("%d, units %v: mean %v, not %v", k, u, q.Mean[i]/u[1], p.Mean[i])
				}
				off = math.Abs(q.SD[i]/u[1]-p.SD[i]) / base.Scaling.YScale
				worst[1] = max(worst[1], off)
				if off > 1e-9 && (q.SDLower[i]/u[1] > p.SDUpper[i] || q.SDUpper[i]/u[1] < p.SDLower[i]) {
					t.Errorf("%d, units %v: sd %v, not %v", k, u, q.SD[i]/u[1], p.SD[i])
				}
			}
			t.Logf("units %v: LML %.1g of itself, means %.1g and sd %.1g of the target's apart", u,
				math.Abs(b.LML-a.LML)/max(math.Abs(a.LML), float64(n)), worst[0], worst[1])
		}
	}
}

// logs returns the logarithms of the parameters; those of inputs that are out are 0.
func logs(p Params) []float64 {
	z := []float64{math.Log(p.Variance), math.Log(p.Noise)}
	for _, l := range p.Lengthscales {
		if math.IsInf(l, 1) {
			l = 1
		}
		z = append(z, math.Log(l))
	}
	return z
}

// TestUnitsOfWeights: only the ratios of weights count, for the noise is fitted, also of rows that
// repeat, of noise alone, and from a start that is given.
func TestUnitsOfWeights(t *testing.T) {
	const n = 40
	rng := rand.New(rand.NewPCG(14, 141))
	for _, signal := range []float64{1, 0} {
		d := &Data{X: linalg.NewMatrix(n, 1), Y: make([]float64, n), NoiseScale: make([]float64, n)}
		for i := range n {
			d.X.Set(i, 0, math.Round(40*rng.Float64()))
			d.NoiseScale[i] = math.Exp(rng.NormFloat64())
			d.Y[i] = signal*math.Sin(d.X.At(i, 0)/6) + 0.2*math.Sqrt(d.NoiseScale[i])*rng.NormFloat64()
		}
		fit := func(unit float64, start *Params) (*Model, *Prediction) {
			c := in(d, 1, 1)
			c.NoiseScale = slices.Clone(d.NoiseScale)
			for i := range n {
				c.NoiseScale[i] *= unit
			}
			m, err := Fit(t.Context(), c, Options{Engine: gptest.Engine(t), Start: start})
			if err != nil {
				t.Fatal(err)
			}
			p, err := m.Predict(t.Context(), d.X,
				PredictOptions{SD: true, NoiseScale: c.NoiseScale, Engine: gptest.Engine(t)})
			if err != nil {
				t.Fatal(err)
			}
			return m, p
		}
		start := DefaultParams("matern52", 1)
		for _, s := range []*Params{nil, &start} {
			m, p := fit(1, s)
			for _, unit := range []float64{1e-20, 1e30, 1e9} {
				if s != nil {
					other := start.Clone()
					other.Noise /= unit
					s = &other
				}
				um, up := fit(unit, s)
				began, other := um.Result.Starts[0].Parameters.Noise, m.Result.Starts[0].Parameters.Noise
				if gptest.Relative(um.Result.LML, m.Result.LML) > 1e-9 || gptest.Relative(began*unit, other) > 1e-7 ||
					gptest.Relative(um.Parameters.Noise*unit, m.Parameters.Noise) > 1e-7 {
					t.Errorf("weights over %v: LML %v and noise %v, not %v and %v", unit, um.Result.LML,
						um.Parameters.Noise*unit, m.Result.LML, m.Parameters.Noise)
				}
				for i := range n {
					if math.Abs(up.Mean[i]-p.Mean[i]) > 1e-9 || math.Abs(up.SD[i]-p.SD[i]) > 1e-9 ||
						gptest.Relative(up.SDObs[i], p.SDObs[i]) > 1e-9 {
						t.Fatalf("weights over %v: %v ± %v, not %v ± %v", unit,
							up.Mean[i], up.SDObs[i], p.Mean[i], p.SDObs[i])
					}
				}
			}
		}
	}
}

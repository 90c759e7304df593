package gptest

import (
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

func Relative(got, want float64) float64 {
	if got == want {
		return 0
	}
	return math.Abs(got-want) / math.Abs(want)
}

func Engine(t testing.TB) *linalg.Engine {
	e, err := linalg.NewEngine(nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// repeated returns n rows on few places; kind adds weights, known variances, or
// both with equal ratios in some groups.
func RepeatedTable(n int, kind string, seed uint64) *gp.Table {
	rng := rand.New(rand.NewPCG(seed, 0))
	d := &gp.Table{X: linalg.NewMatrix(n, 2), Y: make([]float64, n)}
	for i := range n {
		a, b := float64(rng.IntN(5)), float64(rng.IntN(4))
		d.X.Set(i, 0, a)
		d.X.Set(i, 1, b)
		d.Y[i] = 1e3 + math.Sin(a) + 0.3*b + 0.2*rng.NormFloat64()
		if kind == "weights" || kind == "both" {
			d.NoiseScale = append(d.NoiseScale, float64(1+rng.IntN(3)))
		}
		if kind == "variances" {
			d.NoiseExtra = append(d.NoiseExtra, 0.01*float64(rng.IntN(3)))
		}
		if kind == "both" {
			d.NoiseExtra = append(d.NoiseExtra, 0.02*d.NoiseScale[i]*float64(rng.IntN(2)))
		}
	}
	return d
}

func CloseTo(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*max(1, math.Abs(want))) {
		t.Errorf("%s is %.15g, want %.15g", what, got, want)
	}
}

// RandomTable returns n rows of d inputs, a smooth target with noise, and noise
// that differs between the rows.
func RandomTable(n, d int, seed uint64) *gp.Table {
	r := rand.New(rand.NewPCG(seed, 1))
	x := linalg.NewMatrix(n, d)
	y, scale, extra := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		for j := range d {
			x.Set(i, j, r.NormFloat64())
		}
		y[i] = math.Sin(2*x.At(i, 0)) + 0.5*x.At(i, d-1) + 0.1*r.NormFloat64()
		scale[i], extra[i] = 0.5+r.Float64(), 0.1*r.Float64()
	}
	return &gp.Table{X: x, Y: y, NoiseScale: scale, NoiseExtra: extra}
}

// smooth returns n rows of d inputs with a target that depends on two of them.
func SmoothTable(n, d int, noise float64) *gp.Table {
	rng := rand.New(rand.NewPCG(11, uint64(n)))
	data := &gp.Table{X: linalg.NewMatrix(n, d), Y: make([]float64, n)}
	for i := range n {
		for j := range d {
			data.X.Set(i, j, rng.NormFloat64())
		}
		data.Y[i] = math.Sin(2*data.X.At(i, 0)) + 0.5*data.X.At(i, 1) + noise*rng.NormFloat64()
	}
	return data
}

func TestParams(kernel string, d int, noise float64) gp.Params {
	p := gp.DefaultParams(kernel, d)
	p.Noise, p.Variance, p.Mean = noise, 1.3, 0.2
	for j := range p.Lengthscales {
		p.Lengthscales[j] = 0.8 + 0.3*float64(j)
	}
	return p
}

// SparseCase returns a small standardised problem with uneven noise.
func SparseCase(n, d int) (*gp.Table, gp.Params) {
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	data := &gp.Table{X: linalg.NewMatrix(n, d), Y: make([]float64, n), NoiseScale: make([]float64, n),
		NoiseExtra: make([]float64, n)}
	for i := range n {
		for j := range d {
			data.X.Set(i, j, rng.NormFloat64())
		}
		data.Y[i] = math.Sin(2*data.X.At(i, 0)) + 0.2*rng.NormFloat64()
		data.NoiseScale[i] = 0.5 + rng.Float64()
		data.NoiseExtra[i] = 0.1 * rng.Float64()
	}
	p := gp.DefaultParams("", d)
	p.Mean, p.Variance, p.Noise = 0.2, 1.3, 0.07
	for j := range p.Lengthscales {
		p.Lengthscales[j] = 0.8 + 0.4*float64(j)
	}
	return data, p
}

// Drawn is a random small table with parameters and a kind of preconditioner.
func Drawn(number uint64) (d *gp.Table, p gp.Params, rank, near int) {
	rng := rand.New(rand.NewPCG(number, 99))
	n := 40 + rng.IntN(110)
	inputs := []int{1, 2, 2, 3, 5, 8, 12}[rng.IntN(7)]
	x, y := linalg.NewMatrix(n, inputs), make([]float64, n)
	for i := range n {
		for j := range inputs {
			x.Set(i, j, rng.NormFloat64())
		}
		y[i] = math.Sin(2*x.At(i, 0)) + 0.3*rng.NormFloat64()
	}
	p = gp.Params{Kernel: gp.Families()[rng.IntN(4)], Variance: 1, Noise: math.Pow(10, -4*rng.Float64()),
		Lengthscales: make([]float64, inputs)}
	l := math.Pow(10, -0.5+1.5*rng.Float64())
	for j := range p.Lengthscales {
		p.Lengthscales[j] = l * math.Exp(0.5*rng.NormFloat64())
	}
	set := [][2]int{{10, 0}, {0, 20}, {0, 0}, {-1, -1}, {-1, -1}}[rng.IntN(5)]
	return &gp.Table{X: x, Y: y}, p, set[0], set[1]
}

// Flatten returns derivatives in one vector.
func Flatten(lengths []float64, others ...float64) []float64 {
	return append(append([]float64{}, lengths...), others...)
}

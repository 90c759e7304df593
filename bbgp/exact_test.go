package bbgp

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

var goldenSets = []string{"bike", "elevators", "pol"}

// TestExactGolden checks L and its gradient against values from long double
// arithmetic, to 1e-9 and 1e-7 relative.
func TestExactGolden(t *testing.T) {
	for _, name := range goldenSets {
		t.Run(name, func(t *testing.T) {
			g, _, std := loadGolden(t, name)
			half := firstRows(std, 1000)
			checkGolden(t, "n1000.initial", half, g.N1000.Initial, 1e-9, 1e-7)
			checkGolden(t, "n1000.low_noise", half, g.N1000.LowNoise, 1e-9, 1e-7)
			checkGolden(t, "initial", std, g.Initial, 1e-9, 1e-7)
			if testing.Short() {
				return
			}
			// bike's optimum is at the noise floor, where a float64 Cholesky is
			// off by 4e-4 in L and by 55 in a gradient of 1.6e8.
			tol := 1e-9
			if name == "bike" {
				tol = 1e-2 / float64(g.Optimum.LML)
			}
			checkGolden(t, "optimum", std, g.Optimum, tol, math.Inf(1))
		})
	}
}

func checkGolden(t *testing.T, what string, d *gp.Table, g goldenPoint, tolValue, tolGrad float64) {
	t.Helper()
	p := g.params()
	o, err := newExactObjective(engine(t), d, p)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := o.Evaluate(context.Background(), p, EvalOptions{Gradient: !math.IsInf(tolGrad, 1)})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if e := relative(ev.LML, float64(g.LML)); e > tolValue {
		t.Errorf("%s: L = %.12g, want %.12g: relative error %.2g", what, ev.LML, float64(g.LML), e)
	}
	if ev.Gradient == nil {
		return
	}
	want := g.gradient()
	for i, v := range flat(ev.Gradient) {
		if e := relative(v, want[i]); e > tolGrad {
			t.Errorf("%s: gradient %d = %.12g, want %.12g: relative error %.2g", what, i, v, want[i], e)
		}
	}
}

// randomData returns n rows of d inputs, a smooth target with noise, and noise
// that differs between the rows.
func randomData(n, d int, seed uint64) *Data {
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
	return &Data{X: x, Y: y, NoiseScale: scale, NoiseExtra: extra}
}

func TestExactGradientAgainstDifferences(t *testing.T) {
	d := randomData(60, 3, 7)
	for _, kernel := range Families() {
		p := Params{Kernel: kernel, Mean: 0.3, Variance: 1.4, Noise: 0.05, Lengthscales: []float64{0.8, 2, math.Inf(1)}}
		o, err := newExactObjective(engine(t), d.table(), p)
		if err != nil {
			t.Fatal(err)
		}
		at := func(p Params) float64 {
			ev, err := o.Evaluate(context.Background(), p, EvalOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return ev.LML
		}
		ev, err := o.Evaluate(context.Background(), p, EvalOptions{Gradient: true})
		if err != nil {
			t.Fatal(err)
		}
		got := flat(ev.Gradient)
		for i := range got {
			const h = 1e-5
			hi, lo := p.Clone(), p.Clone()
			for _, c := range []struct {
				p *Params
				h float64
			}{{&hi, h}, {&lo, -h}} {
				switch v := append(refs(c.p), &c.p.Variance, &c.p.Noise, &c.p.Mean)[i]; {
				case i == 3+2:
					*v += c.h
				default:
					*v *= 1 + c.h
				}
			}
			step := 2 * h
			if i != 3+2 {
				step *= *append(refs(&p), &p.Variance, &p.Noise, &p.Mean)[i]
			}
			want := 0.0
			if !math.IsInf(step, 0) {
				want = (at(hi) - at(lo)) / step
			}
			if math.Abs(got[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%s: gradient %d = %.10g, differences give %.10g", kernel, i, got[i], want)
			}
		}
		left, right := p.Clone(), p.Clone() // L is quadratic in c
		left.Mean, right.Mean = p.Mean-1, p.Mean+1
		if want := 2*at(p) - at(left) - at(right); relative(ev.MeanInfo, want) > 1e-9 {
			t.Errorf("%s: information of c %.10g, differences give %.10g", kernel, ev.MeanInfo, want)
		}
	}
}

func refs(p *Params) []*float64 {
	var out []*float64
	for j := range p.Lengthscales {
		out = append(out, &p.Lengthscales[j])
	}
	return out
}

func TestExactNotPositiveDefinite(t *testing.T) {
	d := randomData(40, 2, 3)
	d.NoiseScale, d.NoiseExtra = nil, nil
	p := Params{Kernel: "gaussian", Variance: 1e8, Noise: 1e-12, Lengthscales: []float64{1e3, 1e3}}
	o, err := newExactObjective(engine(t), d.table(), p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Evaluate(context.Background(), p, EvalOptions{}); !errors.Is(err, ErrNotFinite) {
		t.Errorf("error is %v, want ErrNotFinite", err)
	}
}

// TestFisher compares the information matrix with the mean outer product of
// gradients over draws of y from the model, whose expectation it is.
func TestFisher(t *testing.T) {
	d := randomData(40, 2, 5)
	p := Params{Kernel: "matern52", Variance: 1.4, Noise: 0.05, Lengthscales: []float64{0.8, 2}}
	e := engine(t)
	f, err := newFisher(context.Background(), e, d.table(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	info := f.information(e, f.meanSub).(denseInformation).f
	o, err := newExactObjective(e, d.table(), p)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := o.Factor(ctx, p); err != nil {
		t.Fatal(err)
	}
	l := o.A.Clone()
	r := rand.New(rand.NewPCG(1, 2))
	const draws = 5000
	got := linalg.NewMatrix(4, 4)
	meanSq := 0.0
	for range draws {
		z := make([]float64, 40)
		for i := range z {
			z[i] = r.NormFloat64()
		}
		for i := range d.Y {
			d.Y[i] = 0
			for j := range i + 1 {
				d.Y[i] += l.At(i, j) * z[j]
			}
		}
		ev, err := o.Evaluate(ctx, p, EvalOptions{Gradient: true})
		if err != nil {
			t.Fatal(err)
		}
		g := flat(ev.Gradient)
		for i, s := range []float64{0.8, 2, 1.4, 0.05} {
			g[i] *= s
		}
		for i := range 4 {
			for j := range 4 {
				got.Data[i*4+j] += g[i] * g[j] / draws
			}
		}
		meanSq += g[4] * g[4] / draws
	}
	for i := range 4 {
		for j := range 4 {
			// standard error of a mean of products of near-normal variables
			se := math.Sqrt((info.At(i, i)*info.At(j, j) + info.At(i, j)*info.At(i, j)) / draws)
			if math.Abs(got.At(i, j)-info.At(i, j)) > 6*se {
				t.Errorf("F[%d][%d] = %v, draws give %v ± %v", i, j, info.At(i, j), got.At(i, j), se)
			}
		}
	}
	if math.Abs(meanSq-f.meanAll) > 6*f.meanAll*math.Sqrt(2.0/draws) {
		t.Errorf("F_cc = %v, draws give %v", f.meanAll, meanSq)
	}
}

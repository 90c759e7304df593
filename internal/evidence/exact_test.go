package evidence

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
)

func TestExactGradientAgainstDifferences(t *testing.T) {
	d := gptest.RandomTable(60, 3, 7)
	for _, kernel := range gp.Families() {
		p := gp.Params{Kernel: kernel, Mean: 0.3, Variance: 1.4, Noise: 0.05,
			Lengthscales: []float64{0.8, 2, math.Inf(1)}}
		o, err := NewExact(gptest.Engine(t), d, p)
		if err != nil {
			t.Fatal(err)
		}
		at := func(p gp.Params) float64 {
			ev, err := o.Evaluate(context.Background(), p, Options{})
			if err != nil {
				t.Fatal(err)
			}
			return ev.LML
		}
		ev, err := o.Evaluate(context.Background(), p, Options{Gradient: true})
		if err != nil {
			t.Fatal(err)
		}
		got := gptest.Flatten(ev.Gradient.Lengthscales, ev.Gradient.Variance, ev.Gradient.Noise, ev.Gradient.Mean)
		for i := range got {
			const h = 1e-5
			hi, lo := p.Clone(), p.Clone()
			for _, c := range []struct {
				p *gp.Params
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
		if want := 2*at(p) - at(left) - at(right); gptest.Relative(ev.MeanInfo, want) > 1e-9 {
			t.Errorf("%s: information of c %.10g, differences give %.10g", kernel, ev.MeanInfo, want)
		}
	}
}

// A value that is refused has no gradient, and is what it is with one.
func TestExactRefused(t *testing.T) {
	d, p := gptest.RandomTable(40, 2, 3), gptest.TestParams("matern32", 2, 0.1)
	o, err := NewExact(gptest.Engine(t), d, p)
	if err != nil {
		t.Fatal(err)
	}
	var values [2]*Value
	for k := range values {
		target := math.Inf(-1)
		if k > 0 {
			target = values[0].LML + 1
		}
		opt := Options{Gradient: true, Reject: func(upper float64) bool { return upper < target }}
		if values[k], err = o.Evaluate(context.Background(), p, opt); err != nil {
			t.Fatal(err)
		}
	}
	if values[0].Gradient == nil || values[1].Gradient != nil || values[0].LML != values[1].LML {
		t.Errorf("%+v, refused %+v", values[0], values[1])
	}
}

func refs(p *gp.Params) []*float64 {
	var out []*float64
	for j := range p.Lengthscales {
		out = append(out, &p.Lengthscales[j])
	}
	return out
}

func TestExactNotPositiveDefinite(t *testing.T) {
	d := gptest.RandomTable(40, 2, 3)
	d.NoiseScale, d.NoiseExtra = nil, nil
	p := gp.Params{Kernel: "gaussian", Variance: 1e8, Noise: 1e-12, Lengthscales: []float64{1e3, 1e3}}
	o, err := NewExact(gptest.Engine(t), d, p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Evaluate(context.Background(), p, Options{}); !errors.Is(err, gp.ErrNotFinite) {
		t.Errorf("error is %v, want ErrNotFinite", err)
	}
}

// A lengthscale that stands for +Inf leaves the value as it is, also where a distance of 1e-8 counts or the input is
// not near 1; the gradient is there.
func TestExactFarLength(t *testing.T) {
	d, p := gptest.SmoothTable(60, 3, 0.01), gptest.TestParams("matern12", 3, 1e-9)
	d.X.Set(7, 2, 1e30)
	p.Lengthscales[2] = math.Inf(1)
	far := p.Clone()
	far.Lengthscales[2] = gp.FarLength
	var ev [2]*Value
	for k, at := range []gp.Params{p, far} {
		o, err := NewExact(gptest.Engine(t), d, at)
		if err != nil {
			t.Fatal(err)
		}
		if ev[k], err = o.Evaluate(t.Context(), at, Options{Gradient: true}); err != nil {
			t.Fatal(err)
		}
	}
	if ev[0].LML != ev[1].LML || !slices.Equal(ev[0].Alpha, ev[1].Alpha) {
		t.Errorf("%v with a far lengthscale, %v without the input", ev[1].LML, ev[0].LML)
	}
	if ev[0].Gradient.Noise != ev[1].Gradient.Noise || ev[1].Gradient.Lengthscales[2] == 0 {
		t.Errorf("gradients %+v, %+v", ev[0].Gradient, ev[1].Gradient)
	}
}

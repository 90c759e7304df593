package main

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func (x twice) big() *big.Float {
	b := func(v float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(v) }
	return b(x.hi).Add(b(x.hi), b(x.lo))
}

// TestTwice compares every operation with 300 bits; e^x with the product e^(x/2)²
// and the series of a small argument.
func TestTwice(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func() twice {
		v := math.Exp(4*rng.NormFloat64()) * rng.NormFloat64()
		return quickSum(v, v*0x1p-54*rng.Float64())
	}
	off := func(got twice, want *big.Float) float64 {
		d := new(big.Float).SetPrec(300).Sub(got.big(), want)
		if want.Sign() != 0 {
			d.Quo(d, want)
		}
		f, _ := d.Float64()
		return math.Abs(f)
	}
	z := func() *big.Float { return new(big.Float).SetPrec(300) }
	for range 2000 {
		a, b := draw(), draw()
		p := twice{math.Abs(a.hi), math.Copysign(1, a.hi) * a.lo}
		for name, e := range map[string]float64{
			"mul": off(a.mul(b), z().Mul(a.big(), b.big())), "div": off(a.div(b), z().Quo(a.big(), b.big())),
			"sqrt": off(p.sqrt(), z().Sqrt(p.big())), "add": off(p.add(twice{math.Abs(b.hi), 0}),
				z().Add(p.big(), z().SetFloat64(math.Abs(b.hi)))),
			"fma": off(p.fma(a, a), z().Add(p.big(), z().Mul(a.big(), a.big()))),
		} {
			if e > 0x1p-99 {
				t.Fatalf("%s of %v, %v is off by %g", name, a, b, e)
			}
		}
	}
	for _, v := range []float64{-1e-3, -0.3, -2.5, -40, -300} {
		x := wide(v).add(wide(v * 0x1p-56))
		want, term := z().SetInt64(1), z().SetInt64(1)
		small := z().Quo(x.big(), z().SetInt64(1<<20))
		for i := int64(1); i < 30; i++ {
			term.Mul(term, small).Quo(term, z().SetInt64(i))
			want.Add(want, term)
		}
		for range 20 {
			want.Mul(want, want)
		}
		if e := off(x.exp(), want); e > 0x1p-95 {
			t.Errorf("exp(%v) is off by %g", v, e)
		}
	}
}

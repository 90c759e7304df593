package gp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"bbgp.dev/linalg"
)

// The within-group term is right but for the rounding it states, also where its squares are
// 1e12 times the noise and the targets far from zero.
func TestWithinRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, k := range []struct {
		n, places            int
		offset, scale, noise float64
	}{{1700, 20, 0, 1, 1e-6}, {40, 3, 1e6, 1, 1e-8}, {300, 299, 0, 1e-3, 1e-12}, {900, 30, 10, 100, 0.1}} {
		d := &Table{X: linalg.NewMatrix(k.n, 1), Y: make([]float64, k.n)}
		group := make([]int, k.n)
		for i := range d.Y {
			group[i] = r.IntN(k.places)
			d.X.Data[i] = float64(group[i])
			d.Y[i] = k.offset + k.scale*r.NormFloat64()*math.Exp(3*r.Float64())
		}
		value, _, _ := d.Merged().WithinGroups(k.noise)
		off := math.Abs(value - exactWithin(d.Y, group, k.places, k.noise))
		if stated := 4 * d.Merged().WithinRounding(k.noise); off > stated || stated > 1e-11*math.Abs(value) {
			t.Errorf("%+v: %g is off by %g, stated %g", k, value, off, stated)
		}
	}
}

// exactWithin sums the squares in 200 bits; the logarithms need no more than float64.
func exactWithin(y []float64, group []int, places int, noise float64) float64 {
	wide := func(v float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(v) }
	sum, count := make([]*big.Float, places), make([]float64, places)
	for g := range sum {
		sum[g] = wide(0)
	}
	for i, g := range group {
		sum[g].Add(sum[g], wide(y[i]))
		count[g]++
	}
	squares, logs := wide(0), wide(0)
	for g, c := range count {
		if c > 0 {
			sum[g].Quo(sum[g], wide(c))
			logs.Add(logs, wide(math.Log(c)+(c-1)*math.Log(2*math.Pi*noise)))
		}
	}
	for i, g := range group {
		e := wide(y[i])
		e.Sub(e, sum[g])
		squares.Add(squares, e.Mul(e, e))
	}
	total := logs.Add(logs, squares.Quo(squares, wide(noise)))
	v, _ := total.Float64()
	return -0.5 * v
}

package gp

import (
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/linalg"
)

// TestRounded: what a search sees has the same bits in all units, offsets, weights, known noise and
// repeats included, and differs from the rows by no more than it says.
func TestRounded(t *testing.T) {
	const n = 100
	rng := rand.New(rand.NewPCG(28, 28))
	at := make([][4]float64, n)
	for i := range at {
		at[i] = [4]float64{rng.NormFloat64(), 1e4 + rng.Float64(), math.Exp(rng.NormFloat64()), rng.NormFloat64()}
		if i >= n-10 {
			copy(at[i][:3], at[i-10][:3])
		}
	}
	seen := func(u, v float64) (whole, rounded *Table) {
		d := &Table{X: linalg.NewMatrix(n, 3), Y: make([]float64, n), NoiseScale: make([]float64, n),
			NoiseExtra: make([]float64, n)}
		for i, row := range at {
			for j := range 3 {
				d.X.Set(i, j, u*row[j])
			}
			d.Y[i], d.NoiseScale[i], d.NoiseExtra[i] = v*row[3], 0.3, v*v*0.1
		}
		s := Standardise(d.X, d.Y, 0)
		whole = s.Apply(d.Merged())
		return whole, whole.Rounded()
	}
	whole, one := seen(1, 1)
	for i, v := range whole.X.Data {
		if math.Abs(v-one.X.Data[i]) > 0x1p-29 {
			t.Fatalf("%v is seen as %v", v, one.X.Data[i])
		}
	}
	for _, u := range [][2]float64{{1e-12, 1e12}, {1e-9, 1e-150}, {1e7, 1e-3}} {
		_, other := seen(u[0], u[1])
		apart := 0
		for _, pair := range [][2][]float64{{one.X.Data, other.X.Data}, {one.Y, other.Y},
			{one.NoiseScale, other.NoiseScale}, {one.NoiseExtra, other.NoiseExtra}} {
			for i, v := range pair[0] {
				if v != pair[1][i] {
					apart++
				}
			}
		}
		for i, r := range one.Repeats {
			if r != other.Repeats[i] {
				apart++
			}
		}
		if apart > 0 {
			t.Errorf("units %v: %d numbers are seen in another way", u, apart)
		}
	}
}

// TestRoundedNear: rows that one far row leaves near each other stay apart, and so do seconds since 1970.
func TestRoundedNear(t *testing.T) {
	const n = 50
	rng := rand.New(rand.NewPCG(28, 29))
	d := &Table{X: linalg.NewMatrix(n, 2), Y: make([]float64, n)}
	for i := range n {
		d.X.Set(i, 0, rng.Float64())
		d.X.Set(i, 1, float64(1700000000+60*i))
	}
	d.X.Set(0, 0, 1e12)
	s := Standardise(d.X, d.Y, 0)
	whole := s.Apply(d)
	got := whole.Rounded()
	for i := 1; i < n; i++ {
		for k := 1; k < i; k++ {
			for j := range 2 {
				is, was := got.X.At(i, j)-got.X.At(k, j), whole.X.At(i, j)-whole.X.At(k, j)
				if math.Abs(is-was) > 0.05*math.Abs(was) {
					t.Fatalf("input %d of rows %d and %d: %v apart, seen as %v", j, i, k, was, is)
				}
			}
		}
	}
}

// TestNoiseUnit: noise and within-group terms are the same by weights in another unit.
func TestNoiseUnit(t *testing.T) {
	d := &Table{X: linalg.NewMatrix(5, 1), Y: []float64{1, 2, 3, 5, 4},
		NoiseScale: []float64{3e20, 1e20, 2e20, 5e20, 1e19}, NoiseExtra: []float64{0, 0, 0, 0.1, 0}}
	d.X.Data = []float64{0, 0, 1, 2, 0}
	d = d.Merged()
	unit := d.MiddleScale()
	if unit < 1e19 || unit > 1e21 {
		t.Fatalf("unit %v", unit)
	}
	in := d.InNoiseUnit(unit)
	p, q := DefaultParams("", 1), DefaultParams("", 1)
	p.Noise, q.Noise = 3e-20, 3e-20*unit
	for i, v := range NoiseOf(p, d) {
		if w := NoiseOf(q, in)[i]; math.Abs(v-w) > 1e-14*v {
			t.Errorf("row %d: noise %v and %v", i, v, w)
		}
	}
	v, slope, info := d.WithinGroups(p.Noise)
	w, other, same := in.WithinGroups(q.Noise)
	if math.Abs(v-w) > 1e-12*math.Abs(v) || math.Abs(slope*p.Noise-other*q.Noise) > 1e-12 ||
		math.Abs(info-same) > 1e-12 {
		t.Errorf("terms %v, %v, %v and %v, %v, %v", v, slope, info, w, other, same)
	}
}

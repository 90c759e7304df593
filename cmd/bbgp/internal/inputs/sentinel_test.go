package inputs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bbgp.dev/cmd/bbgp/internal/table"
)

// Codes for missing are found by where they lie, how often they stand and how they are
// written; what people measure is not taken for one.
func TestSentinels(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 13))
	column := func(n int, f func(i int) float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = f(i)
		}
		return v
	}
	every := func(k int, code float64, f func() float64) func(int) float64 {
		return func(i int) float64 {
			if i%k == 0 {
				return code
			}
			return f()
		}
	}
	normal, unit := rng.NormFloat64, rng.Float64
	for name, c := range map[string]struct {
		v    []float64
		want []float64
	}{
		"-999 in every tenth": {column(400, every(10, -999, normal)), []float64{-999}},
		"-9999 and 999999": {column(400, func(i int) float64 {
			return map[int]float64{7: -9999, 9: -9999, 50: 999999, 51: 999999}[i] +
				normal()*float64(btoi(i != 7 && i != 9 && i != 50 && i != 51))
		}), []float64{-9999, 999999}},
		"99 among ratings": {column(200, every(20, 99, func() float64 { return float64(rng.IntN(11)) })),
			[]float64{99}},
		"fill value of a grid": {column(200, every(50, 9.96921e36, normal)), []float64{9.96921e36}},
		"the least integer": {column(200, every(40, -2147483648, func() float64 { return 1000 * normal() })),
			[]float64{-2147483648}},
		"0 among pressures": {column(200, every(40, 0, func() float64 { return 1013 + 5*normal() })), []float64{0}},
		"-88.8 below 0 to 50": {column(120, every(40, -88.8, func() float64 { return 50 * unit() })),
			[]float64{-88.8}},
		"5 twice above 0 to 1": {column(120, every(60, 5, unit)), nil},
		"25 among readings":    {column(120, every(20, 25, func() float64 { return math.Round(10 * unit()) })), nil},
		"99.99 once":           {column(100, every(100, 99.99, unit)), []float64{99.99}},
		"most cells": {column(400, func(i int) float64 {
			if i%4 > 0 {
				return -99
			}
			return unit()
		}), []float64{-99}},
		"with outliers": {column(400, func(i int) float64 {
			if i == 3 {
				return 400
			}
			return every(30, -999, normal)(i)
		}), []float64{-999}},
		"missing cells": {column(400, func(i int) float64 {
			if i%3 == 0 {
				return math.NaN()
			}
			return every(10, -999, normal)(i)
		}), []float64{-999}},
		"-999 beside a constant": {column(150, every(50, -999, func() float64 { return 5 })), []float64{-999}},
		"1e30 beside a constant": {column(150, every(75, 1e30, func() float64 { return 5 })), []float64{1e30}},
		"32767 once, a constant": {column(150, every(150, 32767, func() float64 { return -2 })), []float64{32767}},
		"-99.9 among three levels": {column(150, every(30, -99.9, func() float64 { return float64(rng.IntN(3)) })),
			[]float64{-99.9}},
		"99 beside 100":           {column(60, every(9, 99, func() float64 { return 100 })), nil},
		"a rare 1":                {column(400, every(200, 1, func() float64 { return 0 })), nil},
		"a rare 500 beside 0":     {column(400, every(200, 500, func() float64 { return 0 })), nil},
		"half 0, half 99":         {column(60, every(2, 99, func() float64 { return 0 })), nil},
		"normal":                  {column(2000, func(int) float64 { return normal() }), nil},
		"lognormal":               {column(2000, func(int) float64 { return math.Exp(2 * normal()) }), nil},
		"one outlier":             {column(400, every(400, 1234, normal)), nil},
		"two values":              {column(400, func(i int) float64 { return float64(1000 * (i % 2)) }), nil},
		"four levels of a factor": {column(400, func(i int) float64 { return []float64{1, 10, 100, 1000}[i%4] }), nil},
		"percent with 99 and 100": {column(400, func(int) float64 { return float64(rng.IntN(101)) }), nil},
		"rain: mostly 0":          {column(1000, func(i int) float64 { return max(0, 10*normal()-8) }), nil},
		"years":                   {column(300, func(i int) float64 { return float64(1900 + i%120) }), nil},
		"constant":                {column(30, func(int) float64 { return 999 }), nil},
		"a design with a centre":  {column(20, func(i int) float64 { return []float64{-1, 1, 0}[i%3] }), nil},
		"empty":                   {nil, nil},
	} {
		var got []float64
		for _, s := range sentinels(c.v) {
			got = append(got, s.value)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The note names column, value, count and flag, for inputs and the target.
func TestSentinelNotes(t *testing.T) {
	var b strings.Builder
	b.WriteString("x,y,when\n")
	for i := range 40 {
		x, y := fmt.Sprint(float64(i)/7), fmt.Sprint(float64(i%11))
		if i%8 == 0 {
			x = "-999.0"
		}
		if i%13 == 0 {
			y = "1e6"
		}
		fmt.Fprintf(&b, "%s,%s,2024-01-%02d\n", x, y, i%28+1)
	}
	r, err := table.NewReader("d.csv", strings.NewReader(b.String()), table.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tab, err := table.Load(r, table.Request{})
	if err != nil {
		t.Fatal(err)
	}
	_, notes, err := Make(tab, Options{Target: "y"})
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(notes, "\n")
	for _, want := range []string{
		"column x has -999 in 5 rows, far from its other cells (0.142857 to 5.57143): if that stands for a missing " +
			"cell, --na=-999 says so",
		"column y has 1000000 in 4 rows, far from its other cells (0 to 10): if that stands for a missing cell, " +
			"--na=1000000 says so",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%s\nin %s", want, said)
		}
	}
}

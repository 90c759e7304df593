package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"bbgp.dev/bbgp"
	"bbgp.dev/internal/gp"
)

// A design is a table with a kernel and what it is of.
type design struct {
	index        int
	kind, kernel string
	noise        float64
	data         *bbgp.Data
}

func (d *design) String() string {
	return fmt.Sprintf("%3d %-8s %-8s n=%4d D=%d noise=%.2g", d.index,
		d.kind, d.kernel, d.data.X.Rows, d.data.X.Cols, d.noise)
}

var (
	kinds  = []string{"smooth", "periodic", "steps", "trend", "grid", "repeats", "groups", "branin"}
	noises = []float64{0, 0, 0.01, 0.05, 0.1, 0.2, 0.5}
)

// newDesign makes design i of rows between least and most and up to widest inputs.
func newDesign(i, least, most, widest int, seed uint64) *design {
	rng := rand.New(rand.NewPCG(seed, uint64(i)))
	n := int(float64(least) * math.Pow(float64(most)/float64(least), rng.Float64()))
	d := 1 + rng.IntN(widest)
	g := &design{index: i, kind: kinds[i%len(kinds)], kernel: gp.Families()[i/len(kinds)%4],
		noise: noises[rng.IntN(len(noises))]}
	var rows [][]float64
	switch g.kind {
	case "grid":
		rows = grid(n, min(d, 3))
	case "branin":
		g.noise *= float64(rng.IntN(2))
		rows = hypercube(rng, n, 2)
	case "groups":
		rows = groups(rng, n)
	case "repeats":
		base := hypercube(rng, max(n/3, 5), d)
		for range 3 {
			rows = append(rows, base...)
		}
	default:
		rows = hypercube(rng, n, d)
		if rng.IntN(3) == 0 && d == 1 {
			rows = grid(n, 1)
		}
	}
	f := function(g.kind, len(rows[0]), n, rng)
	y := make([]float64, len(rows))
	mean, square := 0.0, 0.0
	for k, r := range rows {
		y[k] = f(r)
		mean += y[k] / float64(len(y))
	}
	for _, v := range y {
		square += (v - mean) * (v - mean) / float64(len(y))
	}
	scale := math.Sqrt(square) + 1e-9
	for k := range y {
		y[k] += g.noise * scale * rng.NormFloat64()
	}
	data, err := bbgp.NewData(rows, y, nil)
	if err != nil {
		panic("search: newDesign: " + err.Error())
	}
	// Standardised here, so that fits of few rows are made without the priors that would guide them.
	scaling := gp.Standardise(data.X, data.Y, 0)
	scaling.XTo(data.X, data.X)
	scaling.YTo(data.Y, data.Y)
	g.data = data
	return g
}

// function returns a random function of the unit cube of that kind.
func function(kind string, d, n int, rng *rand.Rand) func([]float64) float64 {
	w, phase := make([]float64, d), rng.Float64()
	for j := range w {
		w[j] = rng.NormFloat64() * math.Pow(10, -1.5*rng.Float64())
	}
	dot := func(x []float64) (s float64) {
		for j, v := range x {
			s += w[j] * v
		}
		return s
	}
	per := math.Pow(float64(n), 1/float64(d)) / 12 * (0.5 + 2*rng.Float64()) // cycles that the rows can follow
	switch kind {
	case "periodic":
		return func(x []float64) float64 { return math.Sin(2*math.Pi*(per*x[0]+phase)) + 0.3*dot(x) }
	case "steps":
		return func(x []float64) float64 { return math.Floor(4*x[0]+2*phase) + math.Floor(3*x[len(x)-1]) }
	case "trend":
		return func(x []float64) float64 { return 5*dot(x) + 0.5*math.Sin(2*math.Pi*per*x[0]) }
	case "groups":
		level := make([]float64, 200)
		for i := range level {
			level[i] = rng.NormFloat64()
		}
		return func(x []float64) float64 { return level[int(x[1])] * (1 - math.Exp(-3*x[0])) }
	case "branin":
		return branin
	}
	return func(x []float64) float64 {
		s := math.Sin(4*dot(x) + phase)
		for j, v := range x {
			s += w[j] * v * v
		}
		return s
	}
}

func branin(x []float64) float64 {
	a, b := 15*x[0]-5, 15*x[1]
	t := b - 5.1/(4*math.Pi*math.Pi)*a*a + 5/math.Pi*a - 6
	return t*t + 10*(1-1/(8*math.Pi))*math.Cos(a) + 10
}

// hypercube returns a Latin hypercube of n rows in the unit cube.
func hypercube(rng *rand.Rand, n, d int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, d)
	}
	for j := range d {
		for i, k := range rng.Perm(n) {
			rows[i][j] = (float64(k) + rng.Float64()) / float64(n)
		}
	}
	return rows
}

// grid returns a full grid of about n rows.
func grid(n, d int) [][]float64 {
	side := max(int(math.Round(math.Pow(float64(n), 1/float64(d)))), 2)
	total := 1
	for range d {
		total *= side
	}
	rows := make([][]float64, total)
	for i := range rows {
		rows[i] = make([]float64, d)
		for j, k := 0, i; j < d; j, k = j+1, k/side {
			rows[i][j] = float64(k%side) / float64(side-1)
		}
	}
	return rows
}

// groups returns rows of a time and a group number, 5 to 12 rows a group.
func groups(rng *rand.Rand, n int) (rows [][]float64) {
	for g := 0; len(rows) < n; g++ {
		for range 5 + rng.IntN(8) {
			rows = append(rows, []float64{rng.Float64(), float64(g % 200)})
		}
	}
	return rows
}

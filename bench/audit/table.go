package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"bbgp.dev/bbgp"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// A problem is a random table with parameters, the rows to predict, and how the
// program is asked to compute.
type problem struct {
	seed   uint64
	number int
	words  []string // the recipe
	data   *bbgp.Data
	params bbgp.Params
	test   linalg.Matrix
	plain  bool // without scaling
	dense  bool // the dense methods are what is judged
	rank   int  // of the preconditioner and its neighbours, as in bbgp.Options
	near   int
	rng    *rand.Rand // for what is drawn later
}

func (p *problem) recipe() string {
	return fmt.Sprintf("-seed %d -case %d: %s", p.seed, p.number, strings.Join(p.words, ", "))
}

func (p *problem) say(format string, args ...any) {
	p.words = append(p.words, fmt.Sprintf(format, args...))
}

// options are those that the program is asked with.
func (p *problem) options() bbgp.Options {
	o := bbgp.Options{NoScale: p.plain, NoDense: !p.dense, Rank: p.rank, Neighbours: p.near, Seed: uint64(p.number)}
	o.Method = "bbgp"
	if p.dense {
		o.Method = "exact"
	}
	return o
}

// between draws from a to b, uniform in the logarithm.
func between(rng *rand.Rand, a, b float64) float64 {
	return a * math.Pow(b/a, rng.Float64())
}

// draw makes problem number i of a seed, of at most maxRows rows.
func draw(seed uint64, i, minRows, maxRows int) *problem {
	rng := rand.New(rand.NewPCG(seed, uint64(i)))
	p := &problem{seed: seed, number: i, rng: rng}
	n := int(between(rng, float64(minRows), float64(maxRows)+1))
	d := []int{1, 1, 1, 2, 2, 2, 3, 3, 4, 6, 10, 30}[rng.IntN(12)]
	rows := []int{12, 300}[rng.IntN(2)] // few rows are iterated, many measured by probes
	p.say("n = %d, D = %d", n, d)
	x := linalg.NewMatrix(n+rows, d)
	p.inputs(x, n)
	p.test = x.Sub(n, n+rows, 0, d).Clone()
	p.data = &bbgp.Data{X: x.Sub(0, n, 0, d).Clone(), Y: make([]float64, n)}
	p.targets()
	p.parameters(d)
	p.way(n)
	return p
}

// inputs fills x, training rows first, n of them.
func (p *problem) inputs(x linalg.Matrix, n int) {
	rng, d := p.rng, x.Cols
	kinds := []string{"uniform", "clustered", "gridded", "repeated", "near-repeated", "heavy-tailed", "sentinels",
		"correlated", "integer",
		"nearly constant", "far clusters", "offset", "mixed scales", "normal"}
	kind := kinds[rng.IntN(len(kinds))]
	p.say("inputs %s", kind)
	for i := range x.Rows {
		row := x.Row(i)
		for j := range row {
			row[j] = rng.NormFloat64()
			switch kind {
			case "uniform":
				row[j] = rng.Float64()
			case "clustered":
				row[j] = float64((i*7+j)%5) + 0.01*row[j]
			case "gridded":
				row[j] = math.Round(8*row[j]) / 8
			case "heavy-tailed":
				row[j] /= math.Abs(rng.NormFloat64()) + 1e-3
			case "integer":
				row[j] = math.Round(4 * row[j])
			case "correlated":
				row[j] = row[0] + 1e-3*row[j]*float64(min(j, 1))
			case "nearly constant":
				row[j] = 5 + 1e-7*row[j]
			case "far clusters":
				row[j] += 1e4 * float64(i%3)
			case "offset":
				row[j] += 1e6
			case "mixed scales":
				row[j] *= math.Pow(10, float64(6*j%13-6))
			case "sentinels":
				if i < n && rng.IntN(40) == 0 {
					row[j] = -999
				}
			}
		}
		from := rng.IntN(i + 1)
		if kind == "repeated" && rng.IntN(3) == 0 {
			copy(row, x.Row(from))
		}
		if kind == "near-repeated" && rng.IntN(2) == 0 {
			near := between(rng, 1e-12, 1e-3)
			for j, v := range x.Row(from) {
				row[j] = v + near*rng.NormFloat64()
			}
		}
	}
	// A few rows to predict stand at training rows, and one far outside.
	for k := range 3 {
		copy(x.Row(n+k), x.Row(k%n))
	}
	for j := range d {
		x.Set(n+3, j, 30*x.At(n+3, j))
	}
}

// targets fills the target.
func (p *problem) targets() {
	rng, y := p.rng, p.data.Y
	kinds := []string{"smooth", "noisy", "steps", "outliers", "linear", "noise"}
	kind := kinds[rng.IntN(len(kinds))]
	p.say("target %s", kind)
	s := gp.Standardise(p.data.X, p.data.Y, gp.PaperFloor)
	std := linalg.NewMatrix(1, p.data.X.Cols)
	for i := range y {
		s.XTo(std, p.data.X.Sub(i, i+1, 0, std.Cols))
		a, b := std.Data[0], 0.0
		for _, v := range std.Data {
			b += v
		}
		b /= math.Sqrt(float64(len(std.Data)))
		switch kind {
		case "smooth":
			y[i] = math.Sin(2*a) + math.Cos(b)
		case "noisy":
			y[i] = math.Sin(2*a) + 0.3*rng.NormFloat64()
		case "steps":
			y[i] = math.Floor(2*a) + 0.01*rng.NormFloat64()
		case "outliers":
			y[i] = b
			if rng.IntN(30) == 0 {
				y[i] += 100 * rng.NormFloat64()
			}
		case "linear":
			y[i] = 3 + 2*b
		case "noise":
			y[i] = rng.NormFloat64()
		}
	}
}

// parameters draws those of the model, in the units that it is asked in.
func (p *problem) parameters(d int) {
	rng := p.rng
	kernels := gp.Families()
	p.plain = rng.IntN(2) == 0
	s := gp.Standardise(p.data.X, p.data.Y, gp.PaperFloor)
	q := bbgp.Params{Kernel: kernels[rng.IntN(len(kernels))], Mean: 0.1, Variance: between(rng, 0.1, 10),
		Lengthscales: make([]float64, d)}
	q.Noise = q.Variance * between(rng, 1e-8, 1)
	base := between(rng, 0.02, 10)
	if rng.IntN(6) == 0 {
		base = between(rng, 10, 1e4)
	}
	for j := range q.Lengthscales {
		l := base * between(rng, 0.5, 2)
		if p.plain {
			l *= s.XScale[j]
		}
		if d > 3 && rng.IntN(4) == 0 {
			l = math.Inf(1)
		}
		q.Lengthscales[j] = l
	}
	if p.plain {
		q.Mean, q.Variance, q.Noise = s.YMean+0.1*s.YScale, q.Variance*s.YScale*s.YScale, q.Noise*s.YScale*s.YScale
	}
	p.params = q
	p.say("%s, variance %.3g, noise/variance %.3g, lengthscales about %.3g, scaled %v", q.Kernel, q.Variance,
		q.Noise/q.Variance, base, !p.plain)
}

// ways are the ways to compute: dense, with a preconditioner of low rank, one of neighbours,
// or as chosen.
const ways = 4

// way draws how the program is to compute.
func (p *problem) way(n int) { p.take(p.rng.IntN(ways), n) }

// otherWays returns the problem to be computed in the ways that were not drawn.
func (p *problem) otherWays() (all []*problem) {
	for w := range ways {
		q := *p
		q.words = slices.Clone(p.words[:len(p.words)-1])
		q.dense, q.rank, q.near = false, 0, 0
		q.take(w, len(p.data.Y))
		if q.words[len(q.words)-1] != p.words[len(p.words)-1] {
			all = append(all, &q)
		}
	}
	return all
}

// take sets the way to compute.
func (p *problem) take(way, n int) {
	switch way {
	case 0:
		p.dense = true
		p.say("dense")
	case 1:
		p.rank, p.near = max(1, min(200, n/2)), -1
		p.say("rank %d", p.rank)
	case 2:
		p.rank, p.near = -1, min(32, n)
		p.say("%d neighbours", p.near)
	default:
		p.say("preconditioner as chosen")
	}
}

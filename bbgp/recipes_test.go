package bbgp

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"bbgp.dev/internal/gptest"
	"bbgp.dev/internal/train"
	"bbgp.dev/linalg"
)

// A recipe makes data that hide their structure from a search that begins on few random
// rows, and starts from which it is found.
type hiddenRecipe struct {
	name   string
	make   func(rng *rand.Rand) *Data
	starts []Params
	long   bool // more than a second or two
}

// filled returns n rows of d inputs and a target.
func filled(n, d int, row func(i int, x []float64) float64) *Data {
	t := &Data{X: linalg.NewMatrix(n, d), Y: make([]float64, n)}
	for i := range n {
		t.Y[i] = row(i, t.X.Row(i))
	}
	return t
}

// startAt returns parameters with these lengthscales.
func startAt(noise float64, lengths ...float64) Params {
	p := DefaultParams("", len(lengths))
	p.Noise, p.Lengthscales = noise, lengths
	return p
}

// sensors has six inputs of a sensor and one term that two of them make.
func sensors(n int) func(rng *rand.Rand) *Data {
	return func(rng *rand.Rand) *Data {
		return filled(n, 6, func(_ int, x []float64) float64 {
			gamma := 0.0
			for range 9 {
				gamma += rng.ExpFloat64()
			}
			u := []float64{rng.Float64(), rng.Float64(), rng.Float64()}
			slices.Sort(u)
			copy(x, []float64{50*rng.Float64() - 10, 11 * gamma, 4 * math.Sqrt(rng.ExpFloat64()), 100 * u[1],
				360 * rng.Float64(), 5 * rng.NormFloat64()})
			h := (x[3] - 50) / 15
			return 20 + 5*math.Sin(x[0]/6) + 0.03*x[1]*math.Tanh(x[2]/3) + 2*math.Exp(-h*h)*math.Cos(x[4]/40) +
				0.2*math.Sqrt(math.Abs(x[5]))*x[2] + 0.5*rng.NormFloat64()
		})
	}
}

func recipes() []hiddenRecipe {
	line := func(n int, f func(x float64) float64) func(*rand.Rand) *Data {
		return func(*rand.Rand) *Data {
			return filled(n, 1, func(i int, x []float64) float64 {
				x[0] = float64(i) / float64(n-1)
				return f(x[0])
			})
		}
	}
	return []hiddenRecipe{
		{name: "sine", make: line(300, func(x float64) float64 { return math.Sin(32 * math.Pi * x) }),
			starts: []Params{startAt(1e-4, 0.1), startAt(0.01, 0.3)}},
		{name: "trend and sine", make: line(300, func(x float64) float64 { return 3*x + math.Sin(24*math.Pi*x) }),
			starts: []Params{startAt(1e-4, 0.3), startAt(0.01, 1)}},
		{name: "plane", make: func(rng *rand.Rand) *Data {
			return filled(900, 2, func(_ int, x []float64) float64 {
				x[0], x[1] = rng.Float64(), rng.Float64()
				return math.Sin(8*math.Pi*x[0])*math.Cos(8*math.Pi*x[1]) + 5*x[0] + 0.05*rng.NormFloat64()
			})
		}, starts: []Params{startAt(0.01, 0.4, 0.4)}},
		{name: "grid", make: func(*rand.Rand) *Data {
			return filled(900, 2, func(i int, x []float64) float64 {
				x[0], x[1] = float64(i/30)/29, float64(i%30)/29
				return math.Sin(10*math.Pi*x[0]) * math.Cos(10*math.Pi*x[1])
			})
		}, starts: []Params{startAt(1e-3, 0.3, 0.3)}},
		{name: "groups", make: func(rng *rand.Rand) *Data {
			d := &Data{}
			var rows [][]float64
			for g := range 50 {
				height := 1 + 4*rng.Float64()
				for range 5 + rng.IntN(8) {
					x := 10 * rng.Float64()
					rows, d.Y = append(rows, []float64{x, float64(g + 1)}),
						append(d.Y, height/(1+math.Exp(5-x))+0.1*rng.NormFloat64())
				}
			}
			return filled(len(rows), 2, func(i int, x []float64) float64 { copy(x, rows[i]); return d.Y[i] })
		}, starts: []Params{startAt(0.01, 1, 0.05), startAt(0.01, 1, 0.2)}},
		{name: "sensors 2000", make: sensors(2000), starts: []Params{startAt(1, 1, 1, 1, 1, 1, 1)}, long: true},
		{name: "sensors 4000", make: sensors(4000), starts: []Params{startAt(1, 1, 1, 1, 1, 1, 1)}, long: true},
		{name: "g-function", make: func(rng *rand.Rand) *Data {
			return filled(2000, 6, func(_ int, x []float64) float64 {
				y := 1.0
				for j, a := range []float64{0, 1, 4.5, 9, 99, 99} {
					x[j] = rng.Float64()
					y *= (math.Abs(4*x[j]-2) + a) / (1 + a)
				}
				return y + 0.06*rng.NormFloat64()
			})
		}, starts: []Params{startAt(1, 1, 1, 1, 1, 1, 1)}, long: true},
	}
}

// TestSearchRecipes: the search ends no lower than the training does from a start in the
// right basin, for every seed.
func TestSearchRecipes(t *testing.T) {
	long := os.Getenv("BBGP_LONG") != ""
	for _, r := range recipes() {
		t.Run(r.name, func(t *testing.T) {
			if r.long && !long {
				t.Skip("BBGP_LONG is not set: thousands of rows, five seeds")
			}
			seeds := uint64(1)
			if long {
				seeds = 5
			}
			for seed := range seeds {
				d := r.make(rand.New(rand.NewPCG(seed, 16)))
				m, err := Fit(context.Background(), d, Options{Engine: gptest.Engine(t), Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				best, se := math.Inf(-1), 0.0
				for i := range r.starts {
					ref, err := Fit(context.Background(), d, Options{Engine: gptest.Engine(t),
						Seed: seed, Start: &r.starts[i]})
					if err != nil {
						t.Fatal(err)
					}
					if ref.Result.LML > best {
						best, se = ref.Result.LML, ref.Result.StdErr
					}
				}
				got := &m.Result
				t.Logf("seed %d: %.2f ± %.2g, from starts in the basin %.2f; noise %.3g, %.2f CPU s, by %s from %s",
					seed, got.LML, got.StdErr, best, got.Parameters.Noise, got.CPUSeconds, train.Live(got.Starts)[0].By,
					train.Live(got.Starts)[0].From)
				if got.LML < best-1-math.Hypot(got.StdErr, se) {
					t.Errorf("seed %d: %.2f ± %.2g, a start in the basin %.2f ± %.2g",
						seed, got.LML, got.StdErr, best, se)
				}
			}
		})
	}
}

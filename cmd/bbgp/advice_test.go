package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/linalg"
)

// advised fits from the given parameters and returns the advice; noise is a standard
// draw for each row.
func advised(t *testing.T, n, d int, rng *rand.Rand, f func(x []float64) float64,
	noise func(x []float64) float64) *bbgp.Model {
	t.Helper()
	x, y := linalg.NewMatrix(n, d), make([]float64, n)
	plan := &inputs.Plan{Target: "y", Rule: "stop"}
	for j := range d {
		plan.Inputs = append(plan.Inputs, inputs.Input{Name: fmt.Sprintf("x%d", j),
			Kind: inputs.Number, Low: 0, High: 1})
	}
	set := &inputs.Set{X: x, Y: y}
	for i := range n {
		for j := range d {
			x.Set(i, j, rng.Float64())
		}
		y[i] = f(x.Row(i)) + noise(x.Row(i))
		set.Rows = append(set.Rows, i)
	}
	ts := &trainingSet{plan: plan, set: set, data: &bbgp.Data{X: x, Y: y, Names: plan.Names(), Target: "y"}}
	m, err := bbgp.Fit(t.Context(), ts.data, bbgp.Options{MaxSteps: 12, Restarts: 1, Method: "exact"})
	if err != nil {
		t.Fatal(err)
	}
	if err := advise(t.Context(), &fitFlags{}, ts, m, nil); err != nil {
		t.Fatal(err)
	}
	return m
}

// Noise that is the same everywhere raises no alarm, of its spread or of rows, whatever
// its law: less than 1 in 100, and with normal noise none at all.
func TestEvenNoiseRaisesNoAlarm(t *testing.T) {
	alarms := map[string]int{}
	seeds := uint64(70)
	if long() {
		seeds = 200
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 91))
		law := []func() float64{rng.NormFloat64, func() float64 { return rng.Float64()*3.4 - 1.7 },
			func() float64 { return rng.NormFloat64() / math.Sqrt((rng.ExpFloat64()+rng.ExpFloat64())/2) }}[seed%3]
		sd := []float64{0.05, 0.3, 1}[seed/3%3]
		m := advised(t, 60+int(seed%5)*20, 1+int(seed%2), rng,
			func(x []float64) float64 { return math.Sin(9*x[0]) + 4*x[len(x)-1] + 9 },
			func([]float64) float64 { return sd * law() })
		for _, w := range m.Result.Warnings {
			switch {
			case strings.Contains(w, "the spread of the residuals"):
				alarms["spread"]++
			case strings.Contains(w, "far off") && seed%3 == 0:
				alarms["rows"]++
			default:
				continue
			}
			t.Logf("seed %d: %s", seed, w)
		}
	}
	if alarms["spread"] > int(seeds/100) || alarms["rows"] > 0 {
		t.Errorf("%v of %d", alarms, seeds)
	}
}

// Noise that spreads with an input or with the prediction is said, with what to do.
func TestUnevenNoiseIsSaid(t *testing.T) {
	for _, c := range []struct {
		name  string
		f     func(x []float64, z float64) float64
		words []string
		not   string
	}{
		{"grows with an input", func(x []float64, z float64) float64 { return math.Sin(7*x[0]) + (0.03+x[1])*z },
			[]string{"grows with x1", "--weight"}, "logarithm"},
		{"falls with an input", func(x []float64, z float64) float64 { return 3*x[1] + math.Exp(-3*x[0])*z },
			[]string{"falls with x0", "--weight"}, "logarithm"},
		{"lognormal", func(x []float64, z float64) float64 { return math.Exp(3*math.Sin(3*x[0])*x[1] + 0.3*z) },
			[]string{"grows with the prediction", "y is positive: take its logarithm"}, "--weight"},
		{"relative", func(x []float64, z float64) float64 { return (1 + 20*x[0]*x[1]) * (1 + 0.1*z) },
			[]string{"grows with the prediction", "logarithm"}, "--weight"},
		{"negative", func(x []float64, z float64) float64 { return (1+20*x[0]*x[1])*(1+0.1*z) - 9 },
			[]string{"grows with the prediction", "--weight"}, "logarithm"},
	} {
		rng := rand.New(rand.NewPCG(5, 6))
		m := advised(t, 200, 2, rng, func(x []float64) float64 { return 0 },
			func(x []float64) float64 { return c.f(x, rng.NormFloat64()) })
		said := ""
		for _, w := range m.Result.Warnings {
			if strings.Contains(w, "the spread of the residuals") {
				said = w
			}
		}
		for _, w := range c.words {
			if !strings.Contains(said, w) || strings.Contains(said, c.not) {
				t.Errorf("%s: no %q: %v", c.name, w, m.Result.Warnings)
			}
		}
	}
}

// A table that a fit nearly goes through, with rows of unequal leverage, is clean.
func TestLeverageIsNoOutlier(t *testing.T) {
	for seed := range uint64(2) {
		rng := rand.New(rand.NewPCG(seed, 900))
		wave := func(x []float64) float64 { return math.Sin(8*math.Pi*x[0])*math.Cos(8*math.Pi*x[1]) + 5*x[0] }
		m := advised(t, 900, 2, rng, wave, func([]float64) float64 { return 0.05 * rng.NormFloat64() })
		if said := strings.Join(m.Result.Warnings, "\n"); strings.Contains(said, "far off") {
			t.Error(said)
		}
	}
}

// Targets that are no quantities: what can be done is said in a line, by check and fit.
func TestTargetsOfClasses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name  string
		value func(i int) string
		words string
		code  int
	}{
		{"0 and 1", func(i int) string { return fmt.Sprint(i / 3 % 2) },
			"target y has two values, 0 and 1: the mean is a rough guess of the share of 1", exitOK},
		{"1 and 2", func(i int) string { return fmt.Sprint(1 + i/4%2) }, "target y has two values, 1 and 2", exitOK},
		{"stars", func(i int) string { return fmt.Sprint(1 + i/2%5) },
			"target y has only 5 values, 1, 2, 3, 4, 5", exitOK},
		{"yes and no", func(i int) string { return []string{"no", "yes"}[i/3%2] },
			`write 0 for "no" and 1 for "yes"`, exitData},
		{"words", func(i int) string { return []string{"low", "mid", "high"}[i%3] },
			"classes take a classifier", exitData},
		{"names", func(i int) string { return fmt.Sprintf("n%c%d", 'a'+i%26, i) },
			"name a column of numbers with --target", exitData},
		{"a quantity", func(i int) string { return fmt.Sprint(i * i % 17) }, "", exitOK},
	} {
		var b strings.Builder
		b.WriteString("x,y\n")
		for i := range 40 {
			fmt.Fprintf(&b, "%d.5,%s\n", i, c.value(i))
		}
		data := write(t, dir, "d.csv", b.String())
		for _, args := range [][]string{{"check", data, "--target", "y"},
			{"fit", data, "--target", "y", "--max-steps", "3", "--progress", "none"}} {
			r := want(t, c.code, args...)
			if said := r.out + r.err; !strings.Contains(said, c.words) || c.words == "" &&
				strings.Contains(said, "target y has") || strings.Contains(said, "far off") {
				t.Errorf("%s: %q: %s", c.name, args, said)
			}
		}
	}
}

// A straight line is a note with the size of the effect and no warning.
func TestStraightLineIsANote(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var rows [][]float64
	for range 200 {
		x, z := rng.Float64(), rng.Float64()
		rows = append(rows, []float64{x, 10 * z, math.Sin(5*x) + 1.5*z + 0.3*rng.NormFloat64()})
	}
	f := fitCase(t, csvOf(t, t.TempDir(), "d.csv", "x,z,y", rows), "--kernel", "matern32")
	notes, warnings := strings.Join(f.report.Notes, "\n"), strings.Join(f.report.Warnings, "\n")
	var change float64
	_, line, _ := strings.Cut(notes, "nearly linear, with what it does to y from its least value to its greatest: ")
	if _, err := fmt.Sscanf(line, "z (%g)", &change); err != nil || math.Abs(change-1.5) > 0.3 ||
		strings.Contains(warnings, "z") {
		t.Errorf("notes %s, warnings %s", notes, warnings)
	}
}

// Rows outside the training rows are told apart by how far outside they are.
func TestOutsideByHowFar(t *testing.T) {
	plan := &inputs.Plan{Target: "yield", Rule: "stop", Inputs: []inputs.Input{
		{Name: "a", Column: "a", Kind: inputs.Number, Low: 0, High: 10},
		{Name: "line", Column: "line", Kind: inputs.Number, Low: -1, High: 1},
		{Name: "dead", Column: "dead", Kind: inputs.Number, Low: 0, High: 1}}}
	plan.Know(inputs.Prior{Mean: 40.25, SD: 3, Scales: []float64{4, 200, math.Inf(1)}})
	const little, between, lost = "by little", "well outside", "falls back to the mean, yield = 40.25 with an sd of 3"
	for _, c := range []struct {
		x    []float64
		want string
	}{
		{[]float64{5, 0, 0.5}, ""}, {[]float64{10.5, 0, 0.5}, little}, {[]float64{-0.9, 1.05, 0.5}, little},
		{[]float64{13, 0, 0.5}, between},
		{[]float64{5, 9, 0.5}, between}, {[]float64{5, 0, 30}, between}, {[]float64{19, 0, 0.5}, lost},
		{[]float64{5, 900, 0.5}, lost},
	} {
		x := linalg.NewMatrix(1, 3)
		copy(x.Row(0), c.x)
		note := strings.Join(plan.OutsideNotes(x), "; ")
		for _, grade := range []string{little, between, lost} {
			if strings.Contains(note, grade) != (grade == c.want) {
				t.Errorf("%v: %q", c.x, note)
			}
		}
	}
}

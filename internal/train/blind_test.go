package train

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/gp"
)

// Random rows lead where a smooth function of many inputs has no noise, and neighbours where it has.
func TestBlindNeighbours(t *testing.T) {
	if testing.Short() {
		t.Skip("a search of 8000 rows")
	}
	for _, noise := range []float64{0, 0.3} {
		r := rand.New(rand.NewPCG(8, 9))
		n := 3000
		if noise == 0 {
			n = 8000
		}
		f := searchOf(t, filled(n, 8, func(_ int, x []float64) float64 {
			y := noise * r.NormFloat64()
			for j := range x {
				x[j] = r.NormFloat64()
				y += math.Sin(x[j]) + 0.6*math.Cos(1.3*(x[j]-x[max(j-1, 0)]))
			}
			return y
		}), true)
		live, err := f.search(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Starts {
			t.Logf("noise %g: %s by %s, %.4g; %s", noise, c.From, c.By, float64(c.Value), c.Dropped)
		}
		if f.blind != (noise == 0) || f.blind && (len(live) != 1 || live[0].Rows != 1500) {
			t.Errorf("noise %g: blind %v, %d candidates, the first by %s of %d rows", noise, f.blind,
				len(live), live[0].By, live[0].Rows)
		}
	}
}

// What grew by a factor when the rows grew by another goes on so; what is out stays out.
func TestContinued(t *testing.T) {
	p, q := startAt(1e-3, 2, 3, math.Inf(1)), startAt(1e-6, 4, 3, math.Inf(1))
	p.Variance, q.Variance = 10, 5
	got := continued(p, q, cost.LevelGrowth*cost.LevelGrowth)
	for i, want := range []float64{16, 3, 1.25, 1e-6} {
		is := append(append([]float64{}, got.Lengthscales[:2]...), got.Variance, got.Noise)[i]
		if math.Abs(is-want) > 1e-9*want {
			t.Errorf("number %d: %v, want %v", i, is, want)
		}
	}
	if !math.IsInf(got.Lengthscales[2], 1) {
		t.Error("an input that is out came in")
	}
	// The variance would go to e⁴: both stop at three quarters of the way, at one σ_f²/ℓ³.
	p, q = startAt(1e-3, 1), startAt(1e-3, math.Exp(2./3))
	p.Variance, q.Variance = 1, math.Exp(2)
	got = continued(p, q, cost.LevelGrowth*cost.LevelGrowth)
	for i, want := range []float64{5, 5. / 3} {
		if is := math.Log([]float64{got.Variance, got.Lengthscales[0]}[i]); math.Abs(is-want) > 1e-9 {
			t.Errorf("number %d: e^%v, want e^%v", i, is, want)
		}
	}
}

// Random rows lead large tables of which neighbours leave hundreds of nats open, but only where a tenth of a nat a row
// is open are neighbours said to be blind.
func TestLeavesOpen(t *testing.T) {
	for _, c := range []struct {
		rows, inputs int
		open         float64
		lead, blind  bool
	}{
		{40000, 5, 600, false, false}, {60000, 5, 600, true, false}, {60000, 5, 400, false, false},
		{60000, 5, 7000, true, true}, {2000, 5, 300, true, true}, {60000, 2, 600, false, false},
	} {
		p := gp.DefaultParams("matern32", c.inputs)
		if lead, blind := leavesOpen(c.rows, c.open, p); lead != c.lead || blind != c.blind {
			t.Errorf("%d rows of %d inputs, %v nats open: random rows lead %v, blind %v", c.rows, c.inputs, c.open,
				lead, blind)
		}
	}
}

// Random rows whose end neighbours see, and see too far behind, do not lead: what neighbours have found is there as it
// was. Where neighbours are blind their word does not count.
func TestRandomLead(t *testing.T) {
	const open, name = 20, "by neighbours"
	r := rand.New(rand.NewPCG(3, 4))
	d := filled(1000, 5, func(_ int, x []float64) float64 {
		for j := range x {
			x[j] = r.NormFloat64()
		}
		return math.Sin(2*x[0]) + 0.5*x[1] + 0.3*r.NormFloat64()
	})
	lead := func(blind bool, value float64) (f *Search, found []*Candidate, seen float64) {
		f = searchOf(t, d, true)
		f.blind = blind
		f.Starts = []Candidate{
			{From: "all ones", By: "subset", Rows: 100, Parameters: gp.DefaultParams("matern32", 5)},
			{From: name, By: "vecchia", Parameters: gp.DefaultParams("matern32", 5)},
		}
		c, err := newComparer(f)
		if err != nil {
			t.Fatal(err)
		}
		if found, err = f.randomLead(context.Background(), c, f.Starts, value, open); err != nil {
			t.Fatal(err)
		}
		if found != nil {
			parts, err := c.at(context.Background(), found[0].Parameters, screenNear)
			if err != nil {
				t.Fatal(err)
			}
			seen = sum(parts)
		}
		return f, found, seen
	}
	_, _, seen := lead(false, math.Inf(-1))
	edge := seen + screenBehind*open
	for _, k := range []struct {
		blind bool
		value float64
		leads bool
	}{{false, edge - 1, true}, {false, edge + 1, false}, {true, edge + 1, true}} {
		f, found, _ := lead(k.blind, k.value)
		first, second := f.Starts[0], f.Starts[1]
		if first.Evaluations == 0 {
			t.Errorf("%+v: the fits of random rows are not counted", k)
		}
		if k.leads && (len(found) != 1 || found[0].By != "subset" || first.Rows != 300 || second.Dropped == "") {
			t.Errorf("%+v: %d candidates, %d rows; of the other: %q", k, len(found), first.Rows, second.Dropped)
		}
		same := slices.Equal(first.Parameters.Lengthscales, gp.DefaultParams("matern32", 5).Lengthscales)
		if !k.leads && (found != nil || first.Rows != 100 || !same || second.Dropped != "") {
			t.Errorf("%+v: %d candidates, %d rows; of the other: %q", k, len(found), first.Rows, second.Dropped)
		}
	}
}

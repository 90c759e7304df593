package cost

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
)

// The choices by the standard costs are what they were when these were constants
// of the code: every result depends on them.
func TestStandardChoices(t *testing.T) {
	c := StandardCosts()
	for _, want := range [][2]int{{100, 288}, {8421, 288}, {8422, 384}, {11121, 384}, {13921, 384}, {13922, 480},
		{20796, 480}, {20797, 576}, {40000, 576}} {
		if r := MostRank(want[0], &c); r != want[1] {
			t.Errorf("%d rows: rank %d, want %d", want[0], r, want[1])
		}
	}
	for _, k := range []struct {
		n, d, m    int
		prec       kernelmv.Precision
		seen       History
		uses, want int
	}{
		{500, 3, 0, kernelmv.F32, History{}, 1, 32},
		{2000, 8, 0, kernelmv.F32, History{}, 1, 48},
		{11121, 18, 0, kernelmv.F32, History{}, 1, 64},
		{11643, 17, 192, kernelmv.F64, History{Passes: 4, Neighbours: 48, Rows: 1940}, 1, 64},
		{10050, 26, 0, kernelmv.F32, History{Passes: 5, Neighbours: 32, Rows: 1672}, 1, 64},
		{26800, 8, 192, kernelmv.F64, History{Passes: 18, Neighbours: 48, Rows: 4466}, 1, 128},
		{26800, 8, 0, kernelmv.F64, History{Passes: 18, Neighbours: 48, Rows: 4466}, 5, 256},
		{100000, 8, 0, kernelmv.F32, History{}, 3, 192},
		{5000, 4, 100, kernelmv.F32, History{Passes: 3, Neighbours: 64, Rows: 5000}, 2, 32},
	} {
		if nn := Neighbours(k.n, k.d, k.m, k.prec, Request{Seen: k.seen, Uses: k.uses}); nn != k.want {
			t.Errorf("%+v: %d neighbours", k, nn)
		}
	}
	for _, want := range [][2]int{{1, 624}, {2, 630}, {8, 666}, {18, 726}, {26, 775}, {100, 1230}} {
		if last := lastExact(want[0], nil); last != want[1] {
			t.Errorf("%d inputs: exact up to %d rows, want %d", want[0], last, want[1])
		}
	}
}

// On maps the costs are those that were measured: in three inputs 96 neighbours at 1e5 places of ℓ .22 of the side, 128
// at 1e6 with ℓ .1, where 96 take 9 passes and 192 take 3; 48 for the rough function of 1.7e6 places in the plane.
// Without products below n² nothing is as there.
func TestNeighboursOfMaps(t *testing.T) {
	for _, k := range []struct {
		n, d, uses, passes, near int
		rough                    bool
		work                     float64
		want                     int
	}{
		{99707, 3, 1, 3, 64, false, 30541, 96},
		{99707, 3, 1, 2, 96, false, 30541, 96},
		{1000000, 3, 1, 3, 96, false, 39492, 128},
		{99707, 3, 5, 3, 64, false, 30541, 128},
		{1000000, 2, 1, 3, 96, false, 5549, 64},
		{1723137, 2, 1, 2, 48, false, 13000, 64},
		{1723137, 2, 0, 2, 48, true, 6000, 48}, // a likelihood by itself
		{1723137, 2, 1, 2, 48, true, 6000, 32}, // the first of a training
		{105569, 2, 5, 2, 64, true, 13000, 64},
		{99707, 8, 1, 3, 64, false, 99707, 128},
	} {
		opt := Request{Uses: k.uses, RowWork: k.work, H2: k.d <= 3,
			Seen: History{Passes: k.passes, Neighbours: k.near, Rows: min(k.n/6, 30000), Rough: k.rough}}
		if nn := Neighbours(k.n, k.d, 0, kernelmv.F32, opt); nn != k.want {
			t.Errorf("%+v: %d neighbours", k, nn)
		}
	}
}

// lastExact is the most rows that method exact is chosen for.
func lastExact(d int, c *Costs) int {
	last := 0
	for n := range 3000 {
		if method, _ := Method(n, d, OrStandard(c), 0); method == "exact" {
			last = n
		}
	}
	return last
}

// Precond sees the costs in its rank and its neighbours.
func TestChoosePrecondCosts(t *testing.T) {
	const n = 20000
	noise := slices.Repeat([]float64{1e-4}, n)
	choose := func(c *Costs) (rank, near int) {
		set, _ := Precond(n, gp.DefaultParams("matern32", 8), noise, kernelmv.F32,
			Request{Rank: -1, Neighbours: -1, Costs: c})
		_, near = set.Decide(set.Rank, 0.9*n)
		return set.Rank, near
	}
	rank, near := choose(nil)
	if rank != 480 || near != 96 {
		t.Errorf("rank %d, %d neighbours", rank, near)
	}
	dear := scaled(func(c *Costs) { c.Pair32.Fixed *= 4; c.Pair32.Input *= 4 })
	if r, k := choose(dear); r <= rank || k <= near {
		t.Errorf("products four times as dear: rank %d, %d neighbours", r, k)
	}
	cheap := scaled(func(c *Costs) { c.Pair32.Fixed /= 8; c.Pair32.Input /= 8 })
	if r, k := choose(cheap); r >= rank || k >= near {
		t.Errorf("products eight times as cheap: rank %d, %d neighbours", r, k)
	}
	// Only ratios enter.
	ns := scaled(func(c *Costs) {
		for _, f := range c.fields() {
			*f.value *= 0.37
		}
	})
	if r, k := choose(ns); r != rank || k != near {
		t.Errorf("another unit: rank %d, %d neighbours", r, k)
	}
	if a, b := lastExact(8, ns), lastExact(8, nil); a != b {
		t.Errorf("another unit: exact up to %d rows, not %d", a, b)
	}
	if last := lastExact(8, scaled(func(c *Costs) { c.Dense /= 4 })); last <= 666 {
		t.Errorf("a cheap factor: exact up to %d rows", last)
	}
}

// scaled returns changed standard costs.
func scaled(change func(c *Costs)) *Costs {
	c := StandardCosts()
	change(&c)
	return &c
}

func TestChooseProbes(t *testing.T) {
	bike := func(passes, near int) Request {
		return Request{Seen: History{Passes: passes, Neighbours: near, Rows: 1940}}
	}
	for _, k := range []struct {
		name          string
		columns, near int
		prec          kernelmv.Precision
		opt           Request
		want          int
		says          string
	}{
		{"bike, 32 neighbours", 0, 32, kernelmv.F64, bike(5, 32), 15, "14.7 passes"},
		{"bike, 64 neighbours", 0, 64, kernelmv.F64, bike(3, 64), 15, "half the variance"},
		{"few passes", 192, 48, kernelmv.F64, bike(2, 48), 7, "5.9 passes"},
		{"float32", 0, 32, kernelmv.F32, bike(5, 32), 7, "block of 8"},
		{"no pilot", 0, 32, kernelmv.F64, Request{}, 7, "block of 8"},
		{"low rank alone", 300, 0, kernelmv.F64, Request{Seen: History{Passes: 40, Rows: 1940}}, 15, "117.2 passes"},
		{"asked for", 0, 32, kernelmv.F64, Request{Probes: 9, Seen: bike(5, 32).Seen}, 9, "as asked"},
		{"dear columns", 0, 32, kernelmv.F64, Request{Seen: bike(5, 32).Seen,
			Costs: scaled(func(c *Costs) { c.Wide64 *= 3 })}, 7, "14.7 passes"},
	} {
		if s, reason := Probes(11643, 17, k.columns, k.near, k.prec, k.opt); s != k.want ||
			!strings.Contains(reason, k.says) {
			t.Errorf("%s: %d probes, %s", k.name, s, reason)
		}
	}
}

// What a difference of times cannot tell is set to a share of the standard.
func TestCostFloor(t *testing.T) {
	const floor = 0.01
	c := scaled(func(c *Costs) {
		for _, f := range c.fields() {
			*f.value *= 2
		}
		c.Factor, c.Column, c.Entry.Fixed = -1, 0, 1e-9
	})
	c.AtLeast(floor)
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-12 }
	if std := StandardCosts(); !near(c.Factor, 2*floor*std.Factor) || !near(c.Column, 2*floor*std.Column) ||
		!near(c.Entry.Fixed, 2*floor*std.Entry.Fixed) || c.Dense != 2*std.Dense {
		t.Errorf("%+v", c)
	}
}

// Latents are for functions that are smooth between near rows of maps, and their number keeps passes and factors in
// balance.
func TestLatents(t *testing.T) {
	smooth, rough := []float64{.15, .3, .6, 1.2, 2.1, 3.5, 5}, []float64{5, 7, 15, 30, 50, 70, 90}
	auto := Request{Rank: -1, Neighbours: -1, H2: true, RowWork: 9000}
	for _, c := range []struct {
		n      int
		shares []float64
		least  int
		most   int
	}{{100000, smooth, 8000, 17000}, {1000000, smooth, 20000, 65536}, {100000, rough, 0, 0}} {
		if m, why := Latents(c.n, 2, kernelmv.F32, auto, c.shares); m < c.least || m > c.most || m > 0 && why == "" {
			t.Errorf("%d rows: %d latents: %s", c.n, m, why)
		}
	}
	near := auto
	near.Neighbours = 64
	for _, c := range []struct {
		n, d int
		opt  Request
		may  bool
	}{{100000, 2, auto, true}, {100000, 3, auto, false}, {10000, 2, auto, false}, {100000, 2, near, false},
		{100000, 2, Request{Rank: -1, Neighbours: -1}, false}} {
		if may := MayHaveLatents(c.n, c.d, c.opt); may != c.may {
			t.Errorf("%+v: %v", c, may)
		}
	}
}

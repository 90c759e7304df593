package bbgp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"bbgp.dev/kernelmv"
)

// The choices by the standard costs are what they were when these were constants
// of the code: every result depends on them.
func TestStandardChoices(t *testing.T) {
	c := StandardCosts()
	for _, want := range [][2]int{{100, 288}, {8421, 288}, {8422, 384}, {11121, 384}, {13921, 384}, {13922, 480}, {20796, 480}, {20797, 576}, {40000, 576}} {
		if r := mostRank(want[0], &c); r != want[1] {
			t.Errorf("%d rows: rank %d, want %d", want[0], r, want[1])
		}
	}
	for _, k := range []struct {
		n, d, m    int
		prec       kernelmv.Precision
		seen       seen
		uses, want int
	}{
		{500, 3, 0, kernelmv.F32, seen{}, 1, 32},
		{2000, 8, 0, kernelmv.F32, seen{}, 1, 48},
		{11121, 18, 0, kernelmv.F32, seen{}, 1, 64},
		{11643, 17, 192, kernelmv.F64, seen{passes: 4, neighbours: 48, rows: 1940}, 1, 64},
		{10050, 26, 0, kernelmv.F32, seen{passes: 5, neighbours: 32, rows: 1672}, 1, 64},
		{26800, 8, 192, kernelmv.F64, seen{passes: 18, neighbours: 48, rows: 4466}, 1, 128},
		{26800, 8, 0, kernelmv.F64, seen{passes: 18, neighbours: 48, rows: 4466}, 5, 256},
		{100000, 8, 0, kernelmv.F32, seen{}, 3, 192},
		{5000, 4, 100, kernelmv.F32, seen{passes: 3, neighbours: 64, rows: 5000}, 2, 32},
	} {
		if nn := neighbours(k.n, k.d, k.m, k.prec, EvalOptions{Seen: k.seen, Uses: k.uses}); nn != k.want {
			t.Errorf("%+v: %d neighbours", k, nn)
		}
	}
	for _, want := range [][2]int{{1, 624}, {2, 630}, {8, 666}, {18, 726}, {26, 775}, {100, 1230}} {
		if last := lastExact(want[0], nil); last != want[1] {
			t.Errorf("%d inputs: exact up to %d rows, want %d", want[0], last, want[1])
		}
	}
}

// lastExact is the most rows that method exact is chosen for.
func lastExact(d int, c *Costs) int {
	last := 0
	for n := range 3000 {
		o := Options{Costs: c}
		if o.chooseMethod(n, d); o.Method == "exact" {
			last = n
		}
	}
	return last
}

// choosePrecond sees the costs in its rank and its neighbours.
func TestChoosePrecondCosts(t *testing.T) {
	const n = 20000
	noise := slices.Repeat([]float64{1e-4}, n)
	choose := func(c *Costs) (rank, near int) {
		set, _ := choosePrecond(n, DefaultParams("matern32", 8), noise, kernelmv.F32, EvalOptions{Rank: -1, Neighbours: -1, Costs: c})
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
	bike := func(passes, near int) EvalOptions {
		return EvalOptions{Seen: seen{passes: passes, neighbours: near, rows: 1940}}
	}
	for _, k := range []struct {
		name          string
		columns, near int
		prec          kernelmv.Precision
		opt           EvalOptions
		want          int
		says          string
	}{
		{"bike, 32 neighbours", 0, 32, kernelmv.F64, bike(5, 32), 15, "14.7 passes"},
		{"bike, 64 neighbours", 0, 64, kernelmv.F64, bike(3, 64), 15, "half the variance"},
		{"few passes", 192, 48, kernelmv.F64, bike(2, 48), 7, "5.9 passes"},
		{"float32", 0, 32, kernelmv.F32, bike(5, 32), 7, "block of 8"},
		{"no pilot", 0, 32, kernelmv.F64, EvalOptions{}, 7, "block of 8"},
		{"low rank alone", 300, 0, kernelmv.F64, EvalOptions{Seen: seen{passes: 40, rows: 1940}}, 15, "117.2 passes"},
		{"asked for", 0, 32, kernelmv.F64, EvalOptions{Probes: 9, Seen: bike(5, 32).Seen}, 9, "as asked"},
		{"dear columns", 0, 32, kernelmv.F64, EvalOptions{Seen: bike(5, 32).Seen, Costs: scaled(func(c *Costs) { c.Wide64 *= 3 })}, 7, "14.7 passes"},
	} {
		if s, reason := chooseProbes(11643, 17, k.columns, k.near, k.prec, k.opt); s != k.want || !strings.Contains(reason, k.says) {
			t.Errorf("%s: %d probes, %s", k.name, s, reason)
		}
	}
}

// P is chosen for float64 products where the last evaluation tells that these will be
// needed, also on fewer rows, and not where float32 is asked for.
func TestLikely(t *testing.T) {
	d, p := smoothData(300, 3, 0.1), testParams("matern32", 3, 2e-3)
	o := mustObjective(t, d.table(), p)
	ev, err := o.Evaluate(context.Background(), p, EvalOptions{Eps: 1, Probes: 7, Rank: 20, Neighbours: 16})
	if err != nil {
		t.Fatal(err)
	}
	var s seen
	s.note(ev)
	if ev.Precision != "f32" || s.unsure <= 0 {
		t.Fatalf("precision %s, %v nats unsure: this says nothing", ev.Precision, s.unsure)
	}
	for _, k := range []struct {
		rows      int
		eps       float64
		precision string
		want      kernelmv.Precision
	}{
		{300, 2.1 * s.unsure, "auto", kernelmv.F32},
		{300, 1.9 * s.unsure, "auto", kernelmv.F64},
		{300, 1.9 * s.unsure, "f32", kernelmv.F32},
		{600, 15 * s.unsure, "auto", kernelmv.F64},
	} {
		if got := o.likely(k.rows, p, EvalOptions{Eps: k.eps, Precision: k.precision, Seen: s}); got != k.want {
			t.Errorf("%+v: precision %v", k, got)
		}
	}
}

// A report says why its products are in float32 or float64.
func TestPrecisionReason(t *testing.T) {
	d := smoothData(300, 3, 0.1)
	for _, k := range []struct {
		noise             float64
		asked, used, says string
	}{
		{0.1, "auto", "f32", "nats unsure"},
		{0.1, "f64", "f64", "as asked"},
		{1e-6, "auto", "f64", "in 3 inputs"},
	} {
		p := testParams("matern32", 3, k.noise)
		r, err := LogMarginalLikelihood(t.Context(), d, p, Options{Method: "bbgp", Precision: k.asked, NoScale: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Precision != k.used || !strings.Contains(r.PrecisionReason, k.says) {
			t.Errorf("%+v: %s, %q", k, r.Precision, r.PrecisionReason)
		}
	}
}

// The probes of a report are the chosen ones, with the reason.
func TestProbesReason(t *testing.T) {
	d := randomData(60, 3, 1)
	p := DefaultParams("matern32", 3)
	for _, k := range []struct {
		opt    Options
		probes int
		reason string
	}{
		{Options{Method: "bbgp"}, 7, usualProbes}, {Options{Method: "bbgp", Probes: 4}, 4, "as asked"},
		{Options{Method: "iterative"}, 7, usualProbes}, {Options{Method: "exact"}, 0, ""},
	} {
		r, err := LogMarginalLikelihood(t.Context(), d, p, k.opt)
		if err != nil {
			t.Fatal(err)
		}
		if r.Probes != k.probes || r.ProbesReason != k.reason || r.Costs.Name != "standard" {
			t.Errorf("%+v: %d probes, %q, costs %s", k.opt, r.Probes, r.ProbesReason, r.Costs.Name)
		}
	}
}

func TestMeasureCosts(t *testing.T) {
	c, err := MeasureCosts(t.Context(), engine(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil || c.Name != "measured" || c.Unit == "" || len(c.List()) != 14 {
		t.Errorf("%+v: %v", c, err)
	}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(b), `{"lml": 3, "costs": ` + string(b) + `}`} {
		if back, err := ReadCosts([]byte(text)); err != nil || *back != c {
			t.Errorf("%s: %+v, %v", text, back, err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := MeasureCosts(ctx, engine(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// What a difference of times cannot tell is set to a share of the standard.
func TestCostFloor(t *testing.T) {
	c := scaled(func(c *Costs) {
		for _, f := range c.fields() {
			*f.value *= 2
		}
		c.Factor, c.Column, c.Entry.Fixed = -1, 0, 1e-9
	})
	c.atLeast(costFloor)
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-12 }
	if std := StandardCosts(); !near(c.Factor, 2*costFloor*std.Factor) || !near(c.Column, 2*costFloor*std.Column) || !near(c.Entry.Fixed, 2*costFloor*std.Entry.Fixed) || c.Dense != 2*std.Dense {
		t.Errorf("%+v", c)
	}
}

func TestBadCosts(t *testing.T) {
	d := randomData(60, 3, 1)
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		c := scaled(func(c *Costs) { c.DenseEntry.Input = v })
		var bad *OptionError
		if _, err := Fit(t.Context(), d, Options{Costs: c}); !errors.As(err, &bad) || bad.Option != "costs" || !strings.Contains(bad.Reason, "dense_entry.input") {
			t.Errorf("%v: %v", v, err)
		}
	}
	for _, text := range []string{"", "[]", "{}", `{"costs": 3}`, `{"name": "mine", "pair32": {"fixed": 1}}`} {
		if c, err := ReadCosts([]byte(text)); err == nil {
			t.Errorf("%s: %+v", text, c)
		}
	}
}

// A checkpoint is of the costs that the choices were made by.
func TestIdentityCosts(t *testing.T) {
	d := randomData(60, 3, 1)
	id := func(c *Costs) string {
		o, err := Options{Costs: c}.settle(60, 3)
		if err != nil {
			t.Fatal(err)
		}
		b, err := o.identity(d.table())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	std := StandardCosts()
	if id(nil) != id(&std) {
		t.Error("nil is not the standard")
	}
	other := id(scaled(func(c *Costs) { c.Column *= 1.5 }))
	if diff := difference([]byte(id(nil)), []byte(other)); diff != "the costs differ" {
		t.Errorf("%q", diff)
	}
}

package bbgp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/checkpoint"
	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/cost/calibrate"
	"bbgp.dev/internal/gptest"
)

// A report says why its products are in float32 or float64.
func TestPrecisionReason(t *testing.T) {
	d := dataOf(gptest.SmoothTable(600, 3, 0.1))
	for _, k := range []struct {
		noise             float64
		noGradient        bool
		asked, used, says string
	}{
		{0.1, true, "auto", "f32", "nats unsure"},
		{0.1, false, "auto", "f64", "derivatives"},
		{0.1, false, "f32", "f32", "as asked"},
		{0.1, true, "f64", "f64", "as asked"},
		{1e-6, false, "auto", "f64", "in 3 inputs"},
	} {
		p := gptest.TestParams("matern32", 3, k.noise)
		r, err := LogMarginalLikelihood(t.Context(), d, p,
			Options{Method: "bbgp", Precision: enum.Precision(k.asked), NoScale: true, NoGradient: k.noGradient})
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Precision) != k.used || !strings.Contains(r.PrecisionReason, k.says) {
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
		{Options{Method: "bbgp"}, 7, cost.UsualProbes}, {Options{Method: "bbgp", Probes: 4}, 4, "as asked"},
		{Options{Method: "iterative"}, 7, cost.UsualProbes}, {Options{Method: "exact"}, 0, ""},
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
	c, err := calibrate.Measure(t.Context(), gptest.Engine(t))
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
		if back, err := cost.ReadCosts([]byte(text)); err != nil || *back != c {
			t.Errorf("%s: %+v, %v", text, back, err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := calibrate.Measure(ctx, gptest.Engine(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestBadCosts(t *testing.T) {
	d := randomData(60, 3, 1)
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		c := changed(func(c *Costs) { c.DenseEntry.Input = v })
		var bad *OptionError
		if _, err := Fit(t.Context(), d, Options{Costs: c}); !errors.As(err, &bad) || bad.Option != "costs" ||
			!strings.Contains(bad.Reason, "dense_entry.input") {
			t.Errorf("%v: %v", v, err)
		}
	}
	for _, text := range []string{"", "[]", "{}", `{"costs": 3}`, `{"name": "mine", "pair32": {"fixed": 1}}`} {
		if c, err := cost.ReadCosts([]byte(text)); err == nil {
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
	std := cost.StandardCosts()
	if id(nil) != id(&std) {
		t.Error("nil is not the standard")
	}
	other := id(changed(func(c *Costs) { c.Column *= 1.5 }))
	if diff := checkpoint.Difference([]byte(id(nil)), []byte(other)); diff != "the costs differ" {
		t.Errorf("%q", diff)
	}
}

// changed returns changed standard costs.
func changed(change func(c *Costs)) *Costs {
	c := cost.StandardCosts()
	change(&c)
	return &c
}

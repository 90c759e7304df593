package plots

import (
	"bytes"
	"image/color"
	"math"
	"strings"
	"testing"
)

// A map has its colours from dark to light, its scale, its dates and the rows that lie on it.
func TestMap(t *testing.T) {
	m := &Map{X: []float64{0, 400, 800}, Y: []float64{1, 2}, Z: []float64{0, 1, 2, 3, 4, 5},
		XName: "day", YName: "depth", Title: "mean", XDates: true,
		DataX: []float64{100, 500, 9000}, DataY: []float64{1.5, 1.2, 1.5}}
	svg, err := MapSVG(m)
	if err != nil {
		t.Fatal(err)
	}
	text := string(svg)
	for _, want := range []string{"mean", "depth", "1971", "<image preserveAspectRatio"} {
		if !strings.Contains(text, want) {
			t.Errorf("the map does not say %q", want)
		}
	}
	if n := strings.Count(text, "<image"); n != 2 {
		t.Errorf("%d pictures, want the map and its scale", n)
	}
	m.DataX, m.DataY = nil, nil
	bare, err := MapSVG(m)
	if err != nil {
		t.Fatal(err)
	}
	if more := strings.Count(text, "<path") - bytes.Count(bare, []byte("<path")); more != 2 {
		t.Errorf("%d marks for two rows on the map and one beside it", more)
	}
	m.YDates = true
	if _, err := MapSVG(m); err != nil {
		t.Error(err)
	}
	m.Z = m.Z[1:]
	if _, err := MapSVG(m); err == nil {
		t.Error("a grid with a value too few was drawn")
	}
}

func TestColours(t *testing.T) {
	for what, z := range map[string][]float64{"a range": {-3, 7, 2}, "one value": {4, 4}} {
		c, err := scaleOf(z)
		if err != nil {
			t.Fatal(err)
		}
		if !(c.Max() > c.Min()) || c.Min() > z[0] || c.Max() < z[1] {
			t.Errorf("%s: colours from %v to %v", what, c.Min(), c.Max())
		}
		im, err := picture(z, len(z), c, 0, 0, 1, 1)
		if err != nil || im == nil {
			t.Fatal(err)
		}
	}
	c, err := scaleOf([]float64{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	light := func(v float64) int {
		at, err := c.At(v)
		if err != nil {
			t.Fatal(err)
		}
		g := color.GrayModel.Convert(at).(color.Gray)
		return int(g.Y)
	}
	for v := 0.1; v <= 1; v += 0.1 {
		if light(min(v, 1)) <= light(v-0.1) {
			t.Errorf("the scale does not get lighter at %.1f", v)
		}
	}
}

// Dates are labelled by what tells them apart, and never by more labels than fit.
func TestDateTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		like   string
		first  string
	}{
		{0, 20000, "2006", "1970"},
		{0, 1000, "2006", "1970"},
		{10, 200, "2006-01", "1970-04"},
		{10, 20, "01-02", "01-11"},
		{10, 11.5, "01-02 15:04", "01-11 00:00"},
	} {
		labelled := 0
		first := ""
		for _, k := range (dateTicks{}).Ticks(c.lo, c.hi) {
			if k.Value < c.lo || k.Value > c.hi {
				t.Errorf("%v to %v: a mark at %v", c.lo, c.hi, k.Value)
			}
			labelled++
			if first == "" {
				first = k.Label
			}
			if len(k.Label) != len(c.like) {
				t.Errorf("%v to %v: %q", c.lo, c.hi, k.Label)
			}
		}
		if labelled == 0 || labelled > 12 || !strings.HasPrefix(first, c.first[:2]) {
			t.Errorf("%v to %v: %d labels, the first %q", c.lo, c.hi, labelled, first)
		}
	}
}

// Effects share an axis that has room for all of their bands; many levels have slanted names.
func TestEffects(t *testing.T) {
	line := &Curve{Input: "x", X: []float64{0, 1}, Mean: []float64{1, 2}, SD: []float64{1, 0}, Data: []float64{0.5, 7}}
	levels := &Curve{Input: "colour", Levels: []string{"red", "green", "blue", "a name that is far too long", "e", "f"},
		Mean: []float64{0, 0, 0, 0, 0, 9}, SD: []float64{1, 1, 1, 1, 1, 1}}
	lo, hi := Range([]*Curve{line, levels})
	if !(lo < -1.96 && lo > -4 && hi > 10.96 && hi < 13) {
		t.Errorf("the axis goes from %v to %v", lo, hi)
	}
	for _, c := range []*Curve{line, levels} {
		p, err := Effect(c, "y", lo, hi)
		if err != nil {
			t.Fatal(err)
		}
		if p.Y.Min != lo || p.Y.Max != hi {
			t.Errorf("%s: another axis", c.Input)
		}
		if slanted := p.X.Tick.Label.Rotation != 0; slanted != (c == levels) {
			t.Errorf("%s: slanted is %v", c.Input, slanted)
		}
		svg, err := SVG(p)
		if err != nil || bytes.Contains(svg, []byte("too long")) {
			t.Errorf("%s: %v, or a name that does not fit", c.Input, err)
		}
	}
	bad := &Curve{Input: "x", X: []float64{0, 1}, Mean: []float64{1, math.NaN()}, SD: []float64{1, 1}}
	if _, err := Effect(bad, "y", 0, 1); err == nil {
		t.Error("a curve that is no number was drawn")
	}
	bad.X, bad.Levels = nil, []string{"a", "b"}
	if _, err := Effect(bad, "y", 0, 1); err == nil {
		t.Error("a level that is no number was drawn")
	}
}

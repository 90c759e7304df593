package evidence

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// What a file holds is believed only where it can be an evaluation of the table.
func TestUsable(t *testing.T) {
	value := func(change func(*Value)) *Value {
		v := &Value{LML: -3, Lower: -3.1, Upper: -2.9, Node: 0.5, Alpha: []float64{1, 2, 3}, Rank: -1,
			Gradient: &Gradient{Lengthscales: []float64{1, 0}}}
		change(v)
		return v
	}
	for what, c := range map[string]struct {
		change func(*Value)
		want   bool
	}{
		"as it was":             {func(*Value) {}, true},
		"a bound is no number":  {func(v *Value) { v.Upper = math.NaN() }, false},
		"passes below 0":        {func(v *Value) { v.Passes = -1 }, false},
		"a node above 1":        {func(v *Value) { v.Node = 1.5 }, false},
		"other rows":            {func(v *Value) { v.Alpha = v.Alpha[1:] }, false},
		"a weight of 1e300":     {func(v *Value) { v.Alpha[1] = 1e300 }, false},
		"no value":              {func(v *Value) { v.LML = math.Inf(1) }, false},
		"a negative error":      {func(v *Value) { v.StdErr = -1 }, false},
		"a rank above the rows": {func(v *Value) { v.Rank = 4 }, false},
		"neighbours below -1":   {func(v *Value) { v.Neighbours = -2 }, false},
		"no gradient":           {func(v *Value) { v.Gradient = nil }, false},
		"other inputs":          {func(v *Value) { v.Gradient.Lengthscales = nil }, false},
		"a wild slope":          {func(v *Value) { v.Gradient.Noise = math.Inf(-1) }, false},
		// Of what was rejected the upper bound alone counts.
		"rejected": {func(v *Value) { v.Rejected, v.Alpha, v.Gradient = true, nil, nil }, true},
	} {
		v := value(c.change)
		if got := v.Usable(3, 2, true); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
	if v := value(func(v *Value) { v.Gradient = nil }); !v.Usable(3, 2, false) {
		t.Error("a gradient that nobody asked for is missed")
	}
}

// A stagnation says how far it came and what would help, and in float32 asks for float64.
func TestStagnation(t *testing.T) {
	err := error(&StagnationError{Passes: 40, Gap: 2.5, Precision: "f32", Rank: 96, Neighbours: 32})
	for _, word := range []string{"2.5 nats", "40 passes", "f32", "rank 96", "32 neighbours", "would help"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	if !errors.Is(err, ErrPrecision) || errors.Is(&StagnationError{Precision: "f64"}, ErrPrecision) {
		t.Error("float64 is asked for where it is in use, or not asked for")
	}
	if !NotFinite(err) || !NeedsEscalation(err) || NotFinite(errors.New("the disk is full")) {
		t.Error("a stagnation is of the point, a full disk of the run")
	}
}

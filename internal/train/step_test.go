package train

import (
	"context"
	"math"
	"slices"
	"testing"
)

// What a trial step says has come of it is what has: where t.Cur is, and whether a stage begins there.
func TestOutcomes(t *testing.T) {
	ctx, p := context.Background(), startAt(0.1, 4, 4, 4)
	_, tr := byLanczos(t, 500, p)
	tr.model = quadraticModel{e: tr.e, damping: firstDamping}
	if err := tr.measure(ctx); err != nil {
		t.Fatal(err)
	}
	start, info := tr.Cur, tr.model.base
	for _, c := range []struct {
		name                string
		share, actual, lead float64
		moved               bool
		want                outcome
	}{
		{"far below the top", smallStep, math.Inf(1), 0, false, relocated},
		{"the last step gained less", smallStep, 0, 0, false, accepted},
		{"P made elsewhere", smallStep, 0, 0, true, renewed},
		{"no trial is that high", smallStep, 0, 1e4, false, rejected},
		{"more asked than predicted", 1e9, 0, 0, false, exhausted},
	} {
		value := *start.Ev
		value.LML += c.lead
		tr.Cur = start
		tr.Cur.Ev, tr.Cur.eps = &value, 0
		tr.model = quadraticModel{e: tr.e, base: info, damping: firstDamping}
		tr.inactive, tr.reentry, tr.stageRadius, tr.radius = make([]bool, 3), nil, firstRadius, firstRadius
		tr.actual, tr.moved, tr.fresh = c.actual, c.moved, false
		got, err := tr.try(ctx, slices.Clone(start.z), c.share)
		if err != nil || got != c.want {
			t.Errorf("%s: outcome %d, want %d, %v", c.name, got, c.want, err)
			continue
		}
		if begins := got == relocated || got == renewed; tr.fresh != begins {
			t.Errorf("%s: a stage begins %v, want %v", c.name, tr.fresh, begins)
		}
		moved := tr.Cur.Ev.LML > value.LML && tr.Cur.P.Noise != p.Noise
		if there := got == relocated || got == accepted; there != moved {
			t.Errorf("%s: from %v to %v", c.name, value.LML, tr.Cur.Ev.LML)
		}
		if (tr.radius < firstRadius) != (got == rejected) {
			t.Errorf("%s: radius %v", c.name, tr.radius)
		}
	}
}

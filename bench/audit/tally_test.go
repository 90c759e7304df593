package main

import (
	"math"
	"testing"
)

// A number that is none is a miss, whatever comes after it.
func TestScores(t *testing.T) {
	for _, c := range []struct {
		name   string
		z      []float64
		missed bool
	}{{"normal", []float64{0.5, -1, 1.2, -0.9}, false}, {"far", []float64{0.5, 9}, true},
		{"no number", []float64{math.NaN(), 0.5, 1}, true}, {"infinite", []float64{math.Inf(1), 1}, true}} {
		tally := newTally()
		for _, z := range c.z {
			tally.atMost(c.name, z, "")
		}
		if got := tally.scores[c.name].missed(); got != c.missed {
			t.Errorf("%s: missed %v", c.name, got)
		}
	}
}

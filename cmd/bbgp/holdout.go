package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/table"
)

// known is a number in words, a dash where there is none.
func known(format string, v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// covered is the coverage of 95 % intervals in words.
func covered(s bbgp.Score) string {
	if math.IsNaN(s.Coverage95) {
		return "no interval"
	}
	return fmt.Sprintf("%.1f %% in the 95 %% interval", 100*s.Coverage95)
}

// share returns the share of the rows that --holdout asks to keep, 0 where it
// names a table.
func (f *fitFlags) share() (float64, error) {
	text, ok := strings.CutSuffix(f.holdout, "%")
	if !ok {
		return 0, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v < 100) {
		return 0, usagef("--holdout %q is not a share between 0%% and 100%%", f.holdout)
	}
	f.holdout = "" // no table
	return v / 100, nil
}

// holdOut takes a random share of the rows out of the training.
func (ts *trainingSet) holdOut(share float64, seed uint64) (*bbgp.Data, error) {
	n := len(ts.data.Y)
	k := int(share*float64(n) + 0.5)
	if k < 1 || k >= n {
		return nil, usagef("--holdout: %.4g %% of %d rows leave nothing to fit or nothing to score", 100*share, n)
	}
	order := rand.New(rand.NewPCG(seed, 0x686f6c64)).Perm(n) // the second word is the stream of this use
	out, in := order[:k], order[k:]
	slices.Sort(out)
	slices.Sort(in)
	held := ts.data.Rows(out)
	rows := make([]int, len(in))
	for i, r := range in {
		rows[i] = ts.set.Rows[r]
	}
	ts.data, ts.set.Rows = ts.data.Rows(in), rows
	ts.notes = append(ts.notes, fmt.Sprintf("%s, drawn at random: held out to score the predictions, %s used", table.Rows(k), table.Rows(len(in))))
	return held, nil
}

// heldTable reads the table of --holdout: before the fit, which a fault of it would
// waste.
func (a *app) heldTable(ts *trainingSet, f *fitFlags) (*bbgp.Data, error) {
	read := f.read
	read.target = ts.plan.Target
	t, err := a.load(f.holdout, planReading(ts.plan, read))
	if err != nil {
		return nil, err
	}
	set, err := ts.plan.Held(t)
	if err != nil {
		return nil, err
	}
	if !f.progress.quiet {
		for _, note := range ts.plan.HeldNotes(set) {
			a.say("%s: %s", t.File, note)
		}
	}
	return &bbgp.Data{X: set.X, Y: set.Y, NoiseScale: set.Scale, NoiseExtra: set.Extra}, nil
}

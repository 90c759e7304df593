package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/table"
)

// A holdout is the score on a held-out table.
type holdout struct {
	bbgp.Score
	R2 *float64 `json:"r2"` // share of the variance of its targets that is explained; null if they do not vary
}

func newHoldout(s bbgp.Score, y []float64) *holdout {
	h := &holdout{Score: s}
	if v := variance(y); v > 0 {
		r2 := 1 - s.RMSE*s.RMSE/v
		h.R2 = &r2
	}
	return h
}

// r2 is R² in words.
func (h *holdout) r2() string {
	if h.R2 == nil {
		return "-"
	}
	return fmt.Sprintf("%.4f", *h.R2)
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
	set, err := ts.plan.Apply(t, true)
	if err != nil {
		return nil, err
	}
	if note := ts.plan.OutsideNote(set.X); note != "" && !f.progress.quiet {
		a.say("%s: %s", t.File, note)
	}
	return &bbgp.Data{X: set.X, Y: set.Y}, nil
}

// variance is the population variance of v.
func variance(v []float64) float64 {
	mean, ss := 0.0, 0.0
	for i, x := range v {
		delta := x - mean
		mean += delta / float64(i+1)
		ss += delta * (x - mean)
	}
	return ss / float64(len(v))
}

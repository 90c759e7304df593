package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/enum"
	"bbgp.dev/bbgp/score"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/internal/cost"
	"bbgp.dev/linalg"
)

// known is a number in words, a dash where there is none.
func known(format string, v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// covered is the coverage of 95 % intervals in words.
func covered(s score.Score) string {
	if math.IsNaN(s.Coverage95) {
		return "no interval"
	}
	return fmt.Sprintf("%.1f %% in the 95 %% interval", 100*s.Coverage95)
}

// heldRows are rows that a fit keeps back to score the model.
type heldRows struct {
	data  *bbgp.Data
	of    *table.Table // where they stand; its cells may be gone
	rows  []int        // of it, from 0
	table string
	share float64
	seed  uint64
}

// deviating raises what is predicted of the memory of a fit within such a budget, 0 for none, to what the deviations
// of its model take.
func deviating(m *bbgp.Model, memory int64) {
	r := &m.Result
	dense := r.Method == enum.MethodExact || cost.AnswersDense(r.Distinct, memory)
	p := cost.Size{Rank: r.Rank, Neighbours: r.Neighbours, Latents: r.Latents}
	need := cost.DeviationBytes(r.Distinct, r.N, r.D, p, dense)
	if memory > 0 {
		need = min(need, memory)
	}
	r.PredictedBytes = max(r.PredictedBytes, need)
}

// score predicts the rows, writes them to path unless that is "", and returns what the
// model keeps of them.
func (h *heldRows) score(ctx context.Context, a *app, m *bbgp.Model, plan *inputs.Plan, e *linalg.Engine,
	path string) (*inputs.HeldOut, error) {
	d := h.data
	p, err := predictRows(ctx, m, plan, e, d.X, bbgp.PredictOptions{SD: true, NoiseScale: d.NoiseScale,
		NoiseExtra: d.NoiseExtra})
	if err != nil {
		return nil, located(err, h.of, h.rows)
	}
	s, err := m.Score(p, d.Y)
	if err != nil {
		return nil, err
	}
	out := &inputs.HeldOut{Table: h.table, Share: h.share, Seed: h.seed, Score: s}
	for i := 0; i < len(d.Y); i += 1 + len(d.Y)/mostPoints {
		if !math.IsInf(p.SDObs[i], 0) { // of a text that the model has not seen
			out.Rows = append(out.Rows, inputs.HeldRow{Row: h.rows[i] + 1,
				Y: d.Y[i], Mean: p.Mean[i], SDObs: p.SDObs[i]})
		}
	}
	if path == "" {
		return out, nil
	}
	return out, writeFile(path, a.out, func(w *rowWriter) error {
		w.header("row", plan.Target, "mean", "sd", "sd_obs")
		for i, y := range d.Y {
			w.row(float64(h.rows[i]+1), y, p.Mean[i], p.SD[i], p.SDObs[i])
		}
		return nil
	})
}

// share returns the share of the rows that --holdout asks to keep, 0 where it
// names a table.
func (f *fitFlags) share() (float64, error) {
	text, ok := strings.CutSuffix(f.holdout, "%")
	v, err := strconv.ParseFloat(text, 64)
	if _, none := os.Stat(f.holdout); !ok && err == nil && none != nil {
		if !(v > 0 && v < 100) {
			return 0, usagef("--holdout %q is neither a table nor a share between 0%% and 100%%", f.holdout)
		}
		if v >= 1 {
			return 0, usagef("--holdout %s: there is no such table; --holdout %s%% keeps a share of the rows",
				f.holdout, f.holdout)
		}
		f.holdout = "" // no table
		return v, nil
	}
	if !ok {
		return 0, nil
	}
	if err != nil || !(v > 0 && v < 100) {
		return 0, usagef("--holdout %q is not a share between 0%% and 100%%", f.holdout)
	}
	f.holdout = "" // no table
	return v / 100, nil
}

// holdOut takes a random share of the rows out of the training.
func (ts *trainingSet) holdOut(share float64, seed uint64) error {
	n := len(ts.data.Y)
	k := int(share*float64(n) + 0.5)
	if k < 1 || k >= n {
		return usagef("--holdout: %.4g %% of %d rows leave nothing to fit or nothing to score", 100*share, n)
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
	ts.held = &heldRows{data: held, of: ts.table, share: share, seed: seed}
	for _, r := range out {
		ts.held.rows = append(ts.held.rows, ts.set.Rows[r])
	}
	ts.data, ts.set.Rows = ts.data.Rows(in), rows
	ts.notes = append(ts.notes, fmt.Sprintf("%s, drawn at random: held out to score the predictions, %s used",
		table.Rows(k), table.Rows(len(in))))
	return nil
}

// heldTable reads the table of --holdout: before the fit, which a fault of it would
// waste.
func (a *app) heldTable(ts *trainingSet, f *fitFlags) error {
	read := f.read
	read.target = ts.plan.Target
	t, err := a.load(f.holdout, planReading(ts.plan, read))
	if err != nil {
		return err
	}
	set, err := ts.plan.Held(t)
	if err != nil {
		return err
	}
	if !f.progress.quiet {
		for _, note := range ts.plan.HeldNotes(set) {
			a.say("%s: %s", t.File, note)
		}
	}
	ts.held = &heldRows{table: filepath.Base(t.File), rows: set.Rows,
		of:   &table.Table{File: t.File, HasHeader: t.HasHeader, Lines: t.Lines},
		data: &bbgp.Data{X: set.X, Y: set.Y, NoiseScale: set.Scale, NoiseExtra: set.Extra}}
	return nil
}

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/score"
	"bbgp.dev/cmd/bbgp/internal/plots"
)

// cvFlags are those of cv beside the training's.
type cvFlags struct {
	fit      fitFlags
	split    foldFlags
	loo      bool
	outliers int
	plot     string
	out      string
}

func (a *app) cvCommand() *cobra.Command {
	var f cvFlags
	c := &cobra.Command{
		Use:   "cv DATA.csv --target NAME",
		Short: "Cross-validate: score every row by a model that has not seen it",
		Long: `Cross-validate: score every row by a model that has not seen it.

With --folds K, the model is fitted K times on all folds but one. With --loo, it is
fitted once, on all rows, and every row is predicted from all others at the
parameters found: no second fit, exact for --method exact and up to 3000 rows, within
bounds otherwise. Rows that repeat all inputs are left out together (with --noise-var
those whose known noise per unit of weight is the same, too).

Rows that belong together tell of each other: with --group COLUMN those of one group
stay in one fold, with --block COLUMNS each fold is a region of places or times, so
that the scores are those of new groups, places and times.`,
		Example: `  bbgp cv train.csv --target y
  bbgp cv train.csv --target y --group patient --repeats 3
  bbgp cv train.csv --target y --block lon,lat --folds 8
  bbgp cv train.csv --target y --loo --plot calibration --out rows.csv`,
		Args: exactly("DATA.csv"),
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			if err := f.split.check(f.loo, c.Flags().Changed); err != nil {
				return err
			}
			return a.crossValidate(c.Context(), args[0], &f)
		},
	}
	fl := c.Flags()
	f.split.add(fl)
	fl.BoolVar(&f.loo, "loo", false, "leave single rows out of one fit instead")
	fl.IntVar(&f.outliers, "outliers", 10, "rows to list whose standardised residuals are the largest")
	fl.StringVar(&f.plot, "plot", "", "draw the calibration as NAME.png and NAME.svg")
	fl.StringVarP(&f.out, "out", "o", "", "file for the predictions: row, target, mean, sd_obs, and z, the "+
		"standardised residual; with --loo also bounds of mean and sd_obs")
	f.fit.read.add(fl)
	f.fit.read.memory = &f.fit.model.memory
	f.fit.addTraining(fl)
	f.fit.model.add(fl)
	f.fit.machine.add(fl)
	fl.BoolVar(&f.fit.json, "json", false, "report as one JSON object")
	f.fit.progress.add(fl)
	return c
}

// A cvReport is what cv --json prints. The scores of All are over all rows,
// each predicted by a model that did not see it.
type cvReport struct {
	N     int           `json:"n"`     // rows predicted
	Kind  string        `json:"kind"`  // folds, groups, blocks or loo
	Folds []score.Score `json:"folds"` // score of each fold
	All   score.Score   `json:"all"`   // score of all rows
	// of all rows: n, rmse, nlpd, crps, coverage95, calibration [probability, share], outliers
	// [row, y, mean, sd_obs, z]; rows count from 1, in the table
	Validation *score.Validation `json:"validation"`
	BoundKind  string            `json:"bound_kind,omitempty"`
	SDWidth    float64           `json:"sd_width"`   // largest relative half width of the interval of a deviation
	MeanWidth  float64           `json:"mean_width"` // and half width of that of a mean, in sd_obs of its row
	Seconds    float64           `json:"seconds"`    // wall time
	Notes      []string          `json:"notes"`      // what was found in the table

	time  allowance
	asked *modelling
	quiet bool
	short int // models whose training the time ended
}

// A cvResult holds the predictions of the rows of the table that were used.
type cvResult struct {
	rows  []int // in the table, from 0
	y     []float64
	laws  []score.Law
	left  *bbgp.LeftOut // of --loo: bounds, in the order of rows
	scale float64
}

func (r *cvResult) add(row int, y float64, l score.Law) {
	r.rows, r.y, r.laws = append(r.rows, row), append(r.y, y), append(r.laws, l)
}

// spreads returns means and deviations.
func (r *cvResult) spreads() (mean, sd []float64) {
	for _, l := range r.laws {
		mean, sd = append(mean, l.Mean), append(sd, l.SD())
	}
	return mean, sd
}

func (a *app) crossValidate(ctx context.Context, data string, f *cvFlags) error {
	w, read := a.timed(f.fit.model.time)
	defer read()
	opt, err := f.fit.options(ctx, a)
	if err != nil {
		return err
	}
	if g := f.split.group; g != "" && !slices.Contains(f.fit.read.features, g) {
		f.fit.read.ignore = append(f.fit.read.ignore, g)
	}
	ts, err := a.training(data, &f.fit.read, false)
	if err != nil {
		return err
	}
	read()
	n := ts.data.X.Rows
	if f.outliers < 0 {
		return usagef("--outliers %d is negative", f.outliers)
	}
	if !f.fit.progress.quiet {
		for _, note := range ts.notes {
			a.say("%s", note)
		}
	}
	r := &cvReport{N: n, Notes: ts.notes, Folds: []score.Score{}}
	run := a.runFolds
	if f.loo {
		run = a.runLOO
	}
	r.time, r.asked, r.quiet = w, &f.fit.model, f.fit.progress.quiet
	ctx, done := w.within(ctx, opt.Engine)
	defer done()
	res, err := run(ctx, f, ts, opt, r)
	if err != nil {
		return err
	}
	err = a.finishCV(f, r, res)
	if err == nil && r.short > 0 {
		err = &budgetError{fmt.Sprintf("the time budget ended the training of %d of %d models: their scores are "+
			"those of the best so far", r.short, max(len(r.Folds), 1))}
	}
	return err
}

// fit trains one of so many models that are still to come, on what is left of the time.
func (r *cvReport) fit(ctx context.Context, a *app, d *bbgp.Data, opt bbgp.Options, models int) (*bbgp.Model, error) {
	left, err := r.time.left(a)
	if err != nil {
		return nil, err
	}
	opt.Time = left * 4 / time.Duration(5*models) // a fifth is for the predictions
	m, err := bbgp.Fit(ctx, d, opt)
	if err != nil {
		return nil, err
	}
	if m.Result.Stopped == "time" {
		r.short++
	}
	if note := r.asked.unusedNote(m.Result.Method); note != "" && !slices.Contains(r.Notes, note) {
		r.Notes = append(r.Notes, note)
		if !r.quiet {
			a.say("%s", note)
		}
	}
	return m, nil
}

// finishCV scores, writes and prints what was predicted.
func (a *app) finishCV(f *cvFlags, r *cvReport, res *cvResult) error {
	var all score.Sum
	for i, y := range res.y {
		all.Add(y, res.laws[i])
	}
	r.All = all.Score(res.scale)
	var err error
	if r.Validation, err = score.Validate(res.y, res.laws, f.outliers); err != nil {
		return err
	}
	mean, sd := res.spreads()
	for i := range r.Validation.Outliers {
		r.Validation.Outliers[i].Row = res.rows[r.Validation.Outliers[i].Row] + 1
	}
	if f.out != "" {
		err := writeFile(f.out, a.out, func(w *rowWriter) error {
			names := []string{"row", "target", "mean", "sd_obs", "z"}
			if res.left != nil {
				names = append(names, "mean_lower", "mean_upper", "sd_obs_lower", "sd_obs_upper")
			}
			w.header(names...)
			for i, y := range res.y {
				v := []float64{float64(res.rows[i] + 1), y, mean[i], sd[i], score.Residual(y, mean[i], sd[i])}
				if l := res.left; l != nil {
					v = append(v, l.MeanLower[i], l.MeanUpper[i], l.SDObsLower[i], l.SDObsUpper[i])
				}
				w.row(v...)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if f.plot != "" {
		p, err := plots.Calibration(res.y, res.laws)
		if err != nil {
			return err
		}
		if _, err := plots.Save(p, f.plot); err != nil {
			return err
		}
	}
	if f.fit.json {
		return writeJSON(a.out, r)
	}
	return writeCV(a.out, r)
}

func (a *app) runFolds(ctx context.Context, f *cvFlags, ts *trainingSet,
	opt bbgp.Options, r *cvReport) (*cvResult, error) {
	folds, err := f.split.split(ts, opt.Seed)
	if err != nil {
		return nil, err
	}
	r.Kind = f.split.kind()
	res := &cvResult{}
	for k, out := range folds {
		in := make([]bool, r.N)
		for _, i := range out {
			in[i] = true
		}
		var rest []int
		for i := range in {
			if !in[i] {
				rest = append(rest, i)
			}
		}
		train, test := ts.data.Rows(rest), ts.data.Rows(out)
		m, err := r.fit(ctx, a, train, opt, len(folds)-k)
		if err != nil {
			return nil, err
		}
		p, err := predictRows(ctx, m, ts.plan, opt.Engine, test.X, bbgp.PredictOptions{SD: true,
			NoiseScale: test.NoiseScale, NoiseExtra: test.NoiseExtra})
		if err != nil {
			return nil, err
		}
		s, err := m.Score(p, test.Y)
		if err != nil {
			return nil, err
		}
		for i, y := range test.Y {
			res.add(ts.set.Rows[out[i]], y, p.Laws[i])
			r.widen(p.SDLower[i], p.SDUpper[i], p.MeanLower[i], p.MeanUpper[i], p.SDObs[i])
		}
		res.scale += m.Scaling.YScale / float64(len(folds))
		r.Folds = append(r.Folds, s)
		r.Seconds += m.Result.Seconds
		if !f.fit.progress.quiet {
			a.say("fold %d of %d: RMSE %.5g, NLPD %s", k+1, len(folds), s.RMSE, known("%.4g", s.NLPD))
		}
	}
	return res, nil
}

// widen takes bounds of a deviation and of a mean in.
func (r *cvReport) widen(sdLo, sdHi, lo, hi, obs float64) {
	if sdHi > 0 && !math.IsInf(sdHi, 1) {
		r.SDWidth = max(r.SDWidth, (sdHi-sdLo)/(sdHi+sdLo))
	}
	if obs > 0 {
		r.MeanWidth = max(r.MeanWidth, (hi-lo)/2/obs)
	}
}

func (a *app) runLOO(ctx context.Context, f *cvFlags, ts *trainingSet,
	opt bbgp.Options, r *cvReport) (*cvResult, error) {
	r.Kind = "loo"
	m, err := r.fit(ctx, a, ts.data, opt, 2) // the leaving out costs about as much
	if err != nil {
		return nil, err
	}
	live := newCounter(a.errw, f.fit.progress.quiet)
	live.say("leaving single rows out")
	l, err := m.LeaveOneOut(ctx, bbgp.LeaveOutOptions{Engine: opt.Engine})
	live.end()
	if err != nil {
		return nil, err
	}
	r.Seconds, r.BoundKind = m.Result.Seconds, string(l.BoundKind)
	res, rows := &cvResult{scale: m.Scaling.YScale}, ts.places()
	if len(l.Y) < r.N {
		note := fmt.Sprintf("%d rows are at %d places: repeats are left out together", r.N, len(l.Y))
		r.Notes = append(r.Notes, note)
		if !f.fit.progress.quiet {
			a.say("%s", note)
		}
	}
	for i, y := range l.Y {
		res.add(rows[i], y, l.Laws[i])
		r.widen(l.SDObsLower[i], l.SDObsUpper[i], l.MeanLower[i], l.MeanUpper[i], l.SDObs[i])
	}
	res.left = l
	return res, nil
}

// places returns the rows of the table, from 0, that the rows of the model stand for: those at which new
// inputs, or known ones with another v w of known variance and weight, first appear.
func (ts *trainingSet) places() []int {
	var rows []int
	seen, d := map[string]bool{}, ts.data
	known, x := 0.0, make([]float64, d.X.Cols)
	for i := range d.X.Rows {
		for j, v := range d.X.Row(i) {
			x[j] = v + 0 // -0 is 0
		}
		if d.NoiseExtra != nil {
			known = d.NoiseExtra[i]
			if d.NoiseScale != nil {
				known /= d.NoiseScale[i]
			}
		}
		key := fmt.Sprint(x, known)
		if !seen[key] {
			seen[key] = true
			rows = append(rows, ts.set.Rows[i])
		}
	}
	return rows
}

func writeCV(w io.Writer, r *cvReport) error {
	line := func(name string, h score.Score) {
		textf(w, "%-6s %7d %12.5g %10s %9s %% %8s\n", name, h.N, h.RMSE, known("%.4g", h.NLPD),
			known("%.1f", 100*h.Coverage95), known("%.4f", h.R2))
	}
	textf(w, "%-6s %7s %12s %10s %11s %8s\n", r.Kind, "rows", "RMSE", "NLPD", "in 95 %", "R²")
	for k, h := range r.Folds {
		line(fmt.Sprint(k+1), h)
	}
	line("all", r.All)
	v := r.Validation
	textf(w, "\nCRPS   %.5g\n", v.CRPS)
	if r.BoundKind != "" && r.BoundKind != "exact" {
		textf(w, "deviations are known to %.2g %% or better, means to %.2g %% of their row's deviation (%s)\n",
			100*r.SDWidth, 100*r.MeanWidth, r.BoundKind)
	}
	textf(w, "\ncalibration: share of rows in the central interval of a probability\n")
	for _, c := range v.Calibration {
		textf(w, "  %4.0f %%  %6.1f %%\n", 100*c.Probability, 100*c.Share)
	}
	if len(v.Outliers) > 0 {
		textf(w, "\nlargest standardised residuals: possible outliers beyond 4 or so\n  %7s %12s %12s %12s %8s\n",
			"row", "target", "mean", "sd_obs", "z")
	}
	for _, o := range v.Outliers {
		if _, err := textf(w, "  %7d %12.5g %12.5g %12.5g %8.2f\n",
			o.Row, o.Y, o.Mean, o.SDObs, o.Z); err != nil {
			return err
		}
	}
	return nil
}

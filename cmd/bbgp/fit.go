package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/linalg"
)

// fitFlags are the settings of fit.
type fitFlags struct {
	machine   machine
	read      reading
	model     modelling
	out       string
	holdout   string
	blanks    string
	optimizer string
	maxSteps  int
	start     string
	fixMean   bool
	json      bool
	progress  progressFlags
}

func (a *app) fitCommand() *cobra.Command {
	var f fitFlags
	c := &cobra.Command{
		Use:   "fit DATA.csv --target NAME --out MODEL",
		Short: "Train a model on a table and save it",
		Example: `  bbgp fit train.csv --target y --out model.bbgp
  bbgp fit train.csv.gz --target price --ignore id --holdout test.csv --json`,
		Args: exactly("DATA.csv"),
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			return a.fit(c.Context(), args[0], &f)
		},
	}
	fl := c.Flags()
	f.read.add(fl)
	fl.StringVarP(&f.out, "out", "o", "", "file for the model (default: it is not kept)")
	fl.StringVar(&f.holdout, "holdout", "", "table with the same columns to score the predictions on")
	fl.StringVar(&f.blanks, "blanks", "", "file for predictions of the rows without a target")
	f.addTraining(fl)
	f.model.add(fl)
	f.machine.add(fl)
	fl.BoolVar(&f.json, "json", false, "report as one JSON object")
	f.progress.add(fl)
	return c
}

// addTraining adds the flags of the training itself.
func (f *fitFlags) addTraining(fl *pflag.FlagSet) {
	fl.StringVar(&f.model.kernel, "kernel", "matern32", "covariance function: "+strings.Join(bbgp.Families(), ", "))
	fl.StringVar(&f.optimizer, "optimizer", "", "levenberg, lbfgs or adam (default: by method)")
	fl.IntVar(&f.maxSteps, "max-steps", 400, "most evaluations on all rows")
	fl.StringVar(&f.start, "start", "", "parameters (JSON) to start from")
	fl.BoolVar(&f.fixMean, "fix-mean", false, "keep the constant mean at its start")
}

// A fitReport is what fit --json prints.
type fitReport struct {
	bbgp.Result
	Inputs  []string `json:"inputs"`
	Blank   int      `json:"blank_rows"`
	Dropped int      `json:"dropped_rows"`
	Notes   []string `json:"notes"`
	Model   string   `json:"model,omitempty"`
	Holdout *holdout `json:"holdout,omitempty"`
}

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

func (a *app) fit(ctx context.Context, data string, f *fitFlags) error {
	opt, err := f.options(a)
	if err != nil {
		return err
	}
	if err := writable(f.out, f.blanks); err != nil {
		return err
	}
	ts, err := a.training(data, &f.read, false)
	if err != nil {
		return err
	}
	if !f.progress.quiet {
		for _, n := range ts.notes {
			a.say("%s", n)
		}
	}
	m, err := bbgp.Fit(ctx, ts.data, opt)
	ended := err // an interrupt or the end of the time keeps what there is
	if err != nil && (m == nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)) {
		return ts.locate(err)
	}
	m.Extra = ts.plan.Encode()
	if m.Result.ConstantTarget {
		a.say("%s: column %s: the target is %v in all %d rows; the model predicts it everywhere", ts.table.File, ts.plan.Target, ts.data.Y[0], len(ts.data.Y))
	}
	rep := &fitReport{Result: m.Result, Inputs: ts.plan.Names(), Blank: len(ts.set.Blank), Dropped: len(ts.set.Drop), Notes: ts.notes}
	if f.out != "" {
		rep.Model = f.out
		if err := m.Save(f.out); err != nil {
			return err
		}
	}
	if ended == nil {
		if err := a.afterFit(ctx, f, ts, m, opt.Engine, rep); err != nil {
			return err
		}
	}
	if f.json {
		err = writeJSON(a.out, rep)
	} else {
		err = writeSummary(a.out, m, rep)
	}
	switch {
	case err != nil:
		return err
	case ended != nil && errors.Is(ended, context.Canceled):
		return ended
	case ended != nil || m.Result.Stopped == "time":
		return &budgetError{"the time budget ended the training; the model is the best so far"}
	}
	return nil
}

func (f *fitFlags) options(a *app) (bbgp.Options, error) {
	e, err := f.machine.engine()
	if err != nil {
		return bbgp.Options{}, err
	}
	opt, err := f.model.options(e)
	if err != nil {
		return opt, err
	}
	if f.maxSteps < 1 {
		return opt, usagef("--max-steps %d is less than 1", f.maxSteps)
	}
	opt.Optimizer, opt.MaxSteps, opt.FixMean = f.optimizer, f.maxSteps, f.fixMean
	if f.start != "" {
		if opt.Start, err = readParams(f.start); err != nil {
			return opt, err
		}
	}
	opt.Progress, err = f.progress.reporter(a.errw)
	return opt, err
}

// afterFit predicts the held-out table and the rows without a target.
func (a *app) afterFit(ctx context.Context, f *fitFlags, ts *trainingSet, m *bbgp.Model, e *linalg.Engine, rep *fitReport) error {
	if f.holdout != "" {
		score, err := a.score(ctx, m, ts, e, f)
		if err != nil {
			return err
		}
		rep.Holdout = score
	}
	if f.blanks == "" || len(ts.set.Blank) == 0 {
		return nil
	}
	p, err := m.Predict(ctx, e, ts.plan.Matrix(ts.table, ts.set.Blank), bbgp.PredictOptions{SD: true})
	if err != nil {
		return err
	}
	return writeFile(f.blanks, a.out, func(w *rowWriter) error {
		w.header("row", "mean", "sd", "sd_obs")
		for k, i := range ts.set.Blank {
			w.row(float64(i+1), p.Mean[k], p.SD[k], p.SDObs[k])
		}
		return nil
	})
}

// score predicts the table of --holdout and compares.
func (a *app) score(ctx context.Context, m *bbgp.Model, ts *trainingSet, e *linalg.Engine, f *fitFlags) (*holdout, error) {
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
	p, err := m.Predict(ctx, e, set.X, bbgp.PredictOptions{SD: true})
	if err != nil {
		return nil, err
	}
	s, err := m.Score(p, set.Y)
	if err != nil {
		return nil, err
	}
	return newHoldout(s, set.Y), nil
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

// readParams reads a file of parameters.
func readParams(path string) (*bbgp.Params, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, &table.Error{File: path, Text: fileReason(err)}
	}
	var report struct {
		Parameters json.RawMessage `json:"parameters"`
	}
	if json.Unmarshal(b, &report) == nil && report.Parameters != nil {
		b = report.Parameters
	}
	p := new(bbgp.Params)
	if err := p.UnmarshalJSON(b); err != nil {
		return nil, &table.Error{File: path, Text: fmt.Sprintf("holds no parameters: %s", oneLine(err.Error()))}
	}
	return p, nil
}

func fileReason(err error) string {
	if errors.Is(err, os.ErrNotExist) {
		return "no such file"
	}
	return oneLine(err.Error())
}

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
	"bbgp.dev/bbgp/enum"
	"bbgp.dev/bbgp/score"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/internal/checkpoint"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/outfile"
	"bbgp.dev/internal/usage"
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
	restarts  int
	fixMean   bool
	json      bool
	progress  progressFlags

	heldOut    string // file for what --holdout kept back
	checkpoint string
	resume     bool
	robust     bool
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
	f.read.memory = &f.model.memory
	fl.StringVarP(&f.out, "out", "o", "", "file for the model (default: it is not kept)")
	fl.StringVar(&f.holdout, "holdout", "",
		"table with the same columns to score the predictions on, or a share of the rows to keep for that, such as 10%")
	fl.StringVar(&f.heldOut, "holdout-out", "", "file for the held-out rows with their predictions")
	fl.StringVar(&f.blanks, "blanks", "", "file for predictions of the rows without a target")
	fl.StringVar(&f.checkpoint, "checkpoint", "", "file that keeps every step, to go on from after an end of any kind")
	fl.BoolVar(&f.resume, "resume", false, "go on from the file of --checkpoint, if there is one")
	fl.BoolVar(&f.robust, "robust", false,
		"lower the weight of outlying rows: noise of Student's t with 4 degrees of freedom")
	f.addTraining(fl)
	f.model.add(fl)
	f.machine.add(fl)
	fl.BoolVar(&f.json, "json", false, "report as one JSON object")
	f.progress.add(fl)
	return c
}

// addTraining adds the flags of the training itself.
func (f *fitFlags) addTraining(fl *pflag.FlagSet) {
	fl.StringVar(&f.model.kernel, "kernel", "", "covariance function: "+strings.Join(gp.Families(), ", ")+
		" (default: that of --start, or matern32)")
	fl.Float64Var(&f.model.lmlStdErr, "lml-se", usualStdErr,
		"standard error per row of the likelihood that a fit reports; smaller takes more probes at its end")
	fl.StringVar(&f.optimizer, "optimizer", "", "levenberg, lbfgs or adam (default: by method)")
	fl.IntVar(&f.maxSteps, "max-steps", 400, "most evaluations on all rows")
	fl.StringVar(&f.start, "start", "", "parameters (JSON) to start from")
	fl.IntVar(&f.restarts, "restarts", 0,
		"starts of the search (0: as many as the budget of the choice allows; more for those who doubt)")
	fl.BoolVar(&f.fixMean, "fix-mean", false, "keep the constant mean at its start")
}

// A fitReport is what fit --json prints.
type fitReport struct {
	bbgp.Result
	Inputs  []string     `json:"inputs"`            // names of the inputs
	Blank   int          `json:"blank_rows"`        // rows set aside for they have no target
	Dropped int          `json:"dropped_rows"`      // rows left out by --missing drop
	Notes   []string     `json:"notes"`             // what was found in the table and the fit
	Total   float64      `json:"total_cpu_seconds"` // of the process: reading, fit, advice, scoring
	Model   string       `json:"model,omitempty"`   // the file that was written
	Holdout *score.Score `json:"holdout,omitempty"` // score of the rows held out

	learnt []string // the notes that the fit has added
}

func (a *app) fit(ctx context.Context, data string, f *fitFlags) error {
	w, read := a.timed(f.model.time)
	defer read()
	opt, err := f.options(ctx, a)
	if err != nil {
		return err
	}
	ts, err := a.fitTables(data, f, opt.Seed)
	if err != nil {
		return err
	}
	read()
	if opt.Time, err = w.left(a); err != nil {
		return err
	}
	work, done := w.within(ctx, opt.Engine) // what comes after the training, which has its own end
	defer done()
	a.keeps.Store(true)
	defer a.keeps.Store(false)
	m, err := a.search(ctx, f, ts, opt)
	ended := err // an interrupt or the end of the time keeps what there is
	if err != nil && (m == nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)) {
		return ts.locate(ofParams(f.start, err))
	}
	m.Extra, m.Writer = ts.plan.Encode(), "bbgp "+versionString()
	a.sayConstant(m, ts)
	if ended == nil && m.Result.Stopped != "time" {
		err := advise(work, f, ts, m, opt.Engine)
		if ended = work.Err(); err != nil && ended == nil {
			return err
		}
	}
	rep := &fitReport{Inputs: ts.plan.Names(), Blank: len(ts.set.Blank), Dropped: len(ts.set.Drop),
		Notes: append(ts.notes, ts.learnt...), learnt: ts.learnt, Model: f.out}
	scored := ended == nil && ts.held != nil && m.Result.Stopped != "time" // the model will tell how
	saved := !scored || outfile.Replaces(f.out)
	if f.out != "" && saved {
		if err := a.save(f.out, m); err != nil {
			return err
		}
	}
	if ended == nil {
		a.keeps.Store(f.out != "" && !saved)
		err := a.afterFit(work, f, ts, m, &opt, rep)
		if err != nil && rep.Holdout == nil && f.out != "" && !saved {
			err = errors.Join(err, a.save(f.out, m)) // without the scores
		}
		if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
			return err
		}
		ended = err
	}
	if note := f.model.unusedNote(m.Result.Method); note != "" {
		rep.Notes, rep.learnt = append(rep.Notes, note), append(rep.learnt, note)
	}
	rep.Result, rep.Total = m.Result, usage.CPUSeconds()
	return a.closeFit(f, m, rep, ended)
}

// fitTables reads the table to fit, and what is held out of it or beside it.
func (a *app) fitTables(data string, f *fitFlags, seed uint64) (*trainingSet, error) {
	share, err := f.share()
	if err != nil {
		return nil, err
	}
	ts, err := a.training(data, &f.read, false)
	if err != nil {
		return nil, err
	}
	switch {
	case share > 0:
		err = ts.holdOut(share, seed)
	case f.holdout != "":
		err = a.heldTable(ts, f)
	case f.heldOut != "":
		err = usagef("--holdout-out needs --holdout")
	}
	if err != nil {
		return nil, err
	}
	if !f.progress.quiet {
		for _, n := range ts.notes {
			a.say("%s", n)
		}
	}
	return ts, nil
}

// closeFit prints the report and returns how the fit ended.
func (a *app) closeFit(f *fitFlags, m *bbgp.Model, rep *fitReport, ended error) error {
	var err error
	if f.json {
		err = writeJSON(a.out, rep)
	} else {
		err = writeSummary(a.out, m, rep)
	}
	switch {
	case err != nil:
		return err
	case ended != nil && errors.Is(ended, context.Canceled):
		a.say("the best so far: LML %.6g%s%s", m.Result.LML, kept(f.out), f.goOn())
		return ended
	case m.Result.Stopped == "time":
		return &budgetError{"the time budget ended the training; the model is the best so far" + f.goOn()}
	case ended != nil:
		return &budgetError{"the training is complete; the time budget was over before its rows were judged or those " +
			"held out scored: bbgp report MODEL --data TABLE does"}
	}
	return nil
}

func kept(out string) string {
	if out == "" {
		return ""
	}
	return ", the model is " + out
}

// goOn says how an unfinished fit is finished.
func (f *fitFlags) goOn() string {
	if f.checkpoint == "" {
		return ""
	}
	return "; --resume goes on from " + f.checkpoint
}

// search fits, with the checkpoint that is asked for.
func (a *app) search(ctx context.Context, f *fitFlags, ts *trainingSet, opt bbgp.Options) (m *bbgp.Model, err error) {
	if f.checkpoint != "" {
		j, err := openJournal(f)
		if err != nil {
			return nil, err
		}
		defer func() {
			if n := j.Replayed(); n > 0 && !f.progress.quiet {
				a.say("%d evaluations were taken from %s", n, f.checkpoint)
			}
			j.Close() // an error of a write is among the model's warnings
		}()
		opt.Journal = j
	}
	if f.robust {
		return robustFit(ctx, ts, opt)
	}
	m, err = bbgp.Fit(ctx, ts.data, opt)
	if m == nil && errors.Is(err, context.Canceled) && f.checkpoint != "" {
		a.say("no step was completed on all rows yet%s", f.goOn())
	}
	return m, err
}

func (f *fitFlags) options(ctx context.Context, a *app) (bbgp.Options, error) {
	e, err := f.machine.engine(a)
	if err != nil {
		return bbgp.Options{}, err
	}
	if f.resume && f.model.memory == "" {
		if budget, ok := checkpoint.Memory(f.checkpoint); ok {
			f.model.memory = fmt.Sprint(budget, "B")
		}
	}
	opt, err := f.model.options(e)
	if err != nil {
		return opt, err
	}
	if f.out == table.Stdin {
		return opt, usagef("--out - is no place for a model; name a file")
	}
	if f.maxSteps < 1 {
		return opt, usagef("--max-steps %d is less than 1", f.maxSteps)
	}
	opt.Optimizer = enum.Optimizer(f.optimizer)
	opt.MaxSteps, opt.FixMean, opt.Restarts = f.maxSteps, f.fixMean, f.restarts
	if f.start != "" {
		if opt.Start, err = readParams(f.start); err != nil {
			return opt, err
		}
	}
	if f.resume && f.checkpoint == "" {
		return opt, usagef("--resume needs --checkpoint FILE")
	}
	if f.robust && f.checkpoint != "" {
		return opt, usagef("--robust fits several times and takes no --checkpoint")
	}
	if f.checkpoint != "" && f.model.costs == measuredCosts {
		return opt, usagef("--checkpoint needs costs that are the same at --resume: bbgp bench costs --json > " +
			"costs.json, then --costs costs.json")
	}
	if opt.Costs, err = readCosts(ctx, e, f.model.costs); err != nil {
		return opt, err
	}
	opt.Progress, err = f.progress.reporter(a.errw, f.model.time)
	opt.Progress = a.polled(opt.Progress)
	return opt, err
}

// sayConstant says so where the target of all rows is one number.
func (a *app) sayConstant(m *bbgp.Model, ts *trainingSet) {
	if m.Result.ConstantTarget {
		a.say("%s: column %s: the target is %v in all %d rows; the model predicts it everywhere", ts.table.File,
			ts.plan.Target, ts.data.Y[0], len(ts.data.Y))
	}
}

// afterFit predicts the rows held out, which the model keeps in mind, and those
// without a target.
func (a *app) afterFit(ctx context.Context, f *fitFlags, ts *trainingSet, m *bbgp.Model, opt *bbgp.Options,
	rep *fitReport) error {
	if h := ts.held; h != nil && m.Result.Stopped == "time" {
		a.say("the time is over: held-out rows are not scored; bbgp report MODEL --data TABLE does")
	} else if h != nil {
		if f.progress.format == "plain" && !f.progress.quiet {
			a.say("predicting %d held-out rows", len(h.data.Y))
		}
		deviating(m, opt.Memory)
		var err error
		if ts.plan.HeldOut, err = h.score(ctx, a, m, ts.plan, opt.Engine, f.heldOut); err != nil {
			return err
		}
		m.Result.PeakBytes = usage.PeakBytes()
		rep.Holdout = &ts.plan.HeldOut.Score
		know(ts.plan, m)
		if h.table != "" && !f.progress.quiet {
			for _, note := range ts.plan.OutsideNotes(h.data.X) {
				a.say("%s: %s", f.holdout, note)
			}
		}
		m.Extra = ts.plan.Encode()
		if f.out != "" {
			if err := a.save(f.out, m); err != nil {
				return err
			}
		}
	}
	return a.predictBlanks(ctx, f, ts, m, opt)
}

// predictBlanks writes the predictions of rows without a target to the file of --blanks; where there are none, it holds
// no row, and not what an earlier run has left.
func (a *app) predictBlanks(ctx context.Context, f *fitFlags, ts *trainingSet, m *bbgp.Model, opt *bbgp.Options) error {
	if f.blanks == "" {
		return nil
	}
	p := new(bbgp.Prediction)
	if len(ts.set.Blank) > 0 {
		deviating(m, opt.Memory)
		x := ts.plan.Matrix(ts.table, ts.set.Blank)
		var err error
		if p, err = predictRows(ctx, m, ts.plan, opt.Engine, x, bbgp.PredictOptions{SD: true}); err != nil {
			return located(err, ts.table, ts.set.Blank)
		}
	}
	return writeFile(f.blanks, a.out, func(w *rowWriter) error {
		w.header("row", "mean", "sd", "sd_obs")
		for k, i := range ts.set.Blank {
			w.row(float64(i+1), p.Mean[k], p.SD[k], p.SDObs[k])
		}
		return nil
	})
}

// readParams reads a file of parameters.
func readParams(path string) (*bbgp.Params, error) {
	b, err := readSmall(path)
	if err != nil {
		return nil, &table.Error{File: path, Text: fileReason(err)}
	}
	return parseParams(path, b)
}

// parseParams takes parameters from what a file holds: them, or a report with them.
func parseParams(path string, b []byte) (*bbgp.Params, error) {
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

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/score"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// blockRows is the number of rows that are predicted at a time: memory does
// not grow with the table, and the first rows leave before the last arrive.
const blockRows = 4096

type predictFlags struct {
	machine machine
	memory  string
	read    reading
	opt     bbgp.PredictOptions
	bounds  bool
	level   float64 // of --interval; 0 for none
	out     string
	json    bool
	quiet   bool
	keep    []string // columns to copy
	digits  int
}

func (a *app) predictCommand() *cobra.Command {
	var f predictFlags
	c := &cobra.Command{
		Use:   "predict MODEL NEW.csv --out PRED.csv",
		Short: "Predict the rows of a table with a saved model",
		Example: `  bbgp predict model.bbgp new.csv --sd --interval 0.95 --out predictions.csv
  zcat new.csv.gz | bbgp predict model.bbgp - > means.csv`,
		Args: exactly("MODEL", "NEW.csv"),
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			if f.level == 0 && c.Flags().Changed("interval") {
				return usagef("--interval 0 holds nothing: 0.95, or 95 for 95 %%")
			}
			return a.predict(c.Context(), args[0], args[1], &f)
		},
	}
	fl := c.Flags()
	fl.BoolVar(&f.opt.SD, "sd", false,
		"also the standard deviations sd (of the function) and sd_obs (of an observation)")
	fl.Float64Var(&f.level, "interval", 0,
		"also lower and upper, the central interval of an observation with this probability, such as 0.95")
	fl.BoolVar(&f.bounds, "bounds", false, "also the bounds of mean and sd")
	fl.Float64Var(&f.opt.SDTol, "sd-tol", 0.05, "largest relative half width of the interval that sd is known to")
	fl.Float64Var(&f.opt.MeanTol, "mean-tol", 1e-3, "largest error of the mean, in standard deviations of the target")
	fl.StringVarP(&f.out, "out", "o", "-", "file for the predictions; - is standard output")
	fl.BoolVar(&f.opt.Dense, "dense", false,
		"deviations by Cholesky of the whole matrix of the training rows: 8 n² bytes, no bounds needed")
	fl.BoolVar(&f.opt.Rigorous, "rigorous", false,
		"bounds that hold for certain and not but for one in a million: slower")
	fl.StringSliceVar(&f.keep, "keep", nil, "columns of the table to copy before the predictions, such as a key")
	fl.IntVar(&f.digits, "digits", 0, "significant digits of the predictions (default: all)")
	f.read.addFormat(fl)
	addMemory(fl, &f.memory)
	f.read.memory = &f.memory
	f.machine.add(fl)
	fl.BoolVar(&f.json, "json", false, "report as one JSON object (needs --out FILE)")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "no remarks; errors only")
	return c
}

// A predictReport is what predict --json prints.
type predictReport struct {
	N       int          `json:"n"`       // rows predicted
	Skipped int          `json:"skipped"` // rows without a prediction, for an input is missing
	Seconds float64      `json:"seconds"` // wall time
	Out     string       `json:"out"`     // the file that was written
	ISA     string       `json:"isa"`
	Bounds  string       `json:"bound_kind,omitempty"` // exact, rigorous or probable
	Score   *score.Score `json:"score,omitempty"`      // of the rows that have a target
	Notes   []string     `json:"notes"`                // what was found in the table
}

func (a *app) predict(ctx context.Context, path, data string, f *predictFlags) error {
	if f.json && f.out == "-" {
		return usagef("--json needs --out FILE: standard output cannot take both")
	}
	if !(f.opt.SDTol > 0) || !(f.opt.MeanTol > 0) {
		return usagef("--sd-tol and --mean-tol must be positive")
	}
	if f.level > 1 && f.level < 100 {
		f.level /= 100 // 95 is meant as 95 %
	}
	if !(f.level >= 0 && f.level < 1) {
		return usagef("--interval %v is not a probability: 0.95, or 95 for 95 %%", f.level)
	}
	if err := checkOrder("predict", path, data); err != nil {
		return err
	}
	f.opt.SD = f.opt.SD || f.bounds || f.level > 0 || f.opt.Dense || f.opt.Rigorous
	e, err := f.machine.engine(a)
	if err != nil {
		return err
	}
	start := time.Now()
	m, plan, err := loadModel(path, f.memory)
	if err != nil {
		return err
	}
	s, in, err := a.openStream(plan, data, &f.read)
	if err != nil {
		return err
	}
	defer in.Close()
	s.WantNoise = f.opt.SD
	if f.digits < 0 || f.digits > 17 {
		return usagef("--digits %d is not between 1 and 17", f.digits)
	}
	kept, err := s.Keep(f.keep)
	if err != nil {
		return err
	}
	p := &predictor{model: m, plan: plan, stream: s, engine: e, flags: f, kept: kept,
		check: a.checking(ctx, m, plan, data, f),
		live:  newCounter(a.errw, f.quiet || f.out == "-" && isTerminal(a.out))}
	if err := writeFile(f.out, a.out, func(w *rowWriter) error { return p.run(ctx, w, len(plan.Inputs)) }); err != nil {
		return err
	}
	rep := &predictReport{N: p.rows, Skipped: p.skipped, Seconds: time.Since(start).Seconds(), Out: f.out,
		ISA: e.Impl.Name, Bounds: p.kind, Notes: p.notes()}
	if f.json {
		rep.Score = p.score()
		return writeJSON(a.out, rep)
	}
	if !f.quiet {
		for _, n := range rep.Notes {
			a.say("%s", n)
		}
		a.say("%s predicted in %.2f s", table.Rows(rep.N-rep.Skipped), rep.Seconds)
	}
	return nil
}

// checking returns checkRows for a file that is predicted to standard output, and nil otherwise: a file
// that is written appears whole or not at all, and a pipe cannot be read twice.
func (a *app) checking(ctx context.Context, m *bbgp.Model, plan *inputs.Plan, data string,
	f *predictFlags) func() error {
	if f.out != "-" || data == table.Stdin || a.mayWait(data) {
		return nil
	}
	return func() error { return a.checkRows(ctx, m, plan, data, f) }
}

// checkRows refuses what predictions of a file would refuse, before the first is printed.
func (a *app) checkRows(ctx context.Context, m *bbgp.Model, plan *inputs.Plan, data string, f *predictFlags) error {
	s, in, err := a.openStream(plan, data, &f.read)
	if err != nil {
		return err
	}
	defer in.Close()
	s.WantNoise = f.opt.SD
	x := linalg.NewMatrix(blockRows, len(plan.Inputs))
	y, ok := make([]float64, blockRows), make([]bool, blockRows)
	for rows, more := 0, true; more; {
		n, err := s.Next(x, y, ok)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		more = err == nil
		for i := range n {
			for j, v := range x.Row(i) {
				if math.Abs((v-m.Scaling.XMean[j])/m.Scaling.XScale[j]) > gp.MostSpread {
					return &table.Error{File: s.File(), Row: rows + i + 1, Column: m.Names[j], Text: gp.TooFar(v)}
				}
			}
		}
		rows += n
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// A predictor carries rows from a stream through a model to a writer.
type predictor struct {
	model   *bbgp.Model
	plan    *inputs.Plan
	stream  *inputs.Stream
	engine  *linalg.Engine
	flags   *predictFlags
	rows    int
	skipped int
	scores  score.Sum
	unit    float64  // half the width of the interval asked for, of Student's t
	kind    string   // of the bounds
	kept    []string // names of the columns that are copied
	live    *counter
	check   func() error // looks at all rows before the first are printed; nil: they are printed as they come

	meanError float64 // bbgp.Prediction.MeanError
	meanSeen  float64 // and MeanSeen, the largest
	loose     int     // rows whose deviation is known to less than looseSD
}

// looseSD is the relative half width of the bounds of a deviation, and more than was asked for, beyond which that
// is told of.
const looseSD = 0.25

func (p *predictor) run(ctx context.Context, w *rowWriter, d int) error {
	names := []string{"mean"}
	if p.flags.opt.SD {
		names = append(names, "sd", "sd_obs")
	}
	if p.flags.level > 0 {
		names = append(names, "lower", "upper")
	}
	if p.flags.bounds {
		names = append(names, "mean_lower", "mean_upper", "sd_lower", "sd_upper")
	}
	for _, k := range p.kept {
		if slices.Contains(names, k) {
			return usagef("--keep %s: a column of the predictions is called so too", k)
		}
	}
	w.digits = p.flags.digits
	defer p.live.end()
	var held *heldWriter
	if p.check != nil {
		held = &heldWriter{w: w.w, check: p.check, since: time.Now()}
		w.w = bufio.NewWriter(held)
	}
	x := linalg.NewMatrix(blockRows, d)
	y, ok := make([]float64, blockRows), make([]bool, blockRows)
	for {
		n, err := p.stream.Next(x, y, ok)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n > 0 {
			if err := p.block(ctx, w, x.Sub(0, n, 0, d), y[:n], ok, names); err != nil {
				return err
			}
		}
		if err != nil {
			break
		}
	}
	if p.rows == 0 {
		return p.stream.Empty()
	}
	if held != nil && !held.open {
		return held.release()
	}
	return nil
}

func (p *predictor) block(ctx context.Context, w *rowWriter, x linalg.Matrix, y []float64, ok []bool,
	names []string) error {
	opt := p.flags.opt
	opt.NoiseScale, opt.NoiseExtra = p.stream.Noise()
	pred, err := predictRows(ctx, p.model, p.plan, p.engine, x, opt)
	var bad *bbgp.DataError
	if errors.As(err, &bad) && bad.Row >= 0 {
		return &table.Error{File: p.stream.File(), Row: p.rows + bad.Row + 1, Column: bad.Column, Text: bad.Reason}
	}
	if err != nil {
		return err
	}
	p.kind, p.meanError, p.meanSeen = string(pred.BoundKind), pred.MeanError, max(p.meanSeen, pred.MeanSeen)
	if p.rows == 0 { // nothing is printed of what is refused at once
		w.header(slices.Concat(p.kept, names)...)
	}
	for i := range y {
		p.rows++
		if !ok[i] {
			p.skipped++
			w.texts(p.stream.Kept, i)
			w.empty(len(names))
			continue
		}
		v := append(make([]float64, 0, 9), pred.Mean[i])
		if p.flags.opt.SD {
			v = append(v, pred.SD[i], pred.SDObs[i])
			if lo, hi := pred.SDLower[i], pred.SDUpper[i]; hi-lo > max(looseSD, opt.SDTol)*(hi+lo) {
				p.loose++
			}
		}
		if p.flags.level > 0 {
			h := p.width(pred.Laws[i])
			v = append(v, pred.Mean[i]-h, pred.Mean[i]+h)
		}
		if p.flags.bounds {
			v = append(v, pred.MeanLower[i], pred.MeanUpper[i], pred.SDLower[i], pred.SDUpper[i])
		}
		w.texts(p.stream.Kept, i)
		w.row(v...)
		switch {
		case math.IsNaN(y[i]): // the table does not tell
		case p.flags.opt.SD:
			p.scores.Add(y[i], pred.Laws[i])
		default:
			p.scores.AddMean(y[i], pred.Mean[i])
		}
	}
	p.live.tell("%s predicted", table.Rows(p.rows))
	return w.w.Flush()
}

// width is half the width of the interval that is asked for. Student's t of the whole,
// the law where rows are few, is solved for once.
func (p *predictor) width(l score.Law) float64 {
	if l.Tail == nil || l.Fixed > 0 || !l.Dense() {
		return l.HalfWidth(p.flags.level)
	}
	if p.unit == 0 {
		p.unit = score.Law{Mixed: 1, Tail: l.Tail}.HalfWidth(p.flags.level)
	}
	return math.Sqrt(l.Mixed) * p.unit
}

func (p *predictor) notes() []string {
	notes := p.stream.Notes()
	if p.skipped > 0 {
		notes = append(notes, "rows with missing inputs have no prediction: their cells are empty")
	}
	if tol := p.flags.opt.MeanTol; p.meanSeen > tol {
		notes = append(notes, fmt.Sprintf("rounding leaves a residual of the weights by which a mean may be off by "+
			"up to %.2g standard deviations of the target (%.2g seen), "+
			"where %.2g was asked for; --sd --bounds tells how far each row can be off", p.meanError, p.meanSeen, tol))
	}
	if p.loose > 0 {
		notes = append(notes, fmt.Sprintf("the sd of %s is known to a quarter of itself or less; "+
			"--sd --bounds tells its bounds, of which it is the middle", table.Rows(p.loose)))
	}
	return notes
}

// score compares with the targets that the table has.
func (p *predictor) score() *score.Score {
	if p.scores.N() == 0 {
		return nil
	}
	s := p.scores.Score(p.model.Scaling.YScale)
	return &s
}

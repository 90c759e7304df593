package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/score"
	"bbgp.dev/cmd/bbgp/internal/plots"
)

type demoFlags struct {
	machine  machine
	n, d     int
	noise    float64
	seed     uint64
	dir      string
	json     bool
	progress progressFlags
}

func (a *app) demoCommand() *cobra.Command {
	var f demoFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "Make an example, fit it, predict a held-out part, draw the result",
		Long: `Demo draws inputs x1..xd uniformly from (0, 1) and sets

  y = sin(2 pi x1) + 2 (x2 - 1/2)^2 + x3 exp(-x4) + noise,

so x5 and all later inputs are irrelevant. It writes the rows as CSV, fits a
model on two thirds of them, predicts the others and compares.`,
		Example: "  bbgp demo\n  bbgp demo --n 10000 --noise 0.01 --dir demo",
		Args:    exactly(),
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			return a.demo(c.Context(), &f)
		},
	}
	fl := c.Flags()
	fl.IntVar(&f.n, "n", 3000, "rows")
	fl.IntVar(&f.d, "d", 6, "inputs, at least 4")
	fl.Float64Var(&f.noise, "noise", 0.1, "standard deviation of the noise")
	fl.Uint64Var(&f.seed, "seed", 1, "start of every random stream")
	fl.StringVar(&f.dir, "dir", "bbgp-demo", "folder for the files, made if needed")
	f.machine.add(fl)
	fl.BoolVar(&f.json, "json", false, "report as one JSON object")
	f.progress.add(fl)
	return c
}

// demoFunction is the noiseless y of the demo.
func demoFunction(x []float64) float64 {
	return math.Sin(2*math.Pi*x[0]) + 2*(x[1]-0.5)*(x[1]-0.5) + x[2]*math.Exp(-x[3])
}

// A demoReport is what demo --json prints.
type demoReport struct {
	bbgp.Result
	Inputs    []string     `json:"inputs"`         // names of the inputs
	Holdout   *score.Score `json:"holdout"`        // score of the rows held out
	NoiseTrue float64      `json:"noise_sd_true"`  // standard deviation of the noise that was added
	NoiseFit  float64      `json:"noise_sd_found"` // that of the fit
	RMSETruth float64      `json:"rmse_noiseless"` // root mean square error to the function without noise
	Files     []string     `json:"files"`          // files that were written
}

func (a *app) demo(ctx context.Context, f *demoFlags) error {
	if f.n < 30 || f.n > 1e6 || f.d < 4 || f.d > 1000 {
		return usagef("--n must be 30 to 1000000 and --d 4 to 1000")
	}
	if !(f.noise >= 0) || math.IsInf(f.noise, 0) {
		return usagef("--noise %v is not a number from 0", f.noise)
	}
	if err := os.MkdirAll(f.dir, 0o777); err != nil {
		return usagef("--dir %s cannot be made: %s", f.dir, fileReason(err))
	}
	train, test := filepath.Join(f.dir, "train.csv"), filepath.Join(f.dir, "test.csv")
	for _, path := range []string{train, test} {
		if !demoTable(path) {
			return usagef("%s is there and no table of a demo: it would be lost; name another folder with --dir", path)
		}
	}
	truth, err := f.writeTables(train, test)
	if err != nil {
		return err
	}
	if !f.progress.quiet {
		a.say("wrote %s (%d rows) and %s (%d rows)", train, f.n-len(truth), test, len(truth))
	}
	return a.demoFit(ctx, f, train, test, truth)
}

// demoTable says whether a file is not there or begins as writeTables has it: x1..xd, y, and
// inputs between 0 and 1.
func demoTable(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	if !lines.Scan() {
		return lines.Err() == nil // empty: nothing is lost
	}
	names := strings.Split(lines.Text(), ",")
	last := len(names) - 1
	if !lines.Scan() || last < 4 || names[last] != "y" {
		return false
	}
	row := strings.Split(lines.Text(), ",")
	for j, name := range names[:last] {
		v, err := strconv.ParseFloat(row[min(j, len(row)-1)], 64)
		if name != "x"+strconv.Itoa(j+1) || err != nil || v < 0 || v > 1 {
			return false
		}
	}
	return true
}

// writeTables draws the example, writes two thirds of it as train and the rest
// as test, and returns the noiseless targets of the rest.
func (f *demoFlags) writeTables(train, test string) (truth []float64, err error) {
	// The second word keeps the streams of other uses of the seed apart.
	rng := rand.New(rand.NewPCG(f.seed, 0x62626770))
	var names []string
	for j := range f.d {
		names = append(names, "x"+strconv.Itoa(j+1))
	}
	row := make([]float64, f.d+1)
	draw := func(n int, each func(y float64)) func(*rowWriter) error {
		return func(w *rowWriter) error {
			w.header(append(names[:f.d:f.d], "y")...)
			for range n {
				for j := range f.d {
					row[j] = math.Round(rng.Float64()*1e6) / 1e6
				}
				y := demoFunction(row)
				each(y)
				row[f.d] = y + f.noise*rng.NormFloat64()
				w.row(row...)
			}
			return nil
		}
	}
	n := f.n * 2 / 3
	if err := writeFile(train, nil, draw(n, func(float64) {})); err != nil {
		return nil, err
	}
	err = writeFile(test, nil, draw(f.n-n, func(y float64) { truth = append(truth, y) }))
	return truth, err
}

func (a *app) demoFit(ctx context.Context, f *demoFlags, train, test string, truth []float64) error {
	e, err := f.machine.engine(a)
	if err != nil {
		return err
	}
	read := &reading{target: "y", missing: "stop", levels: 20, header: "auto"}
	ts, err := a.training(train, read, false)
	if err != nil {
		return err
	}
	// Method bbgp also where exact would be cheaper: it is what the demo shows.
	opt := bbgp.Options{Method: "bbgp", Seed: f.seed, Engine: e}
	if opt.Progress, err = f.progress.reporter(a.errw, 0); err != nil {
		return err
	}
	m, err := bbgp.Fit(ctx, ts.data, opt)
	if err != nil {
		return ts.locate(err)
	}
	m.Extra = ts.plan.Encode()
	model := filepath.Join(f.dir, "model.bbgp")
	if err := m.Save(model); err != nil {
		return err
	}
	t, err := a.load(test, read)
	if err != nil {
		return err
	}
	set, err := ts.plan.Apply(t, true)
	if err != nil {
		return err
	}
	p, err := m.Predict(ctx, set.X, bbgp.PredictOptions{SD: true, Engine: e})
	if err != nil {
		return err
	}
	s, err := m.Score(p, set.Y)
	if err != nil {
		return err
	}
	r := &demoReport{Result: m.Result, Inputs: ts.plan.Names(), Holdout: &s,
		NoiseTrue: f.noise, NoiseFit: math.Sqrt(m.Parameters.Noise) * m.Scaling.YScale,
		Files: []string{train, test, model}}
	var off score.Sum
	for i, y := range truth {
		off.AddMean(y, p.Mean[i])
	}
	r.RMSETruth = off.Score(1).RMSE
	if err := r.finish(f, set.Y, p); err != nil {
		return err
	}
	if f.json {
		return writeJSON(a.out, r)
	}
	return a.writeDemo(m, r)
}

// finish writes the predictions and the pictures.
func (r *demoReport) finish(f *demoFlags, y []float64, p *bbgp.Prediction) error {
	path := filepath.Join(f.dir, "predictions.csv")
	err := writeFile(path, nil, func(w *rowWriter) error {
		w.header("y", "mean", "sd", "sd_obs")
		for i := range y {
			w.row(y[i], p.Mean[i], p.SD[i], p.SDObs[i])
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.Files = append(r.Files, path)
	trace, err := plots.Trace(tracePoints(r.Trace))
	if err != nil {
		return err
	}
	predicted, err := plots.Predicted("Held-out rows", "y", y, p.Mean, p.SDObs)
	if err != nil {
		return err
	}
	files, err := plots.Save(trace, filepath.Join(f.dir, "trace"))
	if err != nil {
		return err
	}
	r.Files = append(r.Files, files...)
	if files, err = plots.Save(predicted, filepath.Join(f.dir, "predicted")); err != nil {
		return err
	}
	r.Files = append(r.Files, files...)
	return nil
}

// tracePoints picks the accepted steps on all rows.
func tracePoints(steps []bbgp.Step) []plots.TracePoint {
	var out []plots.TracePoint
	for _, s := range steps {
		if s.Accepted && s.Phase != "prefit" {
			out = append(out, plots.TracePoint{Seconds: s.Seconds, LML: s.LML,
				Lower: s.Lower, Upper: s.Upper, StdErr: s.StdErr})
		}
	}
	return out
}

func (a *app) writeDemo(m *bbgp.Model, r *demoReport) error {
	h := r.Holdout
	fmt.Fprintf(a.out, "held-out rows   %d: RMSE %.4f, NLPD %.4f, %.1f %% in the 95 %% interval\n",
		h.N, h.RMSE, h.NLPD, 100*h.Coverage95)
	fmt.Fprintf(a.out, "without noise   RMSE %.4f against the true function\n", r.RMSETruth)
	fmt.Fprintf(a.out, "noise sd        true %.4f, found %.4f\n", r.NoiseTrue, r.NoiseFit)
	fmt.Fprintf(a.out, "LML             %.2f, bias within [%.2f, %.2f], standard error %.2g\n",
		r.LML, r.Lower, r.Upper, r.StdErr)
	fmt.Fprintf(a.out, "lengthscales    relative to the sd of each input\n")
	for j, name := range r.Inputs {
		remark := ""
		if j >= 4 {
			remark = "  (irrelevant by construction)"
		}
		value := "no influence"
		if l := m.Parameters.Lengthscales[j]; !math.IsInf(l, 1) {
			value = fmt.Sprintf("%.3g", l)
		}
		fmt.Fprintf(a.out, "  %-4s %s%s\n", name, value, remark)
	}
	fmt.Fprintf(a.out, "work            %d evaluations, %d passes, %.1f s on %s\n",
		r.Evaluations, r.Passes, r.Seconds, r.ISA)
	for _, w := range r.Warnings {
		fmt.Fprintf(a.out, "warning         %s\n", w)
	}
	_, err := fmt.Fprintf(a.out, "files           %s\n", filepath.Dir(r.Files[0]))
	for _, f := range r.Files {
		_, err = fmt.Fprintf(a.out, "  %s\n", f)
	}
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/internal/cost"
	"bbgp.dev/linalg"
)

type sampleFlags struct {
	machine machine
	memory  string
	read    reading
	opt     bbgp.SampleOptions
	out     string
	json    bool
	quiet   bool
}

func (a *app) sampleCommand() *cobra.Command {
	var f sampleFlags
	c := &cobra.Command{
		Use:   "sample MODEL ROWS.csv --out DRAWS.csv",
		Short: "Draw whole functions from a saved model, at the rows of a table",
		Long: `Draw whole functions from a saved model, at the rows of a table.

A column of the output is one draw, jointly for all rows: differences, maxima and sums
over rows have their right distribution. Up to 3000 rows, those of the training
included, the draws are exact; beyond that the prior is a sum of random features, and
the report states the error of its covariance. Where the rows of the training are few,
draws are those of Student's t, as intervals are. The rows are held in memory.`,
		Example: `  bbgp sample model.bbgp grid.csv --draws 20 --out draws.csv
  bbgp sample model.bbgp grid.csv --draws 5 --prior > prior.csv`,
		Args: exactly("MODEL", "ROWS.csv"),
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			return a.sample(c.Context(), args[0], args[1], &f)
		},
	}
	fl := c.Flags()
	fl.IntVar(&f.opt.Draws, "draws", 10, "number of draws")
	fl.BoolVar(&f.opt.Prior, "prior", false, "draw from the prior, without the data")
	fl.BoolVar(&f.opt.Noise, "noise", false, "draw observations: add the noise")
	fl.Uint64Var(&f.opt.Seed, "seed", 0, "start of the random streams")
	fl.IntVar(&f.opt.Features, "features", 4096, "random features where the draws cannot be exact")
	fl.StringVarP(&f.out, "out", "o", "-", "file for the draws; - is standard output")
	f.read.addFormat(fl)
	addMemory(fl, &f.memory)
	f.read.memory = &f.memory
	f.machine.add(fl)
	fl.BoolVar(&f.json, "json", false, "report as one JSON object (needs --out FILE)")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "no remarks; errors only")
	return c
}

// A sampleReport is what sample --json prints.
type sampleReport struct {
	N          int      `json:"n"`              // rows that were drawn at
	Skipped    int      `json:"skipped"`        // rows left out, for an input is missing
	Draws      int      `json:"draws"`          // joint draws
	Exact      bool     `json:"exact"`          // drawn by Cholesky, not by features
	CovRMS     float64  `json:"covariance_rms"` // root mean square error of a covariance, over the variance
	CovMax     float64  `json:"covariance_max"` // the largest error of a covariance, as covariance_rms
	SolveError float64  `json:"solve_error"`    // bound of the error of the solves, in sd of the target
	Seconds    float64  `json:"seconds"`
	Out        string   `json:"out"`
	ISA        string   `json:"isa"`
	Notes      []string `json:"notes"`
}

func (a *app) sample(ctx context.Context, path, data string, f *sampleFlags) error {
	if f.json && f.out == "-" {
		return usagef("--json needs --out FILE: standard output cannot take both")
	}
	if f.opt.Draws < 1 || f.opt.Features < 1 {
		return usagef("--draws and --features must be positive")
	}
	if err := checkOrder("sample", path, data); err != nil {
		return err
	}
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
	s.WantNoise = f.opt.Noise
	x, ok, err := readAll(s, len(plan.Inputs), &f.opt)
	if err != nil {
		return err
	}
	known, _ := unseenToo(plan, m, x)
	for k := range known.Rows {
		if j := slices.IndexFunc(known.Row(k), math.IsNaN); j >= 0 {
			return s.UnseenError(rowOf(ok, k), j)
		}
	}
	f.opt.Engine = e
	draws, err := m.Sample(ctx, x, f.opt)
	var bad *bbgp.DataError
	if errors.As(err, &bad) && bad.Row >= 0 {
		return &table.Error{File: s.File(), Row: rowOf(ok, bad.Row), Column: bad.Column, Text: bad.Reason}
	}
	if err != nil {
		return err
	}
	r := &sampleReport{N: len(ok), Skipped: len(ok) - x.Rows, Draws: f.opt.Draws, Exact: draws.Exact,
		CovRMS: draws.CovRMS, CovMax: draws.CovMax,
		SolveError: draws.SolveError, Out: f.out, ISA: e.Impl.Name, Notes: s.Notes()}
	if err := writeFile(f.out, a.out, func(w *rowWriter) error { return writeDraws(w, draws.Values, ok) }); err != nil {
		return err
	}
	r.Seconds = time.Since(start).Seconds()
	return a.reportSample(f, r)
}

func (a *app) reportSample(f *sampleFlags, r *sampleReport) error {
	if r.Skipped > 0 {
		r.Notes = append(r.Notes, "rows with missing inputs have no draws: their cells are empty")
	}
	if f.json {
		return writeJSON(a.out, r)
	}
	if f.quiet {
		return nil
	}
	for _, n := range r.Notes {
		a.say("%s", n)
	}
	how := "exact"
	if !r.Exact {
		how = fmt.Sprintf("prior from %d random features, whose covariance is off by %.2g %% of the function's "+
			"variance (root mean square), %.2g %% at most",
			f.opt.Features, 100*r.CovRMS, 100*r.CovMax)
	}
	a.say("%d draws at %d rows in %.2f s: %s", r.Draws, r.N-r.Skipped, r.Seconds, how)
	return nil
}

// readAll reads the rows of a stream that have all inputs, and what it tells of their
// noise into opt; ok tells for every row.
func readAll(s *inputs.Stream, d int, opt *bbgp.SampleOptions) (x linalg.Matrix, ok []bool, err error) {
	block, y, use := linalg.NewMatrix(blockRows, d), make([]float64, blockRows), make([]bool, blockRows)
	x = linalg.Matrix{Cols: d, Stride: d}
	for {
		n, err := s.Next(block, y, use)
		if err != nil && !errors.Is(err, io.EOF) {
			return x, nil, err
		}
		// Of each row the input as read, twice while the list of them grows, and standardised.
		if err := cost.FitsMemory("a table of rows to draw at", 24*float64(len(x.Data)+n*d)); err != nil {
			return x, nil, err
		}
		scale, extra := s.Noise()
		for i := range n {
			for j, v := range block.Row(i) {
				if use[i] && math.IsNaN(v) {
					return x, nil, s.UnseenError(len(ok)+1, j)
				}
			}
			ok = append(ok, use[i])
			if use[i] {
				x.Data = append(x.Data, block.Row(i)...)
				x.Rows++
				if scale != nil {
					opt.NoiseScale = append(opt.NoiseScale, scale[i])
				}
				if extra != nil {
					opt.NoiseExtra = append(opt.NoiseExtra, extra[i])
				}
			}
		}
		if err != nil {
			break
		}
	}
	if len(ok) == 0 {
		return x, nil, s.Empty()
	}
	return x, slices.Clip(ok), nil
}

// rowOf is the number of row k of those that are ok, from 0, among all, from 1.
func rowOf(ok []bool, k int) int {
	for i, is := range ok {
		if is {
			if k == 0 {
				return i + 1
			}
			k--
		}
	}
	return len(ok)
}

func writeDraws(w *rowWriter, v linalg.Matrix, ok []bool) error {
	names := make([]string, v.Cols)
	for c := range names {
		names[c] = fmt.Sprintf("draw%d", c+1)
	}
	w.header(names...)
	i := 0
	for _, have := range ok {
		if !have {
			w.empty(v.Cols)
			continue
		}
		w.row(v.Row(i)...)
		i++
	}
	return nil
}

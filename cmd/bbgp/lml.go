package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/internal/cost"
)

type lmlFlags struct {
	machine machine
	read    reading
	model   modelling
	params  string
	plain   bool
	json    bool
	quiet   bool
}

func (a *app) lmlCommand() *cobra.Command {
	f := lmlFlags{model: modelling{lmlStdErr: usualStdErr}} // of fits alone
	c := &cobra.Command{
		Use:   "lml DATA.csv --target NAME --params P.json",
		Short: "The log marginal likelihood at given parameters: value, bounds, gradient",
		Example: `  bbgp lml train.csv --target y --params p.json
  bbgp lml train.csv --target y --params p.json --method exact --json`,
		Args: exactly("DATA.csv"),
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			return a.lml(c.Context(), args[0], &f)
		},
	}
	fl := c.Flags()
	f.read.add(fl)
	f.read.memory = &f.model.memory
	fl.StringVar(&f.params, "params", "",
		`file with {"kernel", "mean", "variance", "noise", "lengthscales"}, or all of a fit report`)
	f.model.add(fl)
	f.machine.add(fl)
	fl.BoolVar(&f.plain, "no-gradient", false, "the value only")
	fl.BoolVar(&f.json, "json", false, "report as one JSON object")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "no remarks; errors only")
	return c
}

func (a *app) lml(ctx context.Context, data string, f *lmlFlags) error {
	if f.params == "" {
		return usagef("--params is missing: name a file with the parameters")
	}
	w, read := a.timed(f.model.time)
	defer read()
	e, err := f.machine.engine(a)
	if err != nil {
		return err
	}
	opt, err := f.model.options(e)
	if err != nil {
		return err
	}
	if opt.Costs, err = readCosts(ctx, e, f.model.costs); err != nil {
		return err
	}
	opt.NoGradient = f.plain
	p, err := readParams(f.params)
	if err != nil {
		return err
	}
	ts, err := a.training(data, &f.read, true)
	if err != nil {
		return err
	}
	if len(ts.plan.Inputs) != len(p.Lengthscales) {
		// The parameters may come from a fit, which leaves out duplicates.
		if ts, err = a.training(data, &f.read, false); err != nil {
			return err
		}
	}
	if d := len(ts.plan.Inputs); d != len(p.Lengthscales) {
		return &table.Error{File: f.params, Text: fmt.Sprintf("has %d lengthscales, the table %d inputs: %s",
			len(p.Lengthscales), d, table.List(ts.plan.Names(), 8))}
	}
	if !f.quiet {
		for _, n := range ts.notes {
			a.say("%s", n)
		}
	}
	read()
	ctx, stop := w.within(ctx, e)
	defer stop()
	rep, err := bbgp.LogMarginalLikelihood(ctx, ts.data, *p, opt)
	if err != nil {
		return ts.locate(ofParams(f.params, err))
	}
	if note := f.model.unusedNote(rep.Method); note != "" && !f.quiet {
		a.say("%s", note)
	}
	if f.json {
		return writeJSON(a.out, rep)
	}
	return writeLML(a.out, ts, rep)
}

// ofParams names the file of parameters that the table cannot be evaluated at, or fitted from.
func ofParams(file string, err error) error {
	var param *bbgp.ParamError
	if file != "" && (errors.As(err, &param) || errors.Is(err, bbgp.ErrNotFinite)) {
		return &table.Error{File: file, Text: err.Error()}
	}
	return err
}

func writeLML(w io.Writer, ts *trainingSet, r *bbgp.LMLReport) error {
	textf(w, "log marginal likelihood  %.6f\n", r.LML)
	textf(w, "95 %% interval            [%.6f, %.6f]\n", r.Interval95[0], r.Interval95[1])
	if r.Passes > 0 {
		textf(w, "bounds of its bias       [%.6f, %.6f] (%s)\n", r.Lower, r.Upper, r.BoundKind)
		textf(w, "standard error           %.4g (%d probes)\n", r.StdErr, r.Probes)
		textf(w, "work                     %d passes, %s, %s%s\n", r.Passes,
			cost.Size{Rank: r.Rank, Neighbours: r.Neighbours, Latents: r.Latents}, r.Precision, costsNote(r.Costs))
	}
	if g := r.Gradient; g != nil {
		textf(w, "gradient by mean         %.6g\n            variance     %.6g\n            noise        %.6g\n",
			g.Mean, g.Variance, g.Noise)
		for j, name := range ts.plan.Names() {
			textf(w, "            lengthscale  %.6g  %s\n", g.Lengthscales[j], name)
		}
	}
	_, err := textf(w, "time                     %.2f s, %s, method %s\n",
		r.Seconds, formatBytes(r.PeakBytes), r.Method)
	return err
}

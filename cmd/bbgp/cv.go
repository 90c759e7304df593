package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"bbgp.dev/bbgp"
)

func (a *app) cvCommand() *cobra.Command {
	var f fitFlags
	var folds int
	c := &cobra.Command{
		Use:   "cv DATA.csv --target NAME",
		Short: "Cross-validate: fit on all folds but one, score on that one, for each",
		Example: `  bbgp cv train.csv --target y
  bbgp cv train.csv --target y --folds 10 --json`,
		Args: exactly("DATA.csv"),
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			return a.crossValidate(c.Context(), args[0], &f, folds)
		},
	}
	fl := c.Flags()
	fl.IntVar(&folds, "folds", 5, "folds, drawn at random by the seed")
	f.read.add(fl)
	f.addTraining(fl)
	f.model.add(fl)
	f.machine.add(fl)
	fl.BoolVar(&f.json, "json", false, "report as one JSON object")
	f.progress.add(fl)
	return c
}

// A cvReport is what cv --json prints. The scores of All are over all rows,
// each predicted by the fold that did not see it.
type cvReport struct {
	N       int       `json:"n"`
	Folds   []holdout `json:"folds"`
	All     holdout   `json:"all"`
	Seconds float64   `json:"seconds"`
	Notes   []string  `json:"notes"`
}

func (a *app) crossValidate(ctx context.Context, data string, f *fitFlags, folds int) error {
	opt, err := f.options(a)
	if err != nil {
		return err
	}
	ts, err := a.training(data, &f.read, false)
	if err != nil {
		return err
	}
	n := ts.data.X.Rows
	if folds < 2 || folds > n {
		return usagef("--folds %d is not between 2 and the number of rows, %d", folds, n)
	}
	if !f.progress.quiet {
		for _, note := range ts.notes {
			a.say("%s", note)
		}
	}
	order := rand.New(rand.NewPCG(opt.Seed, 0x63766376)).Perm(n) // the second word is the stream of this use
	r := &cvReport{N: n, Notes: ts.notes}
	var all scoreSum
	scale := 0.0
	for k := range folds {
		lo, hi := k*n/folds, (k+1)*n/folds
		train, test := ts.data.Rows(append(append([]int{}, order[:lo]...), order[hi:]...)), ts.data.Rows(order[lo:hi])
		m, err := bbgp.Fit(ctx, train, opt)
		if err != nil {
			return err
		}
		p, err := m.Predict(ctx, opt.Engine, test.X, bbgp.PredictOptions{SD: true})
		if err != nil {
			return err
		}
		var fold scoreSum
		for i, y := range test.Y {
			fold.add(y, p.Mean[i], p.SDObs[i])
			all.add(y, p.Mean[i], p.SDObs[i])
		}
		s := fold.score(m.Scaling.YScale)
		scale += m.Scaling.YScale / float64(folds)
		r.Folds = append(r.Folds, *newHoldout(*s, test.Y))
		r.Seconds += m.Result.Seconds
		if !f.progress.quiet {
			a.say("fold %d of %d: RMSE %.5g, NLPD %.4g", k+1, folds, s.RMSE, s.NLPD)
		}
	}
	s := all.score(scale)
	r.All = *newHoldout(*s, ts.data.Y)
	if f.json {
		return writeJSON(a.out, r)
	}
	return writeCV(a.out, r)
}

func writeCV(w io.Writer, r *cvReport) error {
	line := func(name string, h holdout) error {
		_, err := fmt.Fprintf(w, "%-6s %7d %12.5g %10.4g %9.1f %% %8s\n", name, h.N, h.RMSE, h.NLPD, 100*h.Coverage95, h.r2())
		return err
	}
	fmt.Fprintf(w, "%-6s %7s %12s %10s %11s %8s\n", "fold", "rows", "RMSE", "NLPD", "in 95 %", "R²")
	for k, h := range r.Folds {
		if err := line(fmt.Sprint(k+1), h); err != nil {
			return err
		}
	}
	return line("all", r.All)
}

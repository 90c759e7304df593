package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bbgp.dev/bbgp"
	"bbgp.dev/internal/cost"
)

func (a *app) planCommand() *cobra.Command {
	var f fitFlags
	var on clusterFlags
	c := &cobra.Command{
		Use:   "plan DATA.csv --target NAME",
		Short: "What a fit would take: memory, time, method, from a fit of a sample",
		Example: `  bbgp plan train.csv --target y
  bbgp plan train.csv --target y --memory 2GiB --json
  bbgp plan train.csv --target y --rows 1000000 --ranks 64 --cores 64 --network 100`,
		Args: exactly("DATA.csv"),
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			return a.plan(c.Context(), args[0], &f, &on)
		},
	}
	fl := c.Flags()
	f.read.add(fl)
	f.read.memory = &f.model.memory
	f.addTraining(fl)
	f.model.add(fl)
	f.machine.add(fl)
	fl.BoolVar(&f.json, "json", false, "report as one JSON object")
	f.progress.add(fl)
	on.add(fl)
	return c
}

func (a *app) plan(ctx context.Context, data string, f *fitFlags, on *clusterFlags) error {
	if err := on.check(); err != nil {
		return err
	}
	opt, err := f.options(ctx, a)
	if err != nil {
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
	p, err := bbgp.NewPlan(ctx, ts.data, opt)
	if err != nil {
		return ts.locate(err)
	}
	if note := f.model.unusedNote(p.Method); note != "" && !f.progress.quiet {
		a.say("%s", note)
	}
	if t := f.model.time; t > 0 && p.Seconds > t.Seconds() && !f.progress.quiet {
		a.say("a fit is foreseen to take more than --time %v, which would end it with the best that it has found", t)
	}
	short := opt.Memory > 0 && p.LeastBytes > opt.Memory
	if short {
		p.Bytes = p.LeastBytes // what is predicted within a budget is that at most
	}
	var shared *clusterPlan
	if on.ranks > 0 {
		if shared, err = on.onCluster(ctx, &opt, p); err != nil {
			return err
		}
	}
	switch {
	case f.json && shared != nil:
		err = writeJSON(a.out, shared)
	case f.json:
		err = writeJSON(a.out, p)
	default:
		if err = writePlan(a.out, p); err == nil && shared != nil {
			err = shared.write(a.out)
		}
	}
	if err == nil && short {
		return &bbgp.MemoryError{What: fmt.Sprintf("method %s on %d rows of %d inputs", p.Method, p.Distinct, p.Inputs),
			Needed: p.LeastBytes, Budget: opt.Memory}
	}
	return err
}

func writePlan(w io.Writer, p *bbgp.Plan) error {
	rows := fmt.Sprint(p.Rows)
	if p.Distinct < p.Rows {
		rows += fmt.Sprintf(" at %d places", p.Distinct)
	}
	textf(w, "rows          %s, %d inputs\n", rows, p.Inputs)
	textf(w, "method        %s, %s", p.Method, p.Precision)
	if p.Method != "exact" {
		size := cost.Size{Rank: p.Rank, Neighbours: p.Neighbours, Latents: p.Latents}
		textf(w, ", preconditioner of %s", strings.Replace(size.String(), ", ", " and ", 1))
	}
	textf(w, "\nwork          about %d evaluations, %d passes over the kernel matrix\n", p.Evaluations, p.Passes)
	textf(w, "time          about %s, %.3g CPU s\n", about(p.Seconds), p.CPUSeconds)
	_, err := textf(w, "memory        about %s\nfrom a fit of %d rows in %.1f s; expect either to be off by a "+
		"factor of two\n", formatBytes(p.Bytes), p.Sample, p.Took)
	return err
}

// about rounds a duration to what a plan can know.
func about(seconds float64) time.Duration {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d > 10*time.Minute:
		return d.Round(time.Minute)
	case d > 10*time.Second:
		return d.Round(time.Second)
	}
	return d.Round(100 * time.Millisecond)
}

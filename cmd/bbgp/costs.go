package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/internal/cost"
	"bbgp.dev/linalg"
)

// The values of --costs beside the name of a file.
const (
	standardCosts = "standard"
	measuredCosts = "measured"
)

// readCosts returns what --costs says, nil for the standard.
func readCosts(ctx context.Context, e *linalg.Engine, from string) (*bbgp.Costs, error) {
	switch from {
	case standardCosts:
		return nil, nil
	case measuredCosts:
		c, err := bbgp.MeasureCosts(ctx, e)
		return &c, err
	}
	b, err := readSmall(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil, usagef(
			"--costs %s: no such file; standard, measured, or a file that bbgp bench costs --json has printed", from)
	}
	if err != nil {
		return nil, usagef("--costs %s: %s", from, oneLine(err.Error()))
	}
	c, err := cost.ReadCosts(b)
	if err != nil {
		return nil, &table.Error{File: from, Text: "holds no costs: " + oneLine(err.Error())}
	}
	return c, nil
}

// costsNote says in a line of a report by which costs the choices were made, unless
// by the standard ones.
func costsNote(c *bbgp.Costs) string {
	if c == nil || c.Name == standardCosts {
		return ""
	}
	return ", chosen by " + c.Name + " costs"
}

func (a *app) benchCosts() *cobra.Command {
	var mach machine
	var asJSON bool
	c := &cobra.Command{
		Use:   "costs",
		Short: "The costs by which method, rank, neighbours and probes are chosen, for --costs",
		Example: `  bbgp bench costs
  bbgp bench costs --json > costs.json`,
		Args: exactly(),
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			e, err := mach.engine(a)
			if err != nil {
				return err
			}
			m, err := bbgp.MeasureCosts(c.Context(), e)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.out, m)
			}
			return writeCosts(a.out, &m, e.Impl.Name)
		},
	}
	fl := c.Flags()
	mach.add(fl)
	fl.BoolVar(&asJSON, "json", false, "print as JSON, for --costs")
	return c
}

// writeCosts compares m with the standard costs. The ratios are such that a pair of
// rows has 1: only they enter the choices.
func writeCosts(w io.Writer, m *bbgp.Costs, isa string) error {
	std := cost.StandardCosts()
	scale := std.Scale() / m.Scale()
	fmt.Fprintf(w, "%-18s %10s %10s %7s   %s, one thread\n", "cost", m.Unit, std.Unit, "ratio", isa)
	ref := std.List()
	for i, c := range m.List() {
		fmt.Fprintf(w, "%-18s %10.4g %10.4g %7.2f\n", c.Name, c.Value, ref[i].Value, scale*c.Value/ref[i].Value)
	}
	_, err := fmt.Fprintf(w, "ratio is measured over standard, %.3g %s for a standard cycle; it alone enters "+
		"the choices\n", m.Scale()/std.Scale(), m.Unit)
	return err
}

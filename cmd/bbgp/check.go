package main

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"io"
	"math"

	"github.com/spf13/cobra"

	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/linalg"
)

func (a *app) checkCommand() *cobra.Command {
	var read reading
	var asJSON bool
	c := &cobra.Command{
		Use:   "check DATA.csv [--target NAME]",
		Short: "What a table holds, what is wrong with it, and what fit would do",
		Example: `  bbgp check train.csv
  bbgp check train.csv --target y --json`,
		Args: exactly("DATA.csv"),
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			return a.check(args[0], &read, asJSON)
		},
	}
	read.add(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "report as one JSON object")
	return c
}

// A checkReport is what check --json prints.
type checkReport struct {
	File      string         `json:"file"`
	Rows      int            `json:"rows"`
	Header    bool           `json:"header"`
	Delimiter string         `json:"delimiter"`
	Decimal   string         `json:"decimal"`
	Columns   []checkColumn  `json:"columns"`
	Inputs    []inputs.Input `json:"inputs"`
	Notes     []string       `json:"notes"`
	Problem   string         `json:"problem,omitempty"`
}

type checkColumn struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"` // number, text, mixed, date or empty
	Missing  int      `json:"missing"`
	Distinct int      `json:"distinct"` // 1001 stands for more than 1000
	Min      *float64 `json:"min"`
	Max      *float64 `json:"max"`
	Samples  []string `json:"samples,omitempty"`
	Spelled  []string `json:"missing_as,omitempty"`
}

const mostDistinct = 1000

func (a *app) check(name string, read *reading, asJSON bool) error {
	opt, err := read.inputs()
	if err != nil {
		return err
	}
	t, err := a.load(name, read)
	if err != nil {
		return err
	}
	r := &checkReport{File: t.File, Rows: t.Rows, Header: t.HasHeader, Delimiter: string(t.Delimiter), Decimal: string(t.Decimal)}
	for _, c := range t.Columns {
		r.Columns = append(r.Columns, describe(c))
	}
	plan, notes, problem := inputs.Make(t, opt)
	r.Notes = notes
	if note := table.BlanksNote([]string{t.Columns[0].Name}); note != "" && len(t.Columns) == 1 {
		r.Notes = append(r.Notes, note)
	}
	if problem == nil {
		r.Inputs = plan.Inputs
		for _, in := range plan.Inputs {
			if (in.Kind == inputs.Number || in.Kind == inputs.Date) && !(in.Low < in.High) {
				r.Notes = append(r.Notes, fmt.Sprintf("column %s is %.6g in every row: a fit drops it", in.Column, in.Low))
			}
		}
		if opt.Target != "" {
			var set *inputs.Set
			if set, problem = plan.Apply(t, true); problem == nil {
				if n := places(set.X); n < set.X.Rows {
					r.Notes = append(r.Notes, fmt.Sprintf("the %d rows of a fit stand at %d places: repeated rows are merged, exactly", set.X.Rows, n))
				}
			}
		}
	}
	if problem != nil {
		r.Problem = problem.Error()
	}
	if asJSON {
		err = writeJSON(a.out, r)
	} else {
		err = r.write(a.out)
	}
	if err != nil {
		return err
	}
	return problem
}

// places counts the different rows of x, by their hashes.
func places(x linalg.Matrix) int {
	seed := maphash.MakeSeed()
	seen := make(map[uint64]struct{}, x.Rows)
	key := make([]byte, 8*x.Cols)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			binary.LittleEndian.PutUint64(key[8*j:], math.Float64bits(v+0))
		}
		seen[maphash.Bytes(seed, key)] = struct{}{}
	}
	return len(seen)
}

func describe(c *table.Column) checkColumn {
	d := checkColumn{Name: c.Name, Missing: c.Missing, Distinct: c.Distinct(mostDistinct), Spelled: c.SpellingsList()}
	switch {
	case c.Missing == len(c.Num):
		d.Type = "empty"
	case c.IsText():
		d.Type = "text"
	case c.Text > 0:
		d.Type = "mixed"
	case c.Date():
		d.Type = "date"
	default:
		d.Type = "number"
	}
	if lo, hi := c.Range(); !math.IsNaN(lo) && !math.IsInf(lo, 0) && !math.IsInf(hi, 0) {
		d.Min, d.Max = &lo, &hi
	}
	d.Samples = c.Levels[:min(3, len(c.Levels))]
	return d
}

func (r *checkReport) write(w io.Writer) error {
	header := "no header"
	if r.Header {
		header = "header"
	}
	fmt.Fprintf(w, "%s: %d rows, %d columns, %s, delimiter %q, decimal %s\n", r.File, r.Rows, len(r.Columns), header, r.Delimiter, r.Decimal)
	fmt.Fprintf(w, "%-24s %-7s %9s %9s  %s\n", "column", "type", "missing", "distinct", "range or samples")
	for _, c := range r.Columns {
		distinct := fmt.Sprint(c.Distinct)
		if c.Distinct > mostDistinct {
			distinct = fmt.Sprintf("> %d", mostDistinct)
		}
		what := ""
		if c.Min != nil {
			what = fmt.Sprintf("%.6g to %.6g", *c.Min, *c.Max)
		}
		for _, s := range c.Samples {
			what += " " + table.Quote(s)
		}
		fmt.Fprintf(w, "%-24s %-7s %9d %9s  %s\n", c.Name, c.Type, c.Missing, distinct, what)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	if len(r.Inputs) > 0 {
		names := make([]string, len(r.Inputs))
		for i, in := range r.Inputs {
			names[i] = in.Name
		}
		fmt.Fprintf(w, "inputs of a fit: %d: %s\n", len(names), table.List(names, 12))
	}
	return nil
}

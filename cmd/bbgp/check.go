package main

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"

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
	read.memory = c.Flags().String("memory", "",
		"memory budget of the table, such as 2GiB (default: 80% of what the container or else the machine has)")
	c.Flags().BoolVar(&asJSON, "json", false, "report as one JSON object")
	return c
}

// A checkReport is what check --json prints.
type checkReport struct {
	File      string         `json:"file"`      // the table
	Rows      int            `json:"rows"`      // rows
	Header    bool           `json:"header"`    // the first line names the columns
	Delimiter string         `json:"delimiter"` // between the cells
	Decimal   string         `json:"decimal"`   // mark of the decimals
	Columns   []checkColumn  `json:"columns"`   // what each column holds
	Inputs    []inputs.Input `json:"inputs"`    // inputs that a fit would have
	Notes     []string       `json:"notes"`
	Problem   string         `json:"problem,omitempty"`  // the first problem, as the error line says it
	Problems  []checkProblem `json:"problems,omitempty"` // all that stand in the way of a fit
	Command   string         `json:"command,omitempty"`  // a command that fits
}

// A checkProblem is a fault of the table, and the flag that mends it if one does.
type checkProblem struct {
	Text string `json:"text"`           // what is wrong, and where
	Mend string `json:"mend,omitempty"` // a flag with its value that mends it
}

type checkColumn struct {
	Name     string   `json:"name"`                 // of the column
	Type     string   `json:"type"`                 // number, text, mixed, date or empty
	Missing  int      `json:"missing"`              // cells that are missing
	Distinct int      `json:"distinct"`             // 1001 stands for more than 1000
	Min      *float64 `json:"min"`                  // least number; null for text
	Max      *float64 `json:"max"`                  // greatest number
	From     string   `json:"from,omitempty"`       // of dates
	To       string   `json:"to,omitempty"`         // the last of the dates
	Samples  []string `json:"samples,omitempty"`    // texts, the first three
	Spelled  []string `json:"missing_as,omitempty"` // how missing cells are written
}

const mostDistinct = 1000

func (a *app) check(name string, read *reading, asJSON bool) error {
	r := &checkReport{}
	t, problem, err := a.checkLoad(name, read, r)
	if err != nil {
		return err
	}
	opt, err := read.inputs()
	if err != nil {
		return err
	}
	r.File, r.Rows, r.Header, r.Delimiter, r.Decimal = t.File, t.Rows,
		t.HasHeader, string(t.Delimiter), string(t.Decimal)
	for _, c := range t.Columns {
		r.Columns = append(r.Columns, describe(c))
	}
	plan, notes, fault := inputs.Make(t, opt)
	r.Notes = append(r.Notes, append(slices.Clone(t.Notes), notes...)...)
	if fault == nil {
		fault = r.inputs(t, plan, opt)
	}
	r.missing(t, opt)
	problem = cmp.Or(problem, fault)
	if problem != nil {
		r.Problem = problem.Error()
	}
	if err := a.mend(name, *read, r, t, fault); err != nil {
		return err
	}
	if asJSON {
		if err := writeJSON(a.out, r); err != nil {
			return err
		}
	} else {
		r.write(a.out)
	}
	return problem
}

// checkLoad reads a table. Where a row has another number of cells than the header, that
// is a problem, and the others are read.
func (a *app) checkLoad(name string, read *reading, r *checkReport) (*table.Table, error, error) {
	t, err := a.load(name, read)
	var bad *table.Error
	if !errors.As(err, &bad) || bad.Row == 0 || bad.Refused || name == table.Stdin || read.ragged == "drop" {
		return t, nil, err
	}
	without := *read
	without.ragged = "drop"
	t, again := a.load(name, &without)
	if again != nil || t.Dropped == 0 {
		return nil, nil, err
	}
	read.ragged = "drop"
	text := fmt.Sprintf("%s; so it is with %s", t.Ragged, table.Rows(t.Dropped))
	r.Problems = append(r.Problems, checkProblem{text, "--ragged drop"})
	return t, t.Ragged, nil
}

// inputs tells of the inputs that a fit would have.
func (r *checkReport) inputs(t *table.Table, plan *inputs.Plan, opt inputs.Options) error {
	set, err := plan.Apply(t, opt.Target != "")
	r.Inputs = plan.Inputs
	if err == nil {
		err = plan.Computable(t, set)
	}
	for _, in := range plan.Inputs {
		if (in.Kind == inputs.Number || in.Kind == inputs.Date) && !(in.Low < in.High) {
			r.Notes = append(r.Notes, fmt.Sprintf("column %s is %.6g in every row: a fit drops it", in.Column, in.Low))
		}
	}
	if err != nil || opt.Target == "" {
		return err
	}
	if n := places(set.X); n < set.X.Rows {
		r.Notes = append(r.Notes, fmt.Sprintf(
			"the %d rows of a fit stand at %d places: repeated rows are merged, exactly", set.X.Rows, n))
	}
	return nil
}

// missing tells of cells that are not there.
func (r *checkReport) missing(t *table.Table, opt inputs.Options) {
	for _, c := range t.Columns {
		if 2*c.Missing > t.Rows {
			r.Notes = append(r.Notes, fmt.Sprintf("column %s is mostly empty: it has cells in %d of %d rows", c.Name,
				t.Rows-c.Missing, t.Rows))
		}
		if c.Name == opt.Target && c.Missing > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("%s without %s: set aside, and predicted with --blanks FILE",
				table.Rows(c.Missing), c.Name))
		}
	}
	if n := survivors(t, opt, t.Rows); n < t.Rows {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d rows have all cells and survive --missing drop", n, t.Rows))
	}
	if opt.Target == "" {
		r.Notes = append(r.Notes,
			"no target is given: all columns are taken for inputs; name the one to model with --target")
	}
}

// survivors counts the rows without a missing input; columns with more than most missing
// cells are not looked at.
func survivors(t *table.Table, opt inputs.Options, most int) int {
	gone := make([]bool, t.Rows)
	n := t.Rows
	for _, c := range t.Columns {
		out := c.Name == opt.Target || slices.Contains(opt.Ignore, c.Name) || len(opt.Features) > 0 &&
			!slices.Contains(opt.Features, c.Name)
		if out || c.Missing == 0 || c.Missing > most {
			continue
		}
		for i := range gone {
			if !gone[i] && c.MissingAt(i) {
				gone[i] = true
				n--
			}
		}
	}
	return n
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
		if c.Date() {
			d.From, d.To = table.DateOf(lo), table.DateOf(hi)
		}
	}
	d.Samples = c.Levels[:min(3, len(c.Levels))]
	return d
}

func (r *checkReport) write(w io.Writer) {
	header := "no header"
	if r.Header {
		header = "header"
	}
	textf(w, "%s: %d rows, %d columns, %s, delimiter %q, decimal %s\n", r.File, r.Rows, len(r.Columns), header,
		r.Delimiter, r.Decimal)
	textf(w, "%-24s %-7s %9s %9s  %s\n", "column", "type", "missing", "distinct", "range or samples")
	for _, c := range r.Columns {
		distinct := fmt.Sprint(c.Distinct)
		if c.Distinct > mostDistinct {
			distinct = fmt.Sprintf("> %d", mostDistinct)
		}
		what := ""
		switch {
		case c.From != "":
			what = c.From + " to " + c.To
		case c.Min != nil:
			what = fmt.Sprintf("%.6g to %.6g", *c.Min, *c.Max)
		}
		for _, s := range c.Samples {
			what += " " + table.Quote(s)
		}
		textf(w, "%-24s %-7s %9d %9s  %s\n", c.Name, c.Type, c.Missing, distinct, what)
	}
	for _, n := range r.Notes {
		textf(w, "note: %s\n", n)
	}
	for _, p := range r.Problems {
		textf(w, "problem: %s\n", p.Text)
		if p.Mend != "" {
			textf(w, "         mend: %s\n", p.Mend)
		}
	}
	if len(r.Inputs) > 0 {
		names := make([]string, len(r.Inputs))
		for i, in := range r.Inputs {
			names[i] = in.Name
		}
		textf(w, "inputs of a fit: %d: %s\n", len(names), table.List(names, 12))
	}
	if r.Command != "" {
		fmt.Fprintf(w, "a command that fits:\n  %s\n", visible(r.Command, maxCommand))
	}
}

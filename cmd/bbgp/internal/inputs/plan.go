package inputs

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/cmd/bbgp/internal/table"
)

// A Kind says what an input is made of.
type Kind string

const (
	Number  Kind = "number"  // the cell
	Date    Kind = "date"    // days since 1970-01-01
	Level   Kind = "level"   // 1 where the cell is Level, else 0
	Missing Kind = "missing" // 1 where the cell is missing, else 0
)

// An Input is one input of the model.
type Input struct {
	Name   string  `json:"name"`            // of the input
	Column string  `json:"column"`          // of the table that it is made of
	Kind   Kind    `json:"kind"`            // number, date, level or missing
	Level  string  `json:"level,omitempty"` // the text that it is 1 for
	Fill   float64 `json:"fill,omitempty"`  // of a missing cell, rule indicator
	// How the cells were read where that is not plain: the mark of the decimals, and the
	// order of dates.
	Decimal string      `json:"decimal,omitempty"`
	Order   table.Order `json:"order,omitempty"` // order of its dates; time for times of day
	// The range of the training rows; equal where it is not known.
	Low  float64 `json:"low,omitempty"`  // least value of the training rows; equal to the greatest where not known
	High float64 `json:"high,omitempty"` // greatest value of the training rows

	known  map[string]bool // the texts of the column, where Kind is Level
	untold bool            // rule indicator, and no row of the training had a missing cell
}

// A Plan says how a table becomes inputs.
type Plan struct {
	Target  string  `json:"target"`
	Rule    string  `json:"missing"` // stop, drop or indicator
	Inputs  []Input `json:"inputs"`
	Weight  string  `json:"weight,omitempty"`
	NoiseOf string  `json:"noise_var,omitempty"`
	// Cells that are missing beside the usual ones, and the target's mark of decimals.
	NA            []string `json:"na,omitempty"`
	TargetDecimal string   `json:"target_decimal,omitempty"`
	// RowNames: rows had a name before their cells.
	RowNames bool `json:"row_names,omitempty"`
	// HeldOut is not followed but told: how the model did on rows that the fit had not seen.
	HeldOut *HeldOut `json:"held_out,omitempty"`

	prior *Prior // of the model, once there is one
}

// Rules are the ways to treat a missing input, the default first.
var Rules = []string{"stop", "drop", "indicator"}

// Options say what becomes an input.
type Options struct {
	Target           string
	Features, Ignore []string // no Features: all other columns
	Weight, NoiseVar string
	Missing          string // a rule; "" is stop
	MaxLevels        int    // most different texts of a column; 0 is 20
	NA               []string
	KeepDuplicates   bool
}

// outside says whether a value lies outside the range of the training rows.
func (in *Input) outside(v float64) bool {
	return in.Low < in.High && (v < in.Low || v > in.High)
}

// Names returns the names of the inputs.
func (p *Plan) Names() []string {
	names := make([]string, len(p.Inputs))
	for i, in := range p.Inputs {
		names[i] = in.Name
	}
	return names
}

// Encode and Decode are the form of a Plan in a model file.
func (p *Plan) Encode() []byte {
	b, err := json.Marshal(p)
	if err != nil {
		panic("inputs: Encode: " + err.Error()) // no value of a Plan fails
	}
	return b
}

// Decode reads what Encode wrote for a model with inputs of these names.
func Decode(b []byte, names []string) (*Plan, error) {
	p := new(Plan)
	if err := json.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("the model does not say how its inputs were made: %w", err)
	}
	if len(p.Inputs) == 0 || !slices.Contains(Rules, p.Rule) {
		return nil, fmt.Errorf("the model does not say how its inputs were made")
	}
	if len(p.Inputs) != len(names) {
		return nil, fmt.Errorf("the model says how %d inputs were made and has %d", len(p.Inputs), len(names))
	}
	for j, in := range p.Inputs {
		switch {
		case in.Name != names[j]:
			return nil, fmt.Errorf("the model says how input %s was made and has %s",
				table.Quote(in.Name), table.Quote(names[j]))
		case in.Column == "" || !slices.Contains([]Kind{Number, Date, Level, Missing}, in.Kind):
			return nil, fmt.Errorf("the model does not say how input %s was made", table.Quote(in.Name))
		case in.Low > in.High || in.Decimal != "" && in.Decimal != "." && in.Decimal != ",":
			return nil, fmt.Errorf("the model says of input %s what cannot be", table.Quote(in.Name))
		}
	}
	return p, nil
}

// Make decides what the inputs are. Notes say in words what was done that a
// user may not expect. An error of the columns is a Faults: all of them.
func Make(t *table.Table, opt Options) (p *Plan, notes []string, err error) {
	p = &Plan{Rule: opt.Missing, NA: opt.NA, RowNames: t.RowNames}
	if p.Rule == "" {
		p.Rule = Rules[0]
	}
	names := columnNames(t)
	chosen, err := choose(t, names, opt, p)
	if err != nil {
		return nil, nil, err
	}
	if !opt.KeepDuplicates {
		chosen, notes = dropDuplicates(t, chosen)
	}
	var faults Faults
	for _, i := range chosen {
		c := t.Columns[i]
		if f := p.add(t, c, opt); f != nil {
			faults = append(faults, *f)
			continue
		}
		if c.Note != "" {
			notes = append(notes, c.Note)
		}
		if len(chosen) > 1 || !c.Numeric() { // an only input is no identifier
			notes = append(notes, remarks(c)...)
		}
	}
	if f := p.target(t, names); f != nil {
		faults = append(faults, *f)
	} else if j := slices.Index(names, p.Target); j >= 0 && p.Target != "" {
		notes = append(notes, targetRemarks(t.Columns[j])...)
	}
	if f := footer(t); f != nil {
		below := func(g Fault) bool { return g.Err.Row >= f.Err.Row }
		faults = append(Faults{*f}, slices.DeleteFunc(faults, below)...)
	}
	switch {
	case len(faults) > 0:
		return nil, notes, faults
	case len(p.Inputs) == 0:
		return nil, nil, &table.Error{File: t.File, Text: "no column is left as an input"}
	}
	return p, notes, nil
}

func columnNames(t *table.Table) []string {
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names
}

// choose resolves all names and returns the indices of the input columns.
func choose(t *table.Table, names []string, opt Options, p *Plan) ([]int, error) {
	out := map[int]bool{}
	for _, c := range []struct {
		name string
		to   *string
	}{{opt.Target, &p.Target}, {opt.Weight, &p.Weight}, {opt.NoiseVar, &p.NoiseOf}} {
		if c.name == "" {
			continue
		}
		i, err := table.Find(t.File, names, c.name)
		if err != nil {
			return nil, err
		}
		*c.to, out[i] = names[i], true
		if names[i] == p.Target && c.to != &p.Target {
			return nil, &table.Error{File: t.File, Column: names[i],
				Text: "is the target and cannot tell the noise of its rows as well"}
		}
	}
	ignored := make([]bool, len(names))
	for _, name := range opt.Ignore {
		i, err := table.Find(t.File, names, name)
		if err != nil {
			return nil, err
		}
		out[i], ignored[i] = true, true
	}
	var chosen []int
	for _, name := range opt.Features {
		i, err := table.Find(t.File, names, name)
		if err != nil {
			return nil, err
		}
		if names[i] == p.Target {
			return nil, &table.Error{File: t.File, Column: name, Text: "is the target and cannot be an input"}
		}
		if ignored[i] {
			return nil, &table.Error{File: t.File, Column: name, Text: "stands in --features and in --ignore"}
		}
		if !slices.Contains(chosen, i) {
			chosen = append(chosen, i)
		}
	}
	if len(opt.Features) == 0 {
		for i := range names {
			if !out[i] {
				chosen = append(chosen, i)
			}
		}
	}
	return chosen, nil
}

func mean(v []float64) float64 {
	s, n := 0.0, 0
	for _, x := range v {
		if !math.IsNaN(x) {
			s += x
			n++
		}
	}
	return s / float64(n)
}

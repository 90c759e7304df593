// Package inputs turns columns of a table into the numbers of a model, by a
// Plan that is made from the training table, stored in the model file and
// followed again at prediction: columns by name, text one-hot, dates as days,
// missing cells by one of three rules.
package inputs

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/linalg"
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
	Name   string  `json:"name"`
	Column string  `json:"column"`
	Kind   Kind    `json:"kind"`
	Level  string  `json:"level,omitempty"`
	Fill   float64 `json:"fill,omitempty"` // of a missing cell, rule indicator
	// The range of the training rows; equal where it is not known.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
}

// A Plan says how a table becomes inputs.
type Plan struct {
	Target  string  `json:"target"`
	Rule    string  `json:"missing"` // stop, drop or indicator
	Inputs  []Input `json:"inputs"`
	Weight  string  `json:"weight,omitempty"`
	NoiseOf string  `json:"noise_var,omitempty"`
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
	KeepDuplicates   bool
}

// outside says whether a value lies outside the range of the training rows.
func (in *Input) outside(v float64) bool {
	return in.Low < in.High && (v < in.Low || v > in.High)
}

// OutsideNote says how many rows of x have an input outside its range in
// training; "" if none has.
func (p *Plan) OutsideNote(x linalg.Matrix) string {
	rows, by := 0, make([]int, len(p.Inputs))
	for i := range x.Rows {
		any := false
		for j, v := range x.Row(i) {
			if p.Inputs[j].outside(v) {
				any = true
				by[j]++
			}
		}
		if any {
			rows++
		}
	}
	return p.outsideNote(rows, by)
}

func (p *Plan) outsideNote(rows int, by []int) string {
	if rows == 0 {
		return ""
	}
	worst := 0
	for j, n := range by {
		if n > by[worst] {
			worst = j
		}
	}
	return fmt.Sprintf("%s outside the range of the training rows, most by column %s (%s): there the prediction falls back to the mean, with wide intervals",
		table.Rows(rows), p.Inputs[worst].Column, table.Rows(by[worst]))
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

// Decode reads what Encode wrote.
func Decode(b []byte) (*Plan, error) {
	p := new(Plan)
	if err := json.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("the model does not say how its inputs were made: %w", err)
	}
	if len(p.Inputs) == 0 || !slices.Contains(Rules, p.Rule) {
		return nil, fmt.Errorf("the model does not say how its inputs were made")
	}
	return p, nil
}

// Make decides what the inputs are. Notes say in words what was done that a
// user may not expect.
func Make(t *table.Table, opt Options) (p *Plan, notes []string, err error) {
	p = &Plan{Rule: opt.Missing}
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
	for _, i := range chosen {
		if err := p.add(t, t.Columns[i], opt); err != nil {
			return nil, nil, err
		}
		notes = append(notes, remarks(t.Columns[i])...)
	}
	if len(p.Inputs) == 0 {
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
	}
	for _, name := range opt.Ignore {
		i, err := table.Find(t.File, names, name)
		if err != nil {
			return nil, err
		}
		out[i] = true
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

// dropDuplicates leaves out columns that repeat an earlier one in every row.
func dropDuplicates(t *table.Table, chosen []int) (kept []int, notes []string) {
	copies := map[int][]string{}
	byFirst := map[uint64][]int{}
	for _, i := range chosen {
		c := t.Columns[i]
		if !c.Numeric() || c.Constant() {
			kept = append(kept, i)
			continue
		}
		key := fingerprint(c.Num)
		same := slices.IndexFunc(byFirst[key], func(k int) bool { return equal(t.Columns[k].Num, c.Num) })
		if same < 0 {
			byFirst[key] = append(byFirst[key], i)
			kept = append(kept, i)
			continue
		}
		of := byFirst[key][same]
		copies[of] = append(copies[of], c.Name)
	}
	for _, i := range kept {
		if c := copies[i]; c != nil {
			s, verb, left := "column ", " duplicates ", " and is left out"
			if len(c) > 1 {
				s, verb, left = "columns ", " duplicate ", " and are left out"
			}
			notes = append(notes, s+table.List(c, 8)+verb+t.Columns[i].Name+left)
		}
	}
	return kept, notes
}

func fingerprint(v []float64) uint64 {
	h := uint64(14695981039346656037)
	for _, x := range v[:min(len(v), 64)] {
		h = (h ^ math.Float64bits(x)) * 1099511628211
	}
	return h
}

func equal(a, b []float64) bool {
	for i := range a {
		if a[i] != b[i] && !(math.IsNaN(a[i]) && math.IsNaN(b[i])) {
			return false
		}
	}
	return true
}

// add makes the inputs of one column.
func (p *Plan) add(t *table.Table, c *table.Column, opt Options) error {
	in := Input{Name: c.Name, Column: c.Name, Kind: Number}
	if c.Date() {
		in.Kind = Date
	}
	fault := func(at table.Place, format string, args ...any) error {
		return &table.Error{File: t.File, Row: at.Row, Line: at.Line, Column: c.Name, Text: fmt.Sprintf(format, args...)}
	}
	if c.Missing > 0 {
		if c.Missing == t.Rows {
			return fault(table.Place{}, "every cell is missing; leave it out with --ignore %s", c.Name)
		}
		if p.Rule == "stop" {
			return fault(c.FirstMissing, "the cell is missing (%s), as are %d of the column; choose --missing drop or --missing indicator, or --ignore %s",
				strings.Join(c.SpellingsList(), ", "), c.Missing, c.Name)
		}
	}
	switch {
	case c.Inf > 0:
		return fault(c.FirstInf, "%s is not finite", table.Quote(c.FirstInf.Cell))
	case c.IsText():
		if err := p.addLevels(c, opt, fault); err != nil {
			return err
		}
	case c.Text > 0:
		return fault(c.FirstText, "%s is no number, while %d cells of the column are; mend it, or use --text %s or --ignore %s",
			table.Quote(c.FirstText.Cell), t.Rows-c.Text-c.Missing, c.Name, c.Name)
	default:
		if p.Rule == "indicator" {
			in.Fill = mean(c.Num)
		}
		in.Low, in.High = c.Range()
		p.Inputs = append(p.Inputs, in)
	}
	if c.Missing > 0 && p.Rule == "indicator" {
		p.Inputs = append(p.Inputs, Input{Name: c.Name + " missing", Column: c.Name, Kind: Missing})
	}
	return nil
}

// addLevels makes one input of each text of a column.
func (p *Plan) addLevels(c *table.Column, opt Options, fault func(table.Place, string, ...any) error) error {
	most := opt.MaxLevels
	if most == 0 {
		most = 20
	}
	if len(c.Levels) > most {
		var samples []string
		for _, l := range c.Levels[:min(3, len(c.Levels))] {
			samples = append(samples, table.Quote(l))
		}
		advice := fmt.Sprintf("leave it out with --ignore %s or allow more with --levels", c.Name)
		if allDates(c.Levels[:min(3, len(c.Levels))]) {
			advice = fmt.Sprintf("take it as days with --date %s, or leave it out with --ignore %s", c.Name, c.Name)
		}
		return fault(c.FirstText, "%d or more different texts, such as %s, are too many for one input each (at most %d); %s",
			len(c.Levels), strings.Join(samples, ", "), most, advice)
	}
	for _, l := range c.Levels {
		p.Inputs = append(p.Inputs, Input{Name: c.Name + "=" + l, Column: c.Name, Kind: Level, Level: l})
	}
	return nil
}

// remarks points out what may not be meant: identifiers and dates.
func remarks(c *table.Column) []string {
	if c.IsText() {
		if allDates(c.Levels) {
			return []string{fmt.Sprintf("column %s holds dates: taken as text, one input for each of its %d values; --date %s takes them as days", c.Name, len(c.Levels), c.Name)}
		}
		return []string{fmt.Sprintf("column %s is text: one input for each of its %d values", c.Name, len(c.Levels))}
	}
	what := ""
	switch n := len(c.Num); {
	case n >= 20 && counts(c.Num):
		what = "counts the rows like an identifier"
	case n >= 20 && !c.Date() && namesRows(c.Name) && c.Missing == 0 && c.Distinct(n) == n && whole(c.Num):
		what = "is called and differs in every row like an identifier"
	default:
		return nil
	}
	return []string{fmt.Sprintf("column %s %s; leave it out with --ignore %s unless it means something", c.Name, what, c.Name)}
}

func allDates(levels []string) bool {
	for _, l := range levels {
		if _, ok := table.ParseDate(l); !ok {
			return false
		}
	}
	return true
}

// namesRows says whether a column is called like an identifier: id, row_id, rowId, key.
func namesRows(name string) bool {
	for _, word := range []string{"id", "key", "index", "uuid"} {
		i := len(name) - len(word)
		if i < 0 || !strings.EqualFold(name[i:], word) {
			continue
		}
		if i == 0 || strings.IndexByte("_-. ", name[i-1]) >= 0 || name[i] < 'a' && name[i-1] >= 'a' {
			return true
		}
	}
	return false
}

func whole(v []float64) bool {
	for _, x := range v {
		if x != math.Trunc(x) {
			return false
		}
	}
	return true
}

// counts says whether v rises by one from row to row.
func counts(v []float64) bool {
	for i := 1; i < len(v); i++ {
		if v[i] != v[i-1]+1 {
			return false
		}
	}
	return true
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

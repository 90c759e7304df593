package inputs

import (
	"fmt"
	"math"
	"slices"

	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/linalg"
)

// A Stream makes the inputs of rows as they are read, for prediction.
type Stream struct {
	plan   *Plan
	r      *table.Reader
	file   string
	column []int // of the reader, per input
	how    []table.How
	target int // -1 if the table has none

	targetHow table.How
	keep      []int // columns of the reader that are copied
	// Kept holds their cells, of each row of the last Next.
	Kept [][]string
	// Extra names the columns that the model does not use.
	Extra []string
	// Unseen counts, per column, texts that training had not seen.
	Unseen map[string]int
	// WantNoise asks for what the table tells of the noise of its rows, see Noise.
	WantNoise    bool
	noise        noiseColumns
	scale, extra []float64 // of the rows of the last Next
	outlook      *outlook  // rows outside the range of training
}

// NewStream matches the columns of r by name.
func (p *Plan) NewStream(file string, r *table.Reader) (*Stream, error) {
	s := &Stream{plan: p, r: r, file: file, target: slices.Index(r.Names, p.Target),
		Unseen: map[string]int{}, outlook: p.newOutlook(), noise: p.noiseColumns(r.Names)}
	p.learnLevels()
	used, places := map[int]bool{s.target: true}, placesOf(r.Names)
	r.AddMissing(p.NA)
	if p.RowNames {
		r.ExpectRowNames()
	}
	if s.target >= 0 {
		s.targetHow = table.How{Decimal: r.MarkOf(s.target, p.TargetDecimal)}
	}
	for _, in := range p.Inputs {
		j, ok := places[in.Column]
		if !ok {
			return nil, p.absent(file, r.Names, in.Column)
		}
		s.column = append(s.column, j)
		s.how = append(s.how, in.how(r, j))
		used[j] = true
	}
	for j, n := range r.Names {
		if !used[j] && n != p.Weight && n != p.NoiseOf {
			s.Extra = append(s.Extra, n)
		}
	}
	return s, nil
}

// Keep names columns whose cells are to be copied, as they are; it returns their names.
func (s *Stream) Keep(columns []string) (names []string, err error) {
	for _, c := range columns {
		j, err := table.Find(s.file, s.r.Names, c)
		if err != nil {
			return nil, err
		}
		s.keep, names = append(s.keep, j), append(names, s.r.Names[j])
	}
	s.Kept = make([][]string, len(s.keep))
	s.Extra = slices.DeleteFunc(s.Extra, func(n string) bool { return slices.Contains(names, n) })
	return names, nil
}

// File is how the table is called in messages.
func (s *Stream) File() string { return s.file }

// Next fills up to x.Rows rows of x, and y with their targets (NaN where there
// is none). ok[i] is false where an input is missing and the rule is to drop
// such rows; a text that training had not seen is NaN in all inputs of its column.
// It returns io.EOF with the last rows.
func (s *Stream) Next(x linalg.Matrix, y []float64, ok []bool) (n int, err error) {
	s.scale, s.extra = s.scale[:0], s.extra[:0]
	for k := range s.Kept {
		s.Kept[k] = s.Kept[k][:0]
	}
	for n < x.Rows {
		cells, err := s.r.Next()
		if err != nil {
			return n, err
		}
		y[n] = math.NaN()
		if s.target >= 0 {
			if v, ok := s.r.Plain(cells[s.target], s.targetHow); ok {
				y[n] = v
			} else if v := s.r.Parse(cells[s.target], s.targetHow); !v.Inf {
				y[n] = v.Num
			}
		}
		for k, j := range s.keep {
			s.Kept[k] = append(s.Kept[k], string(cells[j]))
		}
		if ok[n], err = s.row(x.Row(n), cells); err != nil {
			return n, err
		}
		if err = s.readNoise(cells); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (s *Stream) row(dst []float64, cells [][]byte) (ok bool, err error) {
	ok = true
	for j := range s.plan.Inputs {
		in := &s.plan.Inputs[j]
		cell := cells[s.column[j]]
		if v, ok := s.r.Plain(cell, s.how[j]); ok {
			dst[j] = v
			continue
		}
		as := s.how[j].As
		v := s.r.Parse(cell, s.how[j])
		switch {
		case v.Missing && s.plan.Rule == "stop":
			return false, s.fault(in.Column, "the cell is missing, and the model was fitted without a rule for "+
				"that; fill it, or fit again with --missing drop or --missing indicator")
		case v.Missing && s.plan.Rule == "drop":
			ok = false
		case v.Inf:
			return false, s.fault(in.Column, notFinite(string(cell)))
		case v.Other:
			return false, s.fault(in.Column, table.Quote(string(cell))+" has another decimal mark than the table "+
				"seems to have; say which with --decimal point or --decimal comma")
		case v.Text && as == table.AsDate:
			return false, s.fault(in.Column, table.Quote(string(cell))+in.noDate())
		case v.Text && as != table.AsText:
			return false, s.fault(in.Column, noNumber(string(cell)))
		}
		dst[j] = in.value(v.Num, v.Missing, string(cell))
		if math.IsNaN(dst[j]) && (j == 0 || s.column[j-1] != s.column[j]) {
			s.Unseen[in.Column]++
		}
	}
	if ok { // a row without a prediction is not outside of anything
		s.outlook.add(dst)
	}
	return ok, nil
}

// how says how the cells of an input are read in a table that is like that of the training.
func (in *Input) how(r *table.Reader, column int) table.How {
	switch in.Kind {
	case Level, Missing:
		return table.How{As: table.AsText}
	case Date:
		return table.How{As: table.AsDate, Order: in.Order}
	}
	if in.Order == table.Clock {
		return table.How{As: table.AsDate, Order: in.Order}
	}
	return table.How{Decimal: r.MarkOf(column, in.Decimal)}
}

func (in *Input) noDate() string {
	switch in.Order {
	case "":
		return " is no date"
	case table.Clock:
		return " is no time, as those of the training are"
	}
	return fmt.Sprintf(" is no date in the order of the training, %s", in.Order)
}

func (s *Stream) fault(column, text string) error {
	return &table.Error{File: s.file, Row: s.r.Row(), Line: s.r.Line(), Column: column, Text: text}
}

// Notes says what the stream met that a user should know.
func (s *Stream) Notes() []string {
	notes := s.r.Notes()
	if len(s.Extra) > 0 {
		notes = append(notes, fmt.Sprintf("columns %s are not used by the model", table.List(s.Extra, 8)))
	}
	for _, in := range s.plan.Inputs {
		if n := s.Unseen[in.Column]; n > 0 {
			notes = append(notes, unseenNote(&in, n))
			delete(s.Unseen, in.Column)
		}
	}
	if s.WantNoise {
		notes = append(notes, s.noise.notes()...)
	}
	return append(notes, s.outlook.notes()...)
}

// Empty is the error of a table without rows.
func (s *Stream) Empty() error {
	return &table.Error{File: s.file, Text: "has a header and no rows"}
}

package inputs

import (
	"fmt"
	"math"
	"slices"

	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/linalg"
)

// A Set is a table made into numbers.
type Set struct {
	X     linalg.Matrix // rows × inputs
	Y     []float64     // target; nil if the table has none
	Scale []float64     // 1/weight per row; nil without weights
	Extra []float64     // known noise variance per row; nil without
	Rows  []int         // table row of each row of X, from 0
	Blank []int         // table rows set aside: their target is missing
	Drop  []int         // table rows dropped: an input is missing

	noise  noiseColumns
	unseen map[string]int // rows with a text that training had not seen, by column
}

// value is the number of an input for a cell: what missing values are filled with where it is missing.
func (in *Input) value(v float64, isMissing bool, level string) float64 {
	switch in.Kind {
	case Missing:
		if isMissing {
			return 1
		}
		return 0
	case Level:
		switch {
		case isMissing && in.untold:
			return math.NaN()
		case isMissing || level != in.Level && in.known[level]:
			return 0
		case level == in.Level:
			return 1
		}
		return math.NaN() // unseen in training: no level's place is its place
	}
	if isMissing && in.untold {
		return math.NaN() // see WithMeans
	}
	if isMissing {
		return in.Fill
	}
	return v
}

// placesOf returns where each name is; names are unique.
func placesOf(names []string) map[string]int {
	at := make(map[string]int, len(names))
	for i, n := range names {
		at[n] = i
	}
	return at
}

// Apply makes the numbers of a whole table to train on. With needTarget, rows without
// a target are set aside, and weights and noise variances have to be there; other
// columns than those of the plan are not looked at.
func (p *Plan) Apply(t *table.Table, needTarget bool) (*Set, error) {
	s, err := p.apply(t, needTarget, needTarget)
	if err == nil && needTarget {
		p.narrow(s)
	}
	return s, err
}

// Held makes the numbers of a table to score predictions on. What is known of the
// noise is used where the table tells; a text that training had not seen is NaN in
// all inputs of its column.
func (p *Plan) Held(t *table.Table) (*Set, error) {
	s, err := p.apply(t, true, false)
	if err == nil {
		err = p.scorable(t, s)
	}
	return s, err
}

func (p *Plan) apply(t *table.Table, needTarget, needNoise bool) (*Set, error) {
	names := columnNames(t)
	places := placesOf(names)
	cols := make([]*table.Column, len(p.Inputs))
	for i, in := range p.Inputs {
		j, ok := places[in.Column]
		if !ok {
			return nil, p.absent(t.File, names, in.Column)
		}
		cols[i] = t.Columns[j]
		if err := p.fits(t, cols[i], in); err != nil {
			return nil, err
		}
	}
	s := &Set{noise: p.noiseColumns(names)}
	target, err := p.numeric(t, names, p.Target, needTarget)
	if err == nil && needTarget && target == nil {
		err = &table.Error{File: t.File, Text: "the model does not say which column is its target"}
	}
	if err != nil {
		return nil, err
	}
	weight, err := p.numeric(t, names, p.Weight, p.Weight != "" && needNoise)
	if err != nil {
		return nil, err
	}
	noise, err := p.numeric(t, names, p.NoiseOf, p.NoiseOf != "" && needNoise)
	if err != nil {
		return nil, err
	}
	for i := range t.Rows {
		switch {
		case p.Rule == "drop" && anyMissing(cols, i):
			s.Drop = append(s.Drop, i)
		case needTarget && math.IsNaN(target.Num[i]):
			s.Blank = append(s.Blank, i)
		default:
			s.Rows = append(s.Rows, i)
		}
	}
	if len(s.Rows) == 0 {
		return nil, &table.Error{File: t.File, Text: fmt.Sprintf(
			"no row is left: %d without a target, %d with a missing input", len(s.Blank), len(s.Drop))}
	}
	s.X = p.Matrix(t, s.Rows)
	s.unseen = p.countUnseen(s.X)
	if target != nil {
		s.Y = pick(target.Num, s.Rows)
	}
	if needTarget {
		err = p.noise(t, s, weight, noise)
	}
	return s, err
}

// Matrix returns the inputs of the given rows; NaN as in Held.
func (p *Plan) Matrix(t *table.Table, rows []int) linalg.Matrix {
	places := placesOf(columnNames(t))
	p.learnLevels()
	x := linalg.NewMatrix(len(rows), len(p.Inputs))
	for j := range p.Inputs {
		in := &p.Inputs[j]
		c := t.Columns[places[in.Column]]
		for k, i := range rows {
			level, isMissing := "", math.IsNaN(c.Num[i])
			if c.Codes != nil {
				isMissing = c.Codes[i] == table.CodeMissing
				if c.Codes[i] >= 0 {
					level = c.Levels[c.Codes[i]]
				}
			}
			v := in.value(c.Num[i], isMissing, level)
			x.Set(k, j, v)
		}
	}
	return x
}

func (p *Plan) absent(file string, names []string, column string) error {
	text := "the model needs this column and the table does not have it"
	if near := table.Nearest(column, names); near != "" {
		text += "; did you mean " + near + "?"
	}
	return &table.Error{File: file, Column: column, Text: text}
}

// fits checks the cells of a column against what the plan made of it.
func (p *Plan) fits(t *table.Table, c *table.Column, in Input) error {
	at, text := table.Place{}, ""
	numbers := in.Kind == Number || in.Kind == Date
	if c.Doubt != nil {
		return c.Doubt
	}
	switch {
	case in.Kind == Date && c.Text > 0:
		at, text = c.FirstText, table.Quote(c.FirstText.Cell)+in.noDate()
	case numbers && c.Text > 0:
		at, text = c.FirstText, noNumber(c.FirstText.Cell)
	case numbers && c.Inf > 0:
		at, text = c.FirstInf, notFinite(c.FirstInf.Cell)
	case c.Missing > 0 && p.Rule == "stop":
		at, text = c.FirstMissing, "the cell is missing, and the model was fitted without a rule for that; fill it, "+
			"or fit again with --missing drop or --missing indicator"
	}
	if text == "" {
		return nil
	}
	return &table.Error{File: t.File, Row: at.Row, Line: at.Line, Column: c.Name, Text: text}
}

// numeric returns the column called name if it holds numbers, nil if the table
// has none and it is not needed.
func (p *Plan) numeric(t *table.Table, names []string, name string, need bool) (*table.Column, error) {
	j := slices.Index(names, name)
	if name == "" || j < 0 && !need {
		return nil, nil
	}
	if j < 0 {
		_, err := table.Find(t.File, names, name)
		return nil, err
	}
	c := t.Columns[j]
	at, text := table.Place{}, ""
	if c.Doubt != nil {
		return nil, c.Doubt
	}
	switch {
	case c.Text > 0:
		at, text = c.FirstText, table.Quote(c.FirstText.Cell)+" is no number"
	case c.Inf > 0:
		at, text = c.FirstInf, table.Quote(c.FirstInf.Cell)+" is not finite"
	case c.Missing > 0 && name != p.Target:
		at, text = c.FirstMissing, "the cell is missing; weights and noise variances are needed in every row"
	}
	if text == "" {
		return c, nil
	}
	mend := mendOr(at.Cell)
	if name != p.Target {
		mend = "mend it, or leave the row out"
	}
	return nil, &table.Error{File: t.File, Row: at.Row, Line: at.Line, Column: name, Text: text + "; " + mend}
}

// noise fills what is known of the noise per row.
func (p *Plan) noise(t *table.Table, s *Set, weight, noise *table.Column) error {
	fault := func(c *table.Column, i int, text string) error {
		return &table.Error{File: t.File, Row: i + 1, Line: t.Line(i), Column: c.Name,
			Text: fmt.Sprintf("%v "+text, c.Num[i])}
	}
	for _, i := range s.Rows {
		if weight != nil {
			if weight.Num[i] <= 0 {
				return fault(weight, i, "is no weight; weights are positive")
			}
			s.Scale = append(s.Scale, 1/weight.Num[i])
		}
		if noise != nil {
			if noise.Num[i] < 0 {
				return fault(noise, i, "is no variance; variances are at least 0")
			}
			s.Extra = append(s.Extra, noise.Num[i])
		}
	}
	return nil
}

func anyMissing(cols []*table.Column, i int) bool {
	for _, c := range cols {
		if c.Codes != nil && c.Codes[i] == table.CodeMissing || c.Codes == nil && math.IsNaN(c.Num[i]) {
			return true
		}
	}
	return false
}

func pick(v []float64, rows []int) []float64 {
	out := make([]float64, len(rows))
	for k, i := range rows {
		out[k] = v[i]
	}
	return out
}

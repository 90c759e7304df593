package inputs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bbgp.dev/cmd/bbgp/internal/table"
)

// A Fault is something in a column that a fit cannot take, and a flag that would mend it.
type Fault struct {
	Err  *table.Error
	Mend []string // flag and value; nil where only the table can be mended
}

// Faults are all that were found; as an error it is the first of them.
type Faults []Fault

func (f Faults) Error() string {
	s := f[0].Err.Error()
	if len(f) > 1 {
		s += fmt.Sprintf("; %d more: bbgp check lists all", len(f)-1)
	}
	return s
}

// Unwrap returns the first fault.
func (f Faults) Unwrap() error { return f[0].Err }

// mostNA is the number of different cells that --na is proposed for; with more the column
// is another thing than numbers.
const mostNA = 8

// add makes the inputs of one column, or says why there are none.
func (p *Plan) add(t *table.Table, c *table.Column, opt Options) *Fault {
	in := Input{Name: c.Name, Column: c.Name, Kind: Number, Order: c.Order}
	if c.Decimal == ',' {
		in.Decimal = ","
	}
	if c.Date() {
		in.Kind = Date
	}
	ignore := []string{"--ignore", c.Name}
	fault := func(at table.Place, mend []string, format string, args ...any) *Fault {
		return &Fault{Mend: mend, Err: &table.Error{File: t.File, Row: at.Row, Line: at.Line, Column: c.Name,
			Text: fmt.Sprintf(format, args...)}}
	}
	arg := table.ListArg(c.Name)
	switch {
	case c.Doubt != nil:
		mend := c.Mend
		if mend == nil {
			mend = ignore
		}
		return &Fault{Err: c.Doubt, Mend: mend}
	case c.Missing == t.Rows:
		return fault(table.Place{}, ignore, "every cell is missing; leave it out with --ignore %s", arg)
	case c.Inf > 0:
		return fault(c.FirstInf, naOr(c.FirstInf.Cell, ignore), "%s", notFinite(c.FirstInf.Cell))
	case c.Text > 0 && !c.IsText():
		return p.mixed(t, c, fault)
	case c.Missing > 0 && p.Rule == "stop":
		mend := []string{"--missing", ""}
		if 2*c.Missing > t.Rows {
			mend = ignore
		}
		return fault(c.FirstMissing, mend, "the cell is missing (%s), as are %d of %d in the column; choose --missing "+
			"drop or --missing indicator, or --ignore %s",
			strings.Join(c.SpellingsList(), ", "), c.Missing, t.Rows, arg)
	case c.IsText():
		if f := p.addLevels(t, c, opt, fault); f != nil {
			return f
		}
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

// mixed is the fault of a column of numbers, or dates, with cells that are none.
func (p *Plan) mixed(t *table.Table, c *table.Column, fault func(table.Place, []string, string, ...any) *Fault) *Fault {
	cell, arg := c.FirstText.Cell, table.ListArg(c.Name)
	mend := []string{"--ignore", c.Name}
	if bad := slices.Sorted(maps.Keys(c.Bad)); len(bad) > 0 && len(bad) <= mostNA && 3*c.Text <= t.Rows &&
		!slices.ContainsFunc(bad, tooLong) {
		mend = append([]string{"--na"}, bad...)
	}
	kind := "number"
	if c.Date() {
		kind = "date"
	}
	good := t.Rows - c.Text - c.Missing
	switch what := numberish(cell); {
	case kind == "number" && table.ParseStyled(cell, c.Decimal).Other:
		if c.Marks() {
			other := map[byte]string{'.': "comma", ',': "point"}[c.Decimal]
			mend = []string{"--decimal", other}
		}
		return fault(c.FirstText, mend, "%s has another decimal mark than the rest of the column; write all alike, "+
			"or say which with --decimal", table.Quote(cell))
	case what != "":
		return fault(c.FirstText, mend, "%s %s; %s, or --ignore %s", table.Quote(cell), what,
			mendTo(table.Arg(cell), "missing"), arg)
	case isTotal(cell) && !tooLong(cell):
		return fault(c.FirstText, []string{"--comment", cell},
			"%s looks like a line of totals, which is no row; delete it, or --comment %s leaves it out",
			table.Quote(cell), table.Arg(cell))
	}
	return fault(c.FirstText, mend, "%s is no %s, while %d cells of the column are; %s, or use --text %s or "+
		"--ignore %s", table.Quote(cell), kind, good, mendOr(cell), arg, arg)
}

const toldWrong = "%s has another decimal mark than --decimal says; leave the flag out, or write all numbers " +
	"with one mark"

// otherMark says whether the first text of a column is a number with one decimal mark and
// none with the other: then the other was told.
func otherMark(c *table.Column) bool {
	first := c.FirstText.Cell
	return !c.AskedText() && table.ParseStyled(first, '.').Text != table.ParseStyled(first, ',').Text
}

// addLevels makes one input of each text of a column.
func (p *Plan) addLevels(t *table.Table, c *table.Column, opt Options,
	fault func(table.Place, []string, string, ...any) *Fault) *Fault {
	most := opt.MaxLevels
	if most == 0 {
		most = 20
	}
	if otherMark(c) {
		return fault(c.FirstText, []string{"--ignore", c.Name}, toldWrong, table.Quote(c.FirstText.Cell))
	}
	if what := quantities(c, most); what != "" && !c.AskedText() {
		if len(t.Columns) == 1 {
			what += delimiterHint(c.Name)
		}
		return fault(c.FirstText, []string{"--ignore", c.Name},
			"%s %s; or --text %s takes the cells as words, or --ignore %s", table.Quote(c.FirstText.Cell), what,
			table.ListArg(c.Name), table.ListArg(c.Name))
	}
	if last := c.Levels[len(c.Levels)-1]; !c.AskedText() && len(c.Levels) > 2 && isTotal(last) && !tooLong(last) &&
		c.LastAlone() {
		at := table.Place{Row: t.Rows, Line: t.Line(t.Rows - 1)}
		return fault(at, []string{"--comment", last}, "%s in the last row looks like a line of totals, which is no "+
			"row: --comment %s leaves it out, --text %s takes it for a word",
			table.Quote(last), table.Arg(last), table.ListArg(c.Name))
	}
	if len(c.Levels) > most {
		var samples []string
		for _, l := range c.Levels[:min(3, len(c.Levels))] {
			samples = append(samples, table.Quote(l))
		}
		return fault(c.FirstText, []string{"--ignore", c.Name},
			"%d or more different texts, such as %s, are too many for one input each (at most %d); leave it out "+
				"with --ignore %s or allow more with --levels",
			len(c.Levels), strings.Join(samples, ", "), most, table.ListArg(c.Name))
	}
	for _, l := range c.Levels {
		p.Inputs = append(p.Inputs, Input{Name: c.Name + "=" + l, Column: c.Name, Kind: Level, Level: l})
	}
	return nil
}

// target finds what is wrong with the column of the target.
func (p *Plan) target(t *table.Table, names []string) *Fault {
	j := slices.Index(names, p.Target)
	if j < 0 || p.Target == "" {
		return nil
	}
	c := t.Columns[j]
	if c.Decimal == ',' {
		p.TargetDecimal = ","
	}
	f := &Fault{Err: &table.Error{File: t.File, Column: c.Name}}
	at := func(place table.Place, format string, args ...any) *Fault {
		f.Err.Row, f.Err.Line, f.Err.Text = place.Row, place.Line, fmt.Sprintf(format, args...)
		return f
	}
	switch {
	case c.Doubt != nil:
		return &Fault{Err: c.Doubt, Mend: c.Mend}
	case c.Inf > 0:
		f.Mend = naOr(c.FirstInf.Cell, nil)
		return at(c.FirstInf, "%s", notFinite(c.FirstInf.Cell))
	case c.Text == 0:
		return nil
	case c.IsText() && otherMark(c):
		return at(c.FirstText, toldWrong, table.Quote(c.FirstText.Cell))
	case c.IsText():
		return at(c.FirstText, "%s is no number, nor is any cell; a target is a number in every row: %s",
			table.Quote(c.FirstText.Cell), asNumbers(c.Levels))
	}
	mixed := p.mixed(t, c, func(at table.Place, mend []string, format string, args ...any) *Fault {
		return &Fault{Mend: mend, Err: &table.Error{File: t.File, Row: at.Row, Line: at.Line, Column: c.Name,
			Text: fmt.Sprintf(format, args...)}}
	})
	if mixed.Mend[0] != "--na" && mixed.Mend[0] != "--comment" && mixed.Mend[0] != "--decimal" {
		mixed.Mend = nil
	}
	text := table.Quote(c.FirstText.Cell) + " is no number"
	if what := numberish(c.FirstText.Cell); what != "" {
		text = table.Quote(c.FirstText.Cell) + " " + what
	}
	mixed.Err.Text = text + "; " + mendTo(table.ListArg(c.FirstText.Cell), "a row without a target")
	return mixed
}

// longestNA is the longest cell that a message repeats as an argument.
const longestNA = 40

// notFinite and noNumber say what can be done with a cell that is neither a number nor missing.
func notFinite(cell string) string { return table.Quote(cell) + " is not finite; " + mendOr(cell) }

func noNumber(cell string) string { return table.Quote(cell) + " is no number; " + mendOr(cell) }

func mendOr(cell string) string { return mendTo(table.ListArg(cell), "missing") }

// mendTo is of a cell as an argument.
func mendTo(arg, what string) string {
	if tooLong(arg) {
		return "mend it"
	}
	return fmt.Sprintf("mend it, or --na %s takes it for %s", arg, what)
}

// naOr are the flags that take a cell for missing, or others where it is too long for that.
func naOr(cell string, others []string) []string {
	if tooLong(cell) {
		return others
	}
	return []string{"--na", cell}
}

func tooLong(cell string) bool { return len(cell) > longestNA }

// asNumbers says what can be done with a target of texts.
func asNumbers(levels []string) string {
	switch {
	case len(levels) == 2:
		return fmt.Sprintf("write 0 for %s and 1 for %s, and the mean is a rough share of %[2]s; probabilities take "+
			"a classifier", table.Quote(levels[0]), table.Quote(levels[1]))
	case len(levels) <= 20:
		return "classes take a classifier; texts that stand in an order, such as low, medium, high, can be " +
			"written as 1, 2, 3"
	}
	return "bbgp predicts quantities; name a column of numbers with --target"
}

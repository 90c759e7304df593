package inputs

import (
	"fmt"
	"strings"
	"unicode"

	"bbgp.dev/cmd/bbgp/internal/table"
)

// footer is the fault of lines below a table that are notes: one text each, in a column of
// numbers, and nothing beside it. nil if there are none.
func footer(t *table.Table) *Fault {
	var at *table.Column
	first := t.Rows
	for i := t.Rows - 1; i > 0 && len(t.Columns) > 2; i-- {
		c := alone(t, i)
		if c == nil || c.Codes == nil || c.Codes[i] < 0 || c.IsText() || at != nil && c != at {
			break
		}
		at, first = c, i
	}
	if at == nil || at.FirstText.Row != first+1 {
		return nil
	}
	cell := at.FirstText.Cell
	f := &Fault{Err: &table.Error{File: t.File, Row: first + 1, Line: t.Line(first), Column: at.Name}}
	if first == t.Rows-1 {
		f.Mend = []string{"--comment", cell}
		f.Err.Text = fmt.Sprintf("%s stands alone in its row, as a note below a table: delete the line, or "+
			"--comment %s leaves it out", table.Quote(cell), table.Arg(cell))
		return f
	}
	f.Err.Text = fmt.Sprintf("%s and %s below stand alone in their rows, as notes below a table: delete these lines",
		table.Quote(cell), table.Rows(t.Rows-1-first))
	return f
}

// alone returns the only column that has a cell in row i, nil if there are more.
func alone(t *table.Table, i int) (only *table.Column) {
	for _, c := range t.Columns {
		if c.MissingAt(i) {
			continue
		}
		if only != nil {
			return nil
		}
		only = c
	}
	return only
}

// delimiterHint says what may divide the cells of a table whose only column has this name.
func delimiterHint(name string) string {
	for _, r := range name {
		if r < unicode.MaxASCII && strings.Count(name, string(r)) > 0 && (unicode.IsPunct(r) || unicode.IsSymbol(r)) &&
			r != '_' && r != '.' && r != '-' {
			return fmt.Sprintf("; if the cells stand between %q, --delimiter %s says so", r, table.Arg(string(r)))
		}
	}
	return ""
}

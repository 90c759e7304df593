package table

import (
	"fmt"
	"strings"
)

// An Error is a fault of the data that a user can mend.
type Error struct {
	File   string
	Row    int    // 1 is the first row after the header; 0: no row in particular
	Line   int    // line of the file; 0: unknown
	Column string // "" if no column in particular
	Text   string // what is wrong and what to do
	// Refused: nothing is wrong, but the table is too large.
	Refused bool
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Row > 0 {
		fmt.Fprintf(&b, ": row %d", e.Row)
		if e.Line > 0 {
			fmt.Fprintf(&b, " (line %d)", e.Line)
		}
	}
	if e.Column != "" {
		if e.Row > 0 {
			b.WriteString(",")
		} else {
			b.WriteString(":")
		}
		fmt.Fprintf(&b, " column %s", e.Column)
	}
	b.WriteString(": ")
	b.WriteString(e.Text)
	return b.String()
}

// Quote shows a cell in an error: quoted, and cut where it is long.
func Quote(cell string) string {
	const most = 40
	if r := []rune(cell); len(r) > most {
		cell = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", cell)
}

package bbgp

import (
	"fmt"
)

// A DataError says which cell of the data cannot be used.
type DataError struct {
	Row    int    // index of the row, from 0; -1 when no single row is at fault
	Column string // name of the column, or "" when no single column is at fault
	Reason string
}

func (e *DataError) Error() string {
	switch {
	case e.Row >= 0 && e.Column != "":
		return fmt.Sprintf("row %d, column %q: %s", e.Row+1, e.Column, e.Reason)
	case e.Row >= 0:
		return fmt.Sprintf("row %d: %s", e.Row+1, e.Reason)
	case e.Column != "":
		return fmt.Sprintf("column %q: %s", e.Column, e.Reason)
	}
	return e.Reason
}

package table

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Rows and columns of a sheet end here.
const mostRows, mostColumns = 1 << 20, 1 << 14

// A bookCell is a cell that holds something.
type bookCell struct {
	column int    // from 0
	text   string // a number with all its digits, 1 or 0 for TRUE and FALSE
	date   bool   // a number that is shown as a date
}

// sheetRows reads a sheet row by row.
type sheetRows struct {
	book  *workbook
	part  string
	in    io.ReadCloser
	d     *xml.Decoder
	row   int // the last one
	cells []bookCell
}

func (w *workbook) open(sheet string) (*sheetRows, error) {
	part := w.ofSheet[sheet]
	in, err := w.reader(part)
	if err != nil {
		return nil, err
	}
	return &sheetRows{book: w, part: part, in: in, d: xml.NewDecoder(in)}, nil
}

func (r *sheetRows) Close() error { return r.in.Close() }

// next returns the number of the next row that is stored, from 1, and its cells, which the
// call after it writes over. io.EOF says that the part was read to its end and is whole.
func (r *sheetRows) next() (row int, cells []bookCell, err error) {
	for {
		t, err := r.d.Token()
		if err == io.EOF {
			return 0, nil, err
		}
		if start, ok := t.(xml.StartElement); ok && start.Name.Local == "row" {
			if r.row, err = after(r.row, attribute(start, "r"), mostRows); err == nil {
				err = r.readCells()
			}
			if err == nil {
				return r.row, r.cells, nil
			}
		}
		if err != nil {
			return 0, nil, fmt.Errorf("%s: row %d: %w", Quote(r.part), r.row, err)
		}
	}
}

// readCells reads the cells of the row that has begun.
func (r *sheetRows) readCells() error {
	r.cells = r.cells[:0]
	column := 0
	for {
		t, err := r.d.Token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.EndElement:
			return nil
		case xml.StartElement:
			if t.Name.Local != "c" {
				err = r.d.Skip()
				break
			}
			if column, err = after(column, columnOf(attribute(t, "r")), mostColumns); err != nil {
				return err
			}
			var c bookCell
			if c, err = r.readCell(t); c.text != "" {
				c.column = column - 1
				r.cells = append(r.cells, c)
			}
		}
		if err != nil {
			return err
		}
	}
}

// readCell reads the cell that has begun.
func (r *sheetRows) readCell(start xml.StartElement) (c bookCell, err error) {
	kind, value, inline := attribute(start, "t"), []byte(nil), ""
	for inValue, open := false, true; open; {
		t, err := r.d.Token()
		if err != nil {
			return c, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "v":
				inValue = true
				continue
			case "is":
				inline, err = textOf(r.d)
			default: // the formula, and what others add
				err = r.d.Skip()
			}
			if err != nil {
				return c, err
			}
		case xml.EndElement:
			open = inValue // the end of the value, else of the cell
			inValue = false
		case xml.CharData:
			if inValue {
				value = append(value, t...)
			}
		}
	}
	c.text = string(value)
	switch kind {
	case "s":
		k, err := strconv.Atoi(strings.TrimSpace(c.text))
		if c.text != "" && (err != nil || k < 0 || k >= len(r.book.strings)) {
			return c, fmt.Errorf("there is no string %s", Quote(c.text))
		}
		if c.text != "" {
			c.text = r.book.strings[k]
		}
	case "inlineStr":
		c.text = inline
	case "", "n":
		k, err := strconv.Atoi(attribute(start, "s"))
		c.date = err == nil && k >= 0 && k < len(r.book.isDate) && r.book.isDate[k]
	}
	return c, nil
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// columnOf returns the number of a cell's column: of AB12, 28.
func columnOf(cell string) string {
	n := 0
	for _, c := range strings.TrimRight(cell, "0123456789") {
		if c |= 0x20; c < 'a' || c > 'z' || n > mostColumns {
			return cell // which is no number
		}
		n = 26*n + int(c-'a') + 1
	}
	if n == 0 {
		return cell
	}
	return strconv.Itoa(n)
}

// after returns the number that is given, else the one after the last.
func after(last int, given string, most int) (int, error) {
	n, err := last+1, error(nil)
	if given != "" {
		n, err = strconv.Atoi(given)
	}
	switch {
	case err != nil:
		return last, fmt.Errorf("%s is no place of a sheet", Quote(given))
	case n <= last:
		return last, errors.New("rows or cells are not in their order")
	case n > most:
		return last, errors.New("a cell is beyond the last row or column of a sheet")
	}
	return n, nil
}

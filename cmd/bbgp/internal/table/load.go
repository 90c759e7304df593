package table

import (
	"bytes"
	"io"
	"math"
	"sort"
)

// maxLevels is the number of different text cells that a column keeps.
const maxLevels = 1000

// Codes of text columns that name no level.
const (
	CodeMissing = -1 // the cell is missing
	CodeOther   = -2 // a level beyond the first maxLevels, or a number
)

// A Place is a cell that a message may name.
type Place struct {
	Row, Line int
	Cell      string
}

// A Column holds the cells of one column.
type Column struct {
	Name    string
	Num     []float64 // NaN where the cell is missing or text
	Codes   []int32   // per row an index into Levels; nil if no cell is text
	Levels  []string  // in order of appearance
	Missing int       // cells
	Text    int
	Inf     int
	// The first cell of each kind.
	FirstMissing, FirstText, FirstInf Place
	Spellings                         map[string]int // of missing cells; "" is an empty one

	as    As
	index map[string]int32
}

// A Table holds all rows of an input.
type Table struct {
	File      string
	Rows      int
	Columns   []*Column
	Delimiter byte
	Decimal   byte
	HasHeader bool
	Lines     []int // line of each row; nil if row i stands on line i + 1 or i + 2
}

// As says how the cells of a column are read.
type As uint8

const (
	AsFound As = iota // numbers where they look like numbers, text elsewhere
	AsText            // text, also what looks like a number
	AsDate            // dates, as days since 1970-01-01
)

// Load reads all rows; as names the columns that are not read AsFound.
func Load(r *Reader, as map[string]As) (*Table, error) {
	t := &Table{File: r.file, Delimiter: r.Delimiter, Decimal: r.Decimal, HasHeader: r.HasHeader}
	for _, name := range r.Names {
		t.Columns = append(t.Columns, &Column{Name: name, as: as[name]})
	}
	for {
		cells, rec, err := r.nextRaw()
		if err == io.EOF {
			break
		}
		if err == nil && rec != nil {
			err = t.addLine(r, rec)
		}
		if err != nil {
			return nil, err
		}
		for i, cell := range cells {
			t.Columns[i].add(r, cell)
		}
		t.Rows++
		t.noteLine(r.Line())
	}
	if t.Rows == 0 {
		return nil, &Error{File: t.File, Text: "has a header and no rows"}
	}
	return t, nil
}

// addLine appends the cells of a record without quotes.
func (t *Table) addLine(r *Reader, rec []byte) error {
	for i, c := range t.Columns {
		if c.as == AsFound && c.Codes == nil {
			if v, n := leading(rec, r.Decimal); n > 0 && (n == len(rec) || rec[n] == r.Delimiter) {
				c.Num = append(c.Num, v)
				if n == len(rec) {
					if i+1 < len(t.Columns) {
						return r.raggedError(i + 1)
					}
					return nil
				}
				rec = rec[n+1:]
				continue
			}
		}
		n := bytes.IndexByte(rec, r.Delimiter)
		if n < 0 {
			c.add(r, trim(rec))
			if i+1 < len(t.Columns) {
				return r.raggedError(i + 1)
			}
			return nil
		}
		c.add(r, trim(rec[:n]))
		rec = rec[n+1:]
	}
	return r.raggedError(len(t.Columns) + 1 + bytes.Count(rec, []byte{r.Delimiter}))
}

// noteLine keeps the line of the last row once rows and lines part ways.
func (t *Table) noteLine(line int) {
	plain := t.Rows + btoi(t.HasHeader)
	if t.Lines == nil {
		if line == plain {
			return
		}
		t.Lines = make([]int, t.Rows-1, t.Rows+1024)
		for i := range t.Lines {
			t.Lines[i] = i + 1 + btoi(t.HasHeader)
		}
	}
	t.Lines = append(t.Lines, line)
}

// Line returns the line of row i (from 0).
func (t *Table) Line(i int) int {
	if t.Lines != nil {
		return t.Lines[i]
	}
	return i + 1 + btoi(t.HasHeader)
}

// add appends a cell.
func (c *Column) add(r *Reader, cell []byte) {
	v, k := parseAs(cell, r.Decimal, c.as)
	switch k {
	case number:
		c.Num = append(c.Num, v)
	case missing:
		c.Num = append(c.Num, math.NaN())
		note(&c.FirstMissing, c.Missing, r, cell)
		c.Missing++
		if c.Spellings == nil {
			c.Spellings = map[string]int{}
		}
		c.Spellings[string(cell)]++
	case infinite:
		c.Num = append(c.Num, v)
		note(&c.FirstInf, c.Inf, r, cell)
		c.Inf++
	case text:
		c.Num = append(c.Num, math.NaN())
		note(&c.FirstText, c.Text, r, cell)
		c.addText(cell)
		return
	}
	if c.Codes != nil {
		c.Codes = append(c.Codes, codeOf(k))
	}
}

func codeOf(k kind) int32 {
	if k == missing {
		return CodeMissing
	}
	return CodeOther
}

func note(p *Place, count int, r *Reader, cell []byte) {
	if count == 0 {
		*p = Place{Row: r.row, Line: r.line, Cell: string(cell)}
	}
}

func (c *Column) addText(cell []byte) {
	if c.Codes == nil {
		c.index = map[string]int32{}
		c.Codes = make([]int32, len(c.Num)-1, cap(c.Num))
		for i := range c.Codes {
			c.Codes[i] = CodeOther
			if math.IsNaN(c.Num[i]) {
				c.Codes[i] = CodeMissing
			}
		}
	}
	c.Text++
	code, ok := c.index[string(cell)]
	if !ok {
		code = CodeOther
		if len(c.Levels) < maxLevels {
			code = int32(len(c.Levels))
			c.Levels = append(c.Levels, string(cell))
			c.index[c.Levels[code]] = code
		}
	}
	c.Codes = append(c.Codes, code)
}

// Numeric says whether no cell is text; IsText whether no cell is a number.
func (c *Column) Numeric() bool { return c.Text == 0 }
func (c *Column) IsText() bool  { return c.Text > 0 && c.Text+c.Missing == len(c.Num) }

// Range returns the least and the greatest number, NaN if there is none.
func (c *Column) Range() (lo, hi float64) {
	lo, hi = math.NaN(), math.NaN()
	for _, v := range c.Num {
		if v < lo || math.IsNaN(lo) {
			lo = v
		}
		if v > hi || math.IsNaN(hi) {
			hi = v
		}
	}
	return lo, hi
}

// Distinct counts the different values up to most; more are reported as
// most + 1.
func (c *Column) Distinct(most int) int {
	if c.Text > 0 {
		return min(len(c.Levels), most+1)
	}
	seen := make(map[float64]struct{}, min(most+1, 1024))
	for _, v := range c.Num {
		if math.IsNaN(v) {
			continue
		}
		if seen[v] = struct{}{}; len(seen) > most {
			break
		}
	}
	return len(seen)
}

// Constant says whether all numbers of the column are equal.
func (c *Column) Constant() bool {
	lo, hi := c.Range()
	return !(lo < hi)
}

// Find returns the index of the column called name; failing that, name may be
// a 1-based number. The error suggests the nearest name.
func Find(file string, names []string, name string) (int, error) {
	for i, n := range names {
		if n == name {
			return i, nil
		}
	}
	if v, k := parse([]byte(name), '.'); k == number && v >= 1 && v <= float64(len(names)) && v == math.Trunc(v) {
		return int(v) - 1, nil
	}
	text := "there is no such column"
	if near := Nearest(name, names); near != "" {
		text += "; did you mean " + near + "?"
	} else {
		text += "; there are " + List(names, 12)
	}
	if note := BlanksNote(names); note != "" {
		text += "; " + note
	}
	return -1, &Error{File: file, Column: name, Text: text}
}

// SpellingsList names the spellings of missing cells, the most frequent first.
func (c *Column) SpellingsList() []string {
	var list []string
	for s := range c.Spellings {
		list = append(list, s)
	}
	sort.Slice(list, func(a, b int) bool {
		na, nb := c.Spellings[list[a]], c.Spellings[list[b]]
		return na > nb || na == nb && list[a] < list[b]
	})
	for i, s := range list {
		if s == "" {
			list[i] = "empty"
		}
	}
	return list
}

// Date says whether the column was read as dates.
func (c *Column) Date() bool { return c.as == AsDate }

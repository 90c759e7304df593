package table

import (
	"bytes"
	"fmt"
	"io"
	"math"
)

// maxLevels is the number of different text cells that a column keeps.
const maxLevels = 1000

// Codes of text columns that name no level.
const (
	CodeMissing = -1 // the cell is missing
	CodeOther   = -2 // a level beyond the first maxLevels, or a number
)

// A Table holds all rows of an input.
type Table struct {
	File      string
	Rows      int
	Columns   []*Column
	Delimiter byte
	Decimal   byte
	HasHeader bool
	RowNames  bool     // the first cell of each row was its name and is left out
	Lines     []int    // line of each row; nil if row i stands on line i + 1 or i + 2
	Notes     []string // what was found in the file beside plain rows
	Ragged    error    // the first row that was left out for its number of cells
	Dropped   int      // such rows

	budget int64
}

// As says how the cells of a column are read.
type As uint8

const (
	AsFound As = iota // numbers where they look like numbers, text elsewhere
	AsText            // text, also what looks like a number
	AsDate            // dates, as days since 1970-01-01
)

// A Request says how the columns of a table are to be read that are not read AsFound.
type Request struct {
	As    map[string]As
	Order map[string]Order // of dates, where it is told
	// The decimal mark that a column had in the table of a model: it decides where
	// nothing in this table does.
	Decimal map[string]byte
}

// Load reads all rows.
func Load(r *Reader, q Request) (*Table, error) {
	t := &Table{File: r.file, Delimiter: r.Delimiter, Decimal: r.Decimal, HasHeader: r.HasHeader, RowNames: r.rowNames,
		budget: r.opt.Memory}
	for _, name := range r.Names {
		t.Columns = append(t.Columns, &Column{Name: name, as: q.As[name], Order: q.Order[name], Decimal: r.Decimal,
			trained: q.Decimal[name], toldOrder: q.Order[name] != ""})
	}
	if err := t.count(); err != nil {
		return nil, err
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
		if t.Rows&1023 == 0 {
			if err := t.count(); err != nil {
				return nil, err
			}
		}
	}
	if t.Rows == 0 {
		return nil, &Error{File: t.File, Text: "has a header and no rows"}
	}
	t.Ragged, t.Dropped = r.firstRagged, r.ragged
	t.finish(r)
	return t, nil
}

// finish decides how each column is read, by the column as a whole, and by the others
// where it leaves that open.
func (t *Table) finish(r *Reader) {
	t.Notes = r.Notes()
	marks := map[byte]int{}
	for _, c := range t.Columns {
		marks[c.strong(t.Decimal)]++
	}
	other := otherMark(t.Decimal)
	kept := t.Columns[:0]
	for i, c := range t.Columns {
		plain := c.ways == nil && c.as == AsFound
		c.decide(t, marks)
		if plain {
			c.together(t)
		}
		if plain && c.marked > 0 && c.marked == c.grouped && (marks[other] > 0 || c.trained == other) &&
			marks[t.Decimal] == 0 && !r.told {
			c.doubt(t, Place{}, []string{"--decimal", MarkName(other)},
				"marks before three digits, while other columns have decimals after %q: say which mark the decimals "+
					"have with --decimal point or --decimal comma", other)
		}
		switch {
		case r.unnamed[i] && c.Missing == t.Rows && len(t.Columns) > 1:
			t.Notes = append(t.Notes, fmt.Sprintf("column %d has neither a name nor cells and is left out", i+1))
		case i == 0 && r.unnamed[i] && r.HasHeader && t.Rows > 1 && len(t.Columns) > 2 && c.counts():
			t.Notes = append(t.Notes, "the first column has no name and counts the rows: it is left out")
		default:
			kept = append(kept, c)
		}
	}
	t.Columns = kept
}

// MarkName is how --decimal calls a mark.
func MarkName(mark byte) string {
	if mark == ',' {
		return "comma"
	}
	return "point"
}

// counts says whether the numbers rise by one from row to row, from 0 or 1.
func (c *Column) counts() bool {
	if c.Text+c.Missing > 0 || c.Num[0] != 0 && c.Num[0] != 1 {
		return false
	}
	for i, v := range c.Num {
		if v != c.Num[0]+float64(i) {
			return false
		}
	}
	return true
}

// count adds up the memory that the table takes, and refuses what is too much: growing
// slices hold up to twice what is in them.
func (t *Table) count() error {
	if t.budget == 0 {
		return nil
	}
	bytes := int64(len(t.Columns)) * columnBytes
	for _, c := range t.Columns {
		bytes += int64(8*cap(c.Num) + 4*cap(c.Codes) + 96*len(c.Levels))
		for _, w := range c.ways {
			bytes += int64(8 * cap(w.num))
		}
	}
	if bytes+int64(8*cap(t.Lines)) > t.budget {
		return &Error{File: t.File, Refused: true, Text: fmt.Sprintf("the table takes more than the memory budget "+
			"after %s of %d columns; give more with --memory, or a part of the table", Rows(t.Rows), len(t.Columns))}
	}
	return nil
}

// columnBytes is what a column takes beside its cells.
const columnBytes = 512

// addLine appends the cells of a record without quotes.
func (t *Table) addLine(r *Reader, rec []byte) error {
	whole := rec
	for i, c := range t.Columns {
		if c.as == AsFound && c.Codes == nil && r.na == nil && r.Decimal != r.Delimiter {
			if v, n, decimals := leading(rec, r.Decimal); n > 0 && (n == len(rec) || rec[n] == r.Delimiter) {
				c.Num = append(c.Num, v)
				if decimals >= 0 {
					c.noteMark(v, decimals)
				} else if rec[0] == '0' && n > 2 {
					c.noteZeros(rec[:n])
				}
				if n < len(rec) {
					rec = rec[n+1:]
					continue
				}
				return t.short(r, whole, i)
			}
		}
		n := bytes.IndexByte(rec, r.Delimiter)
		if n < 0 {
			c.add(r, trim(rec))
			return t.short(r, whole, i)
		}
		c.add(r, trim(rec[:n]))
		rec = rec[n+1:]
	}
	_, err := r.fit(split(nil, whole, r.Delimiter))
	return err
}

// short complains of a row that ends after column i, unless that is the last.
func (t *Table) short(r *Reader, rec []byte, i int) error {
	if i+1 == len(t.Columns) {
		return nil
	}
	return r.raggedError(split(nil, rec, r.Delimiter))
}

// noteMark counts a number with decimals, and whether these may be a group of thousands.
func (c *Column) noteMark(v float64, decimals int) {
	c.marked++
	if decimals == 3 && math.Abs(v) >= 1 && math.Abs(v) < 1000 {
		c.grouped++
	}
}

// noteZeros keeps the first number of three digits or more that begins with a zero.
func (c *Column) noteZeros(cell []byte) {
	if c.Zeros == "" && allDigits(cell) {
		c.Zeros = string(cell)
	}
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
	v, k := r.parse(cell)
	if c.as == AsText && k != missing {
		v, k = 0, text
	}
	if c.ways == nil && (k == text && c.Codes == nil || c.as == AsDate && len(c.Num) == c.Missing) {
		c.startWays(r)
	}
	if c.ways != nil {
		if k == missing || k == infinite {
			c.missWays(v)
		} else {
			c.addWays(r, cell, v, k == number)
		}
	}
	switch k {
	case number:
		c.Num = append(c.Num, v)
		if cell[0] == '0' && len(cell) > 2 {
			c.noteZeros(cell)
		}
		if marked, groups := grouped(cell, r.Decimal); marked && c.ways == nil {
			c.marked += btoi(marked)
			c.grouped += btoi(groups)
		}
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

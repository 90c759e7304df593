package table

import (
	"bytes"
	"fmt"
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
	// How the column was read where that was not plain.
	Decimal byte           // mark of the decimals
	Order   Order          // of dates
	Note    string         // what was decided, in words; "" for plain cells
	Doubt   *Error         // why the column cannot be read; nil if it can
	Mend    []string       // a flag and its value that would end the doubt
	Bad     map[string]int // cells that are no numbers, or no dates, in a column of them

	as              As
	trained         byte // decimal mark, see Request
	index           map[string]int32
	ways            []*way
	marked, grouped int // plain numbers with a decimal mark, those that may be groups of thousands
}

// A Table holds all rows of an input.
type Table struct {
	File      string
	Rows      int
	Columns   []*Column
	Delimiter byte
	Decimal   byte
	HasHeader bool
	Lines     []int    // line of each row; nil if row i stands on line i + 1 or i + 2
	Notes     []string // what was found in the file beside plain rows
	Ragged    error    // the first row that was left out for its number of cells
	Dropped   int      // such rows

	bytes, budget int64
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
	t := &Table{File: r.file, Delimiter: r.Delimiter, Decimal: r.Decimal, HasHeader: r.HasHeader, budget: r.opt.Memory}
	for _, name := range r.Names {
		t.Columns = append(t.Columns, &Column{Name: name, as: q.As[name], Order: q.Order[name], Decimal: r.Decimal, trained: q.Decimal[name]})
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
		if plain && c.marked > 0 && c.marked == c.grouped && (marks[other] > 0 || c.trained == other) && marks[t.Decimal] == 0 && !r.told {
			c.doubt(t, Place{}, []string{"--decimal", MarkName(other)},
				"marks before three digits, while other columns have decimals after %q: say which mark the decimals have with --decimal point or --decimal comma", other)
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
		return &Error{File: t.File, Refused: true, Text: fmt.Sprintf("the table takes more than the memory budget after %s of %d columns; give more with --memory, or a part of the table", Rows(t.Rows), len(t.Columns))}
	}
	return nil
}

// columnBytes is what a column takes beside its cells.
const columnBytes = 512

// addLine appends the cells of a record without quotes.
func (t *Table) addLine(r *Reader, rec []byte) error {
	whole := rec
	for i, c := range t.Columns {
		if c.as == AsFound && c.Codes == nil && r.na == nil {
			if v, n, decimals := leading(rec, r.Decimal); n > 0 && (n == len(rec) || rec[n] == r.Delimiter) {
				c.Num = append(c.Num, v)
				if decimals >= 0 {
					c.noteMark(v, decimals)
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

// AskedText says whether the column was to be read as text.
func (c *Column) AskedText() bool { return c.as == AsText }

// Marks says whether every decimal mark of the column may be a mark of thousands.
func (c *Column) Marks() bool { return c.marked == c.grouped }

// MissingAt says whether the cell of row i is missing.
func (c *Column) MissingAt(i int) bool {
	if c.Codes != nil {
		return c.Codes[i] == CodeMissing
	}
	return math.IsNaN(c.Num[i])
}

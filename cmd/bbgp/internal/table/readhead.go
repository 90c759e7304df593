package table

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// plainHead says whether the text has a header and a row, comments aside, and nothing in it
// was guessed: what is guessed has to be guessed from as much as in a file.
func (r *Reader) plainHead() bool {
	if r.end == 0 || r.buf[r.end-1] != '\n' && r.end < firstRead {
		return false // a line comes in parts
	}
	recs := records(bytes.TrimPrefix(r.buf[:r.end], []byte("\xef\xbb\xbf")), false)
	n, _ := commentLines(recs)
	if len(recs) < n+2 {
		return false
	}
	s, opt := &sample{recs: recs[n:]}, r.opt
	return s.foreign(r.file) != nil || len(findHead(s, &opt).notes) == 0
}

// readHead finds and reads all that stands before the rows.
func (r *Reader) readHead() error {
	text := r.buf[r.start:r.end]
	mac := bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') >= 0
	if mac {
		r.newline = '\r'
	}
	if err := r.skip(); err != nil {
		return err
	}
	text = r.buf[r.start:r.end]
	if mac {
		text = bytes.ReplaceAll(text, []byte{'\r'}, []byte{'\n'})
	}
	s := &sample{recs: records(text, r.eof)}
	if r.opt.Comment != "" {
		s.recs = slices.DeleteFunc(s.recs, func(c record) bool { return r.isComment(c.text) })
	}
	if len(s.recs) == 0 && len(bytes.TrimSpace(text)) > 0 {
		return r.openQuote()
	}
	if !slices.ContainsFunc(s.recs, func(c record) bool { return !isRule(c.text) }) {
		return r.empty()
	}
	if err := cmp.Or(s.foreign(r.file), r.tooWide(s)); err != nil {
		return err
	}
	h := findHead(s, &r.opt)
	r.head, r.place = h.notes, h.place
	r.Delimiter, r.rowNames, r.HasHeader = h.delimiter, h.rowNames, h.isHeader || h.names != nil
	if r.Decimal = r.opt.Decimal; r.Decimal == 0 {
		r.Decimal = s.detectDecimal()
	}
	r.start, r.next = r.start+h.skip, r.next+h.lines
	if h.names != nil {
		return r.nameColumns(h.names, s)
	}
	names := make([]string, len(h.first))
	if h.isHeader {
		rec, quoted, err := r.raw()
		if err == io.EOF {
			return r.empty()
		}
		if err != nil {
			return err
		}
		r.header = bare(rec)
		cells, _ := r.split(nil, bytes.Clone(rec), quoted)
		for i := range min(len(names), len(cells)) {
			names[i] = strings.ToValidUTF8(string(cells[i]), "?")
		}
		names = names[:min(len(names), len(cells))]
	}
	for range h.units {
		if _, _, err := r.raw(); err != nil && err != io.EOF {
			return err
		}
	}
	return r.nameColumns(names, s)
}

// tooWide refuses lines with more cells than may be read, before they are cut; what is told wrongly
// because of single quotes is cut up to maxColumns.
func (r *Reader) tooWide(s *sample) error {
	most := int(r.opt.most() / columnBytes)
	between := delimiters
	if r.opt.Delimiter != 0 {
		between = []byte{r.opt.Delimiter}
	}
	for _, rec := range s.recs {
		if len(rec.text) <= most {
			continue
		}
		var cells [256]int
		inside := false
		for _, c := range rec.text {
			if c == '"' {
				inside = !inside
			} else if !inside {
				cells[c]++
			}
		}
		for _, d := range between {
			if n := cells[d] + 1; n > min(most, maxColumns) {
				return r.columnsError(n)
			}
		}
	}
	return nil
}

// columnsError refuses so many columns.
func (r *Reader) columnsError(n int) error {
	if n > maxColumns {
		return &Error{File: r.file, Text: fmt.Sprintf("has %d columns; at most %d can be read", n, maxColumns)}
	}
	return &Error{File: r.file, Refused: true, Text: fmt.Sprintf("has %d columns, more than fit the memory budget; "+
		"give more with --memory, or a part of the table", n)}
}

func (r *Reader) empty() error {
	return &Error{File: r.file, Text: "is empty; a header line and rows of numbers are expected"}
}

// foreign is the error of a sample that is no table of cells.
func (s *sample) foreign(file string) error {
	if kind := noTable(s.recs[0].text); kind != "" {
		return &Error{File: file, Text: kind}
	}
	if len(s.recs) > 1 && assignments(string(s.recs[0].text)) && assignments(string(s.recs[1].text)) {
		return &Error{File: file, Text: fmt.Sprintf("has the names of columns in its cells (%s); write them once, "+
			"in a header line, and the values below", Quote(string(s.recs[0].text)))}
	}
	if wholeQuoted(s.recs) {
		return &Error{File: file, Text: `every line stands in quotes as a whole; take the outer quotes off: sed ` +
			`'s/^"//; s/"$//; s/""/"/g'`}
	}
	return nil
}

// skip leaves out the lines that --skip says.
func (r *Reader) skip() error {
	for r.next <= r.opt.Skip {
		if i := bytes.IndexByte(r.buf[r.start:r.end], r.newline); i >= 0 {
			r.start, r.next = r.start+i+1, r.next+1
			continue
		}
		if r.eof {
			return &Error{File: r.file, Text: fmt.Sprintf("--skip %d leaves nothing: the table has %s", r.opt.Skip,
				lines(r.next-btoi(r.start == r.end)))}
		}
		if r.end-r.start > maxRecord {
			return r.openQuote()
		}
		if err := r.fill(); err != nil {
			return err
		}
	}
	for r.opt.Skip > 0 && !r.eof && r.end-r.start < sampleSize {
		if err := r.fill(); err != nil {
			return err
		}
	}
	return nil
}

// nameColumns makes the names unique, and finds what the sample tells of each column.
func (r *Reader) nameColumns(names []string, s *sample) error {
	if len(names) > maxColumns {
		return r.columnsError(len(names))
	}
	for i, name := range names {
		name = oneLineName(name)
		r.unnamed = append(r.unnamed, name == "")
		if name == "" {
			name = fmt.Sprintf("c%d", i+1)
		}
		r.Names = append(r.Names, name)
	}
	if n, was, is := makeUnique(r.Names); n > 0 {
		note := fmt.Sprintf("the name %s is that of several columns: the first keeps it, the next is called %s",
			was, is)
		if n > 1 {
			note += fmt.Sprintf("; %d columns are renamed so", n)
		}
		r.head = append(r.head, note)
	}
	r.Marks = make([]byte, len(names))
	for _, cells := range s.cells {
		if r.rowNames && len(cells) == len(names)+1 {
			cells = cells[1:]
		}
		for i := range min(len(cells), len(names)) {
			if m := strongMark(cells[i]); m != 0 {
				r.Marks[i] = m
			}
		}
	}
	return nil
}

// oneLineName puts blanks for line ends and other letters that do not print, as cells of
// spreadsheets have them.
func oneLineName(name string) string {
	if strings.IndexFunc(name, unicode.IsControl) < 0 {
		return name
	}
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == ' ' }), " ")
}

// Notes says what was found in the file that a user may not expect.
func (r *Reader) Notes() []string {
	notes := slices.Clone(r.head)
	if t, ok := r.in.(interface{ notes() []string }); ok {
		notes = append(t.notes(), notes...)
	}
	for _, c := range []struct {
		n    int
		text string
	}{
		{r.repeats, "the header again, left out"},
		{r.trailed, "no cells, at the end, left out"},
		{r.surplus, "empty cells beyond the last column"},
		{r.ragged, "another number of cells than the header, left out (--ragged drop)"},
	} {
		if c.n > 0 {
			notes = append(notes, lines(c.n)+" of the table: "+c.text)
		}
	}
	return notes
}

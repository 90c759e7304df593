package table

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// A Reader splits an input into records.
type Reader struct {
	Names     []string // of the columns, made unique; "c1", "c2", … without a header
	Delimiter byte
	Decimal   byte
	Marks     []byte // the decimal mark that each column has beyond doubt in the sample, or 0
	HasHeader bool

	file       string
	in         io.Reader
	opt        ReadOptions
	buf        []byte
	start, end int
	searched   int // no newline in buf[start : start+searched]
	eof        bool
	newline    byte
	line, next int // line of the last record, line at start
	row        int
	cells      [][]byte
	place      layout // columns by position, nil for a delimiter
	rowNames   bool   // the first cell of a record names it
	header     []byte // the header line, bare, for its repetitions
	na         map[string]bool
	naNum      []float64 // those that are numbers
	head       []string  // what was found in the head
	unnamed    []bool    // columns whose name was empty
	told       bool      // Decimal was told

	emptyLines, owedLine              int // rows without any cell that are not given yet
	repeats, surplus, ragged, trailed int // rows: header again, cells too many but empty, left out
	firstRagged                       error
}

const (
	firstRead  = 1 << 12
	sampleSize = 1 << 16
	maxRecord  = 1 << 24 // a longer one is an open quote, or no text at all
	maxColumns = 1 << 20
)

// NewReader looks at the first lines of in and reads the header. The file name
// is for messages.
func NewReader(file string, in io.Reader, opt ReadOptions) (*Reader, error) {
	if t, ok := in.(interface{ told() ReadOptions }); ok {
		tell := t.told()
		opt.Delimiter, opt.Decimal = tell.Delimiter, tell.Decimal
		if tell.Header != HeaderAuto {
			opt.Header, opt.NoHead = tell.Header, true
		}
	}
	r := &Reader{file: file, in: in, opt: opt, buf: make([]byte, firstRead), newline: '\n', next: 1,
		told: opt.Decimal != 0}
	for !r.eof && (r.end < sampleSize || r.end <= maxRecord && !bytes.ContainsAny(r.buf[:r.end], "\r\n")) {
		if err := r.fill(); err != nil {
			return nil, err
		}
		// A pipe may be slow: a header and a row are enough.
		if opt.Live && r.plainHead() {
			break
		}
	}
	if bytes.HasPrefix(r.buf[:r.end], []byte("\xef\xbb\xbf")) {
		r.start = 3
	}
	r.setMissing(opt.NA)
	if err := r.readHead(); err != nil {
		return nil, err
	}
	return r, nil
}

// Row returns the number of the last record, from 1, without the header; Line
// the line of the file where it begins.
func (r *Reader) Row() int  { return r.row }
func (r *Reader) Line() int { return r.line }

// nextRaw returns the cells of the next record, or, where it has no quotes, the
// record whole, for a caller that splits it on the way.
func (r *Reader) nextRaw() (cells [][]byte, rec []byte, err error) {
	for {
		rec, quoted, err := r.raw()
		if err != nil {
			return nil, nil, err
		}
		r.row++
		if !quoted && r.Delimiter != Blanks && !r.rowNames && !r.opt.DropRows {
			return nil, rec, nil
		}
		if r.cells, err = r.split(r.cells[:0], rec, quoted); err == nil {
			cells, err = r.fit(r.cells)
		}
		if err == nil || !r.opt.DropRows {
			return cells, nil, err
		}
		if r.ragged++; r.ragged == 1 {
			r.firstRagged = err
		}
	}
}

// split cuts a record.
func (r *Reader) split(cells [][]byte, rec []byte, quoted bool) ([][]byte, error) {
	if r.place == nil {
		return splitAny(cells, rec, r.Delimiter, quoted), nil
	}
	cells, ok := r.place.cut(cells, rec)
	if !ok && r.row > 0 {
		return nil, r.errorf(r.Names[min(len(cells), len(r.Names)-1)],
			"the cell reaches the next column, and columns go by their positions; write the table with a delimiter, "+
				"or the row aligned")
	}
	return cells, nil
}

// Next returns the cells of the next record, as views that are valid until the
// following call, or io.EOF.
func (r *Reader) Next() ([][]byte, error) {
	cells, rec, err := r.nextRaw()
	if err != nil || rec == nil {
		return cells, err
	}
	r.cells = split(r.cells[:0], rec, r.Delimiter)
	return r.fit(r.cells)
}

// fit makes the cells as many as the columns, where what is too much is nothing.
func (r *Reader) fit(cells [][]byte) ([][]byte, error) {
	if r.rowNames && len(cells) == len(r.Names)+1 {
		cells = cells[1:]
	}
	if len(cells) > len(r.Names) && filled(cells[len(r.Names):]) == 0 {
		r.surplus++
		cells = cells[:len(r.Names)]
	}
	if len(cells) != len(r.Names) {
		return nil, r.raggedError(cells)
	}
	return cells, nil
}

func (r *Reader) raggedError(cells [][]byte) error {
	have, want := len(cells), len(r.Names)
	first := ""
	if have > 0 {
		first = string(cells[0])
	}
	hint := ""
	switch _, isComment := uncomment([]byte(first)); {
	case isComment:
		hint = fmt.Sprintf("; if it is a comment, --comment %s leaves such lines out", Arg(first[:1]))
	case have == 1 && want > 1:
		hint = fmt.Sprintf("; if the line is no row (%s), delete it, or --ragged drop leaves it out", Quote(first))
	}
	if have < want {
		if hint == "" {
			hint = "; fill the missing ones or leave them empty between delimiters"
			if r.Delimiter == Blanks {
				hint = "; write NA where a cell is blank, for blanks cannot be told from the delimiter" + r.further()
			}
		}
		return r.errorf(r.Names[have], "the row has %d of %d cells%s", have, want, hint)
	}
	if hint == "" {
		hint = r.surplusHint(cells)
	}
	return r.errorf("", "the row has %d cells, the header %d%s", have, want, hint)
}

// further asks whether the table begins further down.
func (r *Reader) further() string {
	if r.row > 3 || r.opt.Skip > 0 {
		return ""
	}
	return "; if the table begins further down, --skip N leaves out N lines"
}

// surplusHint says what cells too many may come from.
func (r *Reader) surplusHint(cells [][]byte) string {
	what, digits := "; name all columns in the header, or delete the cells that are too many", 0
	for _, c := range cells {
		if allDigits(bytes.TrimPrefix(c, []byte("-"))) {
			digits++
		}
	}
	switch {
	case r.Delimiter == Blanks:
		what = "; cells with blanks in them need quotes" + r.further()
	case r.Delimiter == ',' && digits == len(cells) && len(cells) == 2*len(r.Names):
		what = "; numbers seem to have a decimal comma: use another delimiter, or quote them"
	case len(cells[0]) > 1 && cells[0][0] == '\'':
		what = "; cells that contain the delimiter need double quotes, not single ones"
	case slices.ContainsFunc(cells, func(c []byte) bool {
		return bytes.HasSuffix(c, []byte(`\`)) ||
			bytes.Contains(c, []byte(`\"`))
	}):
		what = `; a quote inside of quotes is written as two of them, not as \"`
	case digits < len(cells):
		what = fmt.Sprintf("; quote cells that contain the delimiter %q, or name all columns in the header",
			r.Delimiter)
	}
	return what
}

// errorf makes an error at the last record.
func (r *Reader) errorf(column, format string, args ...any) error {
	return &Error{File: r.file, Row: r.row, Line: r.line, Column: column, Text: fmt.Sprintf(format, args...)}
}

// raw returns the next line that is a row, without its end, or io.EOF: lines that are
// blank, comments or the header once more are none. A row without any cell is one if
// another row follows.
func (r *Reader) raw() (rec []byte, quoted bool, err error) {
	for {
		n, quoted, err := r.find()
		if err == io.EOF {
			r.trailed, r.emptyLines = r.trailed+r.emptyLines, 0
		}
		if err != nil {
			return nil, false, err
		}
		rec := r.buf[r.start : r.start+n]
		if n > 0 && rec[n-1] == '\r' {
			rec = rec[:n-1]
		}
		isRow := !r.noRow(rec)
		if isRow && r.hasNoCell(rec) {
			if r.emptyLines++; r.emptyLines == 1 {
				r.owedLine = r.next
			}
			isRow = false
		} else if isRow && r.emptyLines > 0 {
			r.emptyLines--
			r.line = r.owedLine
			r.owedLine++
			return bytes.Repeat([]byte{r.Delimiter}, len(r.Names)-1), false, nil
		}
		r.line = r.next
		r.next += 1 + bytes.Count(rec, []byte{r.newline})*btoi(quoted)
		r.start = min(r.start+n+1, r.end)
		r.searched = 0
		if !isRow {
			continue
		}
		if bytes.IndexByte(rec, 0) >= 0 {
			return nil, false, &Error{File: r.file, Line: r.line, Row: r.row + 1,
				Text: "holds zero bytes, which no text has: a copy that was cut short, or no text file; tr -d " +
					"'\\000' takes them out"}
		}
		return rec, quoted, nil
	}
}

// noRow says whether a line is blank, a comment, or the header once more.
func (r *Reader) noRow(rec []byte) bool {
	switch {
	case len(rec) == 0 || rec[0] <= ' ' && len(bytes.TrimSpace(rec)) == 0, r.isComment(rec):
		return true
	case r.isHeader(rec):
		r.repeats++
		return true
	case r.row == 0 || rec[0] == '+' || rec[0] == '|' || rec[0] == '-':
		return isRule(rec) && (r.row == 0 || bytes.IndexByte(rec, '+') >= 0)
	}
	return false
}

// isHeader says whether a line is the header once more, quotes, blanks and capitals aside.
func (r *Reader) isHeader(rec []byte) bool {
	if len(r.header) == 0 || len(r.Names) < 2 {
		return false
	}
	j := 0
	for _, c := range rec {
		if c == '"' || c == ' ' || c == '\r' {
			continue
		}
		if j == len(r.header) || c != r.header[j] && (c|0x20 != r.header[j]|0x20 || c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
		j++
	}
	return j == len(r.header)
}

// bare is a line without quotes and blanks.
func bare(line []byte) []byte {
	return bytes.Map(func(c rune) rune {
		if c == '"' || c == ' ' || c == '\r' {
			return -1
		}
		return c
	}, line)
}

func (r *Reader) isComment(rec []byte) bool {
	return r.opt.Comment != "" && bytes.HasPrefix(bytes.TrimLeft(rec, " \t\""), []byte(r.opt.Comment))
}

// hasNoCell says whether a line has delimiters and blanks only.
func (r *Reader) hasNoCell(rec []byte) bool {
	if rec[0] != r.Delimiter && !blank(rec[0]) || len(r.Names) < 2 {
		return false
	}
	for _, c := range rec {
		if c != r.Delimiter && !blank(c) {
			return false
		}
	}
	return true
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// find returns the length of the record at start, without its newline, reading
// on as needed, and whether it has quotes.
func (r *Reader) find() (n int, quoted bool, err error) {
	for {
		data := r.buf[r.start:r.end]
		if i := bytes.IndexByte(data[r.searched:], r.newline); i >= 0 || r.eof {
			n = r.searched + i
			if i < 0 {
				n = len(data)
			}
			if r.place != nil || bytes.IndexByte(data[:n], '"') < 0 {
				if n == 0 && len(data) == 0 {
					return 0, false, io.EOF
				}
				return n, false, nil
			}
			if n, closed := quotedEnd(data, r.Delimiter, r.newline); closed || (r.eof && n >= 0) {
				return n, true, nil
			}
			if r.eof {
				return 0, true, r.openQuote()
			}
		}
		if r.searched = len(data); r.searched > maxRecord {
			return 0, false, r.openQuote()
		}
		if bytes.IndexByte(data, '"') >= 0 {
			r.searched = 0
		}
		if err := r.fill(); err != nil {
			return 0, false, err
		}
	}
}

func (r *Reader) openQuote() error {
	return &Error{File: r.file, Row: r.row + 1, Line: r.next,
		Text: "a quote is opened and never closed, or the line has no end"}
}

// fill reads more input behind end, moving or growing the buffer as needed.
func (r *Reader) fill() error {
	if r.start > 0 && r.start >= len(r.buf)/2 {
		copy(r.buf, r.buf[r.start:r.end])
		r.start, r.end = 0, r.end-r.start
	}
	if len(r.buf)-r.end < utf8.UTFMax { // a letter is not given in parts
		grown := make([]byte, max(2*len(r.buf), 4*sampleSize))
		r.end = copy(grown, r.buf[r.start:r.end])
		r.buf, r.start = grown, 0
	}
	n, err := r.in.Read(r.buf[r.end:])
	r.end += n
	if errors.Is(err, io.EOF) {
		r.eof = true
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	if err != nil {
		text := "reading stopped: " + err.Error()
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
			text += "; what is packed is cut short or damaged: copy it again"
		}
		return &Error{File: r.file, Line: r.next, Row: max(r.row, 0), Text: text}
	}
	return nil
}

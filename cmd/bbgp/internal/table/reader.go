package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A Header says whether the first line names the columns.
type Header int

const (
	HeaderAuto Header = iota // no header if the first line has numbers only
	HeaderYes
	HeaderNo
)

// ReadOptions tell what is otherwise detected.
type ReadOptions struct {
	Delimiter byte // 0: detect
	Decimal   byte // '.' or ','; 0: detect
	Header    Header
}

// A Reader splits an input into records.
type Reader struct {
	Names     []string // of the columns, made unique; "c1", "c2", … without a header
	Delimiter byte
	Decimal   byte
	HasHeader bool

	file       string
	in         io.Reader
	buf        []byte
	start, end int
	searched   int // no newline in buf[start : start+searched]
	eof        bool
	newline    byte
	line, next int // line of the last record, line at start
	row        int
	cells      [][]byte
	pending    bool // the first record is data and waits in cells
}

const (
	sampleSize = 1 << 16
	maxRecord  = 1 << 24 // a longer one is an open quote, or no text at all
)

// NewReader looks at the first lines of in and reads the header. The file name
// is for messages.
func NewReader(file string, in io.Reader, opt ReadOptions) (*Reader, error) {
	if t, ok := in.(interface{ told() ReadOptions }); ok {
		opt = t.told()
	}
	r := &Reader{file: file, in: in, buf: make([]byte, 4*sampleSize), newline: '\n', next: 1}
	for r.end < sampleSize && !r.eof {
		// One read that brings whole lines is enough: a pipe may be slow.
		if err := r.fill(); err != nil {
			return nil, err
		}
		if bytes.Count(r.buf[:r.end], []byte{'\n'}) >= 2 {
			break
		}
	}
	if bytes.HasPrefix(r.buf[:r.end], []byte("\xef\xbb\xbf")) {
		r.start = 3
	}
	sample := r.buf[r.start:r.end]
	if bytes.IndexByte(sample, '\n') < 0 && bytes.IndexByte(sample, '\r') >= 0 {
		r.newline = '\r'
		sample = bytes.ReplaceAll(sample, []byte{'\r'}, []byte{'\n'})
	}
	if r.Delimiter = opt.Delimiter; r.Delimiter == 0 {
		r.Delimiter = detectDelimiter(sample)
	}
	if r.Decimal = opt.Decimal; r.Decimal == 0 {
		r.Decimal = detectDecimal(sample, r.Delimiter)
	}
	first, err := r.record()
	if err == io.EOF {
		return nil, &Error{File: file, Text: "is empty; a header line and rows of numbers are expected"}
	}
	if err != nil {
		return nil, err
	}
	r.HasHeader = opt.Header == HeaderYes || opt.Header == HeaderAuto && !allNumbers(first, r.Decimal)
	r.nameColumns(first)
	return r, nil
}

func allNumbers(cells [][]byte, decimal byte) bool {
	numbers := 0
	for _, c := range cells {
		switch _, k := parse(c, decimal); k {
		case number:
			numbers++
		case text:
			return false
		}
	}
	return numbers > 0
}

// nameColumns takes the names from the first record, or makes them.
func (r *Reader) nameColumns(first [][]byte) {
	r.pending = !r.HasHeader
	for i, c := range first {
		name := strings.ToValidUTF8(string(c), "?")
		if r.pending || name == "" {
			name = fmt.Sprintf("c%d", i+1)
		}
		r.Names = append(r.Names, name)
	}
	makeUnique(r.Names)
}

// Row returns the number of the last record, from 1, without the header; Line
// the line of the file where it begins.
func (r *Reader) Row() int  { return r.row }
func (r *Reader) Line() int { return r.line }

// nextRaw returns the cells of the next record, or, where it has no quotes, the
// record whole, for a caller that splits it on the way.
func (r *Reader) nextRaw() (cells [][]byte, rec []byte, err error) {
	if r.pending {
		cells, err = r.Next()
		return cells, nil, err
	}
	rec, quoted, err := r.raw()
	if err != nil {
		return nil, nil, err
	}
	r.row++
	if !quoted {
		return nil, rec, nil
	}
	r.cells = splitQuoted(r.cells[:0], rec, r.Delimiter)
	if len(r.cells) != len(r.Names) {
		return nil, nil, r.raggedError(len(r.cells))
	}
	return r.cells, nil, nil
}

// Next returns the cells of the next record, as views that are valid until the
// following call, or io.EOF.
func (r *Reader) Next() ([][]byte, error) {
	cells := r.cells
	if r.pending {
		r.pending = false
	} else {
		var err error
		if cells, err = r.record(); err != nil {
			return nil, err
		}
	}
	r.row++
	if len(cells) != len(r.Names) {
		return nil, r.raggedError(len(cells))
	}
	return cells, nil
}

func (r *Reader) raggedError(have int) error {
	want := len(r.Names)
	if have < want {
		return r.errorf(r.Names[have], "the row has %d of %d cells; fill the missing ones or leave them empty between delimiters", have, want)
	}
	return r.errorf("", "the row has %d cells, the header %d; quote cells that contain the delimiter %q", have, want, r.Delimiter)
}

// errorf makes an error at the last record.
func (r *Reader) errorf(column, format string, args ...any) error {
	return &Error{File: r.file, Row: r.row, Line: r.line, Column: column, Text: fmt.Sprintf(format, args...)}
}

// record splits the next line that is not blank, or io.EOF.
func (r *Reader) record() ([][]byte, error) {
	rec, quoted, err := r.raw()
	switch {
	case err != nil:
		return nil, err
	case quoted:
		r.cells = splitQuoted(r.cells[:0], rec, r.Delimiter)
	default:
		r.cells = split(r.cells[:0], rec, r.Delimiter)
	}
	return r.cells, nil
}

// raw returns the next line that is not blank, without its end, or io.EOF.
func (r *Reader) raw() (rec []byte, quoted bool, err error) {
	for {
		n, quoted, err := r.find()
		if err != nil {
			return nil, false, err
		}
		rec := r.buf[r.start : r.start+n]
		r.line = r.next
		r.next += 1 + bytes.Count(rec, []byte{r.newline})*btoi(quoted)
		r.start = min(r.start+n+1, r.end)
		r.searched = 0
		if n > 0 && rec[n-1] == '\r' {
			rec = rec[:n-1]
		}
		if len(rec) == 0 || rec[0] <= ' ' && len(bytes.TrimSpace(rec)) == 0 {
			continue
		}
		if bytes.IndexByte(rec, 0) >= 0 {
			return nil, false, &Error{File: r.file, Line: r.line, Row: r.row + 1, Text: "holds zero bytes; it is no text file"}
		}
		return rec, quoted, nil
	}
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
			if bytes.IndexByte(data[:n], '"') < 0 {
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
	return &Error{File: r.file, Row: r.row + 1, Line: r.next, Text: "a quote is opened and never closed, or the line has no end"}
}

// fill reads more input behind end, moving or growing the buffer as needed.
func (r *Reader) fill() error {
	if r.start > 0 && r.start >= len(r.buf)/2 {
		copy(r.buf, r.buf[r.start:r.end])
		r.start, r.end = 0, r.end-r.start
	}
	if r.end == len(r.buf) {
		grown := make([]byte, 2*len(r.buf))
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
		return &Error{File: r.file, Line: r.next, Row: max(r.row, 0), Text: "reading stopped: " + err.Error()}
	}
	return nil
}

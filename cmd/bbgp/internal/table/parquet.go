package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// A Parquet file is read as the CSV text that it stands for, so that columns are
// handled the same way wherever they come from: nulls are empty cells, numbers
// have all their digits, booleans are 0 and 1, dates and times are ISO 8601.

const parquetMagic = "PAR1"

// A parquetText gives the rows of a Parquet file as CSV.
type parquetText struct {
	label  string
	close  func() error
	cells  []func(b []byte, v parquet.Value) []byte // of each column
	groups []parquet.RowGroup
	rows   parquet.Rows // of the first of groups; nil before
	batch  []parquet.Row
	text   []byte // made and not read
	buf    []byte
}

// told is what a Reader need not detect.
func (p *parquetText) told() ReadOptions {
	return ReadOptions{Delimiter: ',', Decimal: '.', Header: HeaderYes}
}

// openParquet reads in, which begins with the magic; a pipe is read whole.
func openParquet(label string, in io.Reader, c io.Closer) (r io.ReadCloser, err error) {
	// The library trusts what a file says of itself: damage may make it panic.
	defer guard(label, &err)
	var at io.ReaderAt
	var size int64
	if f, ok := c.(*os.File); ok && regular(f, &size) {
		at = f
	} else {
		b, err := io.ReadAll(in)
		if err != nil {
			return nil, &Error{File: label, Text: "cannot be read: " + err.Error()}
		}
		at, size = bytes.NewReader(b), int64(len(b))
	}
	if err := checkFooter(label, at, size); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(at, size, parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	if err != nil {
		return nil, &Error{File: label, Text: "damaged Parquet data: " + oneLine(err)}
	}
	if err := checkCodecs(label, f.Metadata()); err != nil {
		return nil, err
	}
	p := &parquetText{label: label, close: c.Close, groups: f.RowGroups(), batch: make([]parquet.Row, 256)}
	for j, path := range f.Schema().Columns() {
		leaf, ok := f.Schema().Lookup(path...)
		name := strings.Join(path, ".")
		if !ok || leaf.MaxRepetitionLevel > 0 {
			return nil, &Error{File: label, Column: name, Text: "holds lists; a table of single values is expected"}
		}
		p.cells = append(p.cells, parquetCell(leaf.Node.Type()))
		if j > 0 {
			p.text = append(p.text, ',')
		}
		p.text = appendQuoted(p.text, name)
	}
	p.text = append(p.text, '\n')
	return p, nil
}

// checkFooter looks at the end of a file, the length of the footer and the magic:
// the library would make room for a footer of any length.
func checkFooter(label string, at io.ReaderAt, size int64) error {
	var tail [8]byte
	if size < 12 {
		return &Error{File: label, Text: "damaged Parquet data: cut short"}
	}
	if _, err := at.ReadAt(tail[:], size-8); err != nil {
		return &Error{File: label, Text: "cannot be read: " + err.Error()}
	}
	if string(tail[4:]) != parquetMagic || int64(binary.LittleEndian.Uint32(tail[:])) > size-12 {
		return &Error{File: label, Text: "damaged Parquet data: cut short, or the end is not that of such a file"}
	}
	return nil
}

// checkCodecs refuses columns packed with LZ4: the library asks for room without
// end where such data are damaged.
func checkCodecs(label string, m *format.FileMetaData) error {
	for _, g := range m.RowGroups {
		for _, c := range g.Columns {
			if k := c.MetaData.Codec; k == format.Lz4Raw {
				return &Error{File: label, Column: strings.Join(c.MetaData.PathInSchema, "."), Text: "is packed with LZ4, which is not read; write the file with zstd, snappy or gzip"}
			}
		}
	}
	return nil
}

func regular(f *os.File, size *int64) bool {
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	*size = st.Size()
	return true
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", " ") }

// guard makes a panic of the library an error of the data.
func guard(label string, err *error) {
	if r := recover(); r != nil {
		*err = &Error{File: label, Text: fmt.Sprintf("damaged Parquet data: %v", r)}
	}
}

// Close closes the file.
func (p *parquetText) Close() error {
	if p.rows != nil {
		p.rows.Close() // it was open for reading only
	}
	return p.close()
}

// Read reads text.
func (p *parquetText) Read(b []byte) (n int, err error) {
	for len(p.text) == 0 {
		if err := p.fill(); err != nil {
			return 0, err
		}
	}
	n = copy(b, p.text)
	p.text = p.text[n:]
	return n, nil
}

// fill makes the text of the next rows.
func (p *parquetText) fill() (err error) {
	defer guard(p.label, &err)
	if len(p.groups) == 0 {
		return io.EOF
	}
	if p.rows == nil {
		p.rows = p.groups[0].Rows()
	}
	n, err := p.rows.ReadRows(p.batch)
	p.buf = p.buf[:0]
	for _, row := range p.batch[:n] {
		if len(row) != len(p.cells) {
			return &Error{File: p.label, Text: fmt.Sprintf("damaged Parquet data: a row of %d cells for %d columns", len(row), len(p.cells))}
		}
		for j, v := range row {
			if j > 0 {
				p.buf = append(p.buf, ',')
			}
			if !v.IsNull() {
				p.buf = p.cells[j](p.buf, v)
			} else if len(row) == 1 {
				p.buf = append(p.buf, `""`...) // a blank line would be no row
			}
		}
		p.buf = append(p.buf, '\n')
	}
	p.text = p.buf
	last := errors.Is(err, io.EOF) || err == nil && n == 0
	if last {
		err = p.rows.Close()
		p.rows, p.groups = nil, p.groups[1:]
	}
	if err != nil {
		return &Error{File: p.label, Text: "damaged Parquet data: " + oneLine(err)}
	}
	return nil
}

// parquetCell returns how a type becomes text.
func parquetCell(t parquet.Type) func([]byte, parquet.Value) []byte {
	var logical format.LogicalTypeValue
	if l := t.LogicalType(); l != nil {
		logical = l.Value
	}
	whole := func(v parquet.Value) int64 {
		if v.Kind() == parquet.Int32 {
			return int64(v.Int32())
		}
		return v.Int64()
	}
	switch l := logical.(type) {
	case *format.DateType:
		return func(b []byte, v parquet.Value) []byte {
			return time.Unix(whole(v)*86400, 0).UTC().AppendFormat(b, time.DateOnly)
		}
	case *format.TimestampType:
		unit := time.Microsecond
		if l.Unit.Value != nil {
			unit = l.Unit.Value.Duration()
		}
		per := int64(time.Second / unit)
		return func(b []byte, v parquet.Value) []byte {
			n := whole(v)
			return time.Unix(n/per, n%per*int64(unit)).UTC().AppendFormat(b, "2006-01-02T15:04:05.999999999Z07:00")
		}
	case *format.DecimalType:
		if k := t.Kind(); k == parquet.Int32 || k == parquet.Int64 {
			return func(b []byte, v parquet.Value) []byte {
				return append(strconv.AppendInt(b, whole(v), 10), fmt.Sprintf("e%d", -l.Scale)...)
			}
		}
	case *format.IntType:
		if !l.IsSigned {
			return func(b []byte, v parquet.Value) []byte {
				if v.Kind() == parquet.Int32 {
					return strconv.AppendUint(b, uint64(v.Uint32()), 10)
				}
				return strconv.AppendUint(b, v.Uint64(), 10)
			}
		}
	}
	return plainCell
}

func plainCell(b []byte, v parquet.Value) []byte {
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return append(b, '1')
		}
		return append(b, '0')
	case parquet.Int32:
		return strconv.AppendInt(b, int64(v.Int32()), 10)
	case parquet.Int64:
		return strconv.AppendInt(b, v.Int64(), 10)
	case parquet.Float:
		return appendFloat(b, float64(v.Float()), 32)
	case parquet.Double:
		return appendFloat(b, v.Double(), 64)
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return appendQuoted(b, string(v.ByteArray()))
	}
	return appendQuoted(b, v.String())
}

func appendFloat(b []byte, v float64, bits int) []byte {
	if math.IsInf(v, 0) {
		return append(b, "inf"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, bits)
}

// appendQuoted writes a text cell; zero bytes, which no text has, become spaces.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case 0:
			b = append(b, ' ')
		case '"':
			b = append(b, '"', '"')
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

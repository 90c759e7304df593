package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// A Parquet file is read as the CSV text that it stands for, so that columns are
// handled the same way wherever they come from: nulls are empty cells, numbers
// have all their digits, booleans are 0 and 1, dates and timestamps are ISO 8601,
// times of day are seconds.

const parquetMagic = "PAR1"

// A parquetText gives the rows of a Parquet file as CSV.
type parquetText struct {
	label  string
	close  func() error
	names  []string // of the columns
	cells  []cellWriter
	row    int // rows made into text
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
func openParquet(label string, in io.Reader, c io.Closer, opt ReadOptions) (r io.ReadCloser, err error) {
	// The library trusts what a file says of itself: damage may make it panic.
	defer guard(label, &err)
	var at io.ReaderAt
	var size int64
	if f, ok := c.(*os.File); ok && regular(f, &size) {
		at = f
	} else {
		b, err := readWhole(label, in, opt.most())
		if err != nil {
			return nil, err
		}
		at, size = bytes.NewReader(b), int64(len(b))
	}
	if err := checkFooter(label, at, size, opt.most()); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(at, size, parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	if err != nil {
		return nil, &Error{File: label, Text: "damaged Parquet data: " + oneLine(err)}
	}
	p := &parquetText{label: label, close: c.Close, groups: f.RowGroups(), batch: make([]parquet.Row, 256)}
	if err := p.columns(f); err != nil {
		return nil, err
	}
	if err := checkCodecs(label, f.Metadata()); err != nil {
		return nil, err
	}
	if err := checkPages(label, at, size, f.Metadata(), opt.most()); err != nil {
		return nil, err
	}
	return p, nil
}

// columns takes the types of the columns, and their names as the header.
func (p *parquetText) columns(f *parquet.File) error {
	var leaves []*format.SchemaElement // in the order of the columns
	for i := range f.Metadata().Schema {
		s := &f.Metadata().Schema[i]
		if _, ok := s.LogicalType.Value.(*format.VariantType); ok {
			return &Error{File: p.label, Column: s.Name, Text: "is of type VARIANT; a column of one type is expected"}
		}
		if i > 0 && s.NumChildren.V == 0 {
			leaves = append(leaves, s)
		}
	}
	paths := f.Schema().Columns()
	if len(paths) == 0 || len(paths) != len(leaves) {
		return &Error{File: p.label, Text: fmt.Sprintf("damaged Parquet data: %d columns, %d types",
			len(paths), len(leaves))}
	}
	for j, path := range paths {
		leaf, ok := f.Schema().Lookup(path...)
		name := strings.Join(path, ".")
		if !ok || leaf.MaxRepetitionLevel > 0 {
			return &Error{File: p.label, Column: name, Text: "holds lists; a table of single values is expected"}
		}
		cells, fault := cellsOf(leaves[j])
		if fault != "" {
			return &Error{File: p.label, Column: name, Text: fault}
		}
		p.names, p.cells = append(p.names, name), append(p.cells, cells)
		if j > 0 {
			p.text = append(p.text, ',')
		}
		p.text = appendQuoted(p.text, name)
	}
	p.text = append(p.text, '\n')
	return nil
}

// checkCodecs refuses columns packed with LZ4: the library asks for room without
// end where such data are damaged.
func checkCodecs(label string, m *format.FileMetaData) error {
	for _, g := range m.RowGroups {
		for _, c := range g.Columns {
			if k := c.MetaData.Codec; k == format.Lz4Raw || k == format.Lz4 {
				return &Error{File: label, Column: strings.Join(c.MetaData.PathInSchema, "."),
					Text: "is packed with LZ4, which is not read; write the file with zstd, snappy or gzip"}
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

// readWhole reads a pipe whose end has to be seen first.
func readWhole(label string, in io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, &Error{File: label, Text: "cannot be read: " + err.Error()}
	case int64(len(b)) > most:
		return nil, &Error{File: label, Refused: true,
			Text: "a pipe of such a file is read to its end first, which takes more " +
				"than the memory budget; give the name of the file in its place"}
	}
	return b, nil
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
	var n int
	quietly(func() { n, err = p.rows.ReadRows(p.batch) })
	p.buf = p.buf[:0]
	for _, row := range p.batch[:n] {
		if len(row) != len(p.cells) {
			return &Error{File: p.label, Text: fmt.Sprintf("damaged Parquet data: a row of %d cells for %d columns",
				len(row), len(p.cells))}
		}
		for j, v := range row {
			if j > 0 {
				p.buf = append(p.buf, ',')
			}
			if !v.IsNull() {
				var fault string
				if p.buf, fault = p.cells[j](p.buf, v); fault != "" {
					return &Error{File: p.label, Row: p.row + 1, Column: p.names[j], Text: fault}
				}
			} else if len(row) == 1 {
				p.buf = append(p.buf, `""`...) // a blank line would be no row
			}
		}
		p.buf = append(p.buf, '\n')
		p.row++
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

package table

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"

	"bbgp.dev/cmd/bbgp/internal/pattern"
)

// A sheet of an .xlsx workbook is read as the CSV text that it stands for, as Parquet
// files are: numbers have all their digits, cells shown as dates are ISO 8601.

// A sheetText gives the rows of a sheet as CSV.
type sheetText struct {
	label string
	book  *excelize.File
	rows  *excelize.Rows
	close func() error
	dates []bool // columns whose numbers are shown as dates
	epoch float64
	row   int
	empty int    // rows without cells just before
	text  []byte // made and not read
	buf   []byte
	head  []string
}

func (s *sheetText) told() ReadOptions { return ReadOptions{Delimiter: ',', Decimal: '.'} }
func (s *sheetText) notes() []string   { return s.head }

func (s *sheetText) Close() error {
	return errors.Join(s.rows.Close(), s.book.Close(), s.close())
}

// openWorkbook reads in, which begins as a zip archive does.
func openWorkbook(label string, in io.Reader, c io.Closer, opt ReadOptions) (r io.ReadCloser, err error) {
	defer guardBook(label, &err)
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
	limit := opt.most()
	if err := checkZip(label, at, size, limit); err != nil {
		return nil, err
	}
	book, err := excelize.OpenReader(io.NewSectionReader(at, 0, size), excelize.Options{
		UnzipSizeLimit: limit, UnzipXMLSizeLimit: limit, RawCellValue: true})
	if err != nil {
		return nil, damagedBook(label, err)
	}
	s := &sheetText{label: label, book: book, close: c.Close}
	name, err := s.choose(opt.Sheet)
	if err == nil {
		err = s.findDates(name)
	}
	if err == nil {
		s.rows, err = book.Rows(name)
	}
	if err != nil {
		return nil, errors.Join(damagedBook(label, err), book.Close())
	}
	return s, nil
}

func damagedBook(label string, err error) error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	return &Error{File: label, Text: "damaged workbook: " + oneLine(err)}
}

// checkZip tells workbooks from other archives, and whole ones from those that are cut or
// unpack to more than the limit.
func checkZip(label string, at io.ReaderAt, size, limit int64) error {
	z, err := zip.NewReader(at, size)
	if err != nil {
		return &Error{File: label, Text: "damaged zip archive or workbook: " + oneLine(err)}
	}
	book, total, parts := false, uint64(0), map[string]bool{}
	for _, f := range z.File {
		name := strings.ToLower(f.Name)
		parts[name] = true
		book = book || name == "xl/workbook.xml"
		if name == "content.xml" || name == "xl/workbook.bin" {
			return &Error{File: label, Text: "is a spreadsheet of another kind than .xlsx; save it as .xlsx or as CSV"}
		}
		total += f.UncompressedSize64
	}
	switch {
	case !book:
		return &Error{File: label, Text: "is a zip archive; unpack it and name a table in it"}
	case total > uint64(limit):
		return &Error{File: label, Refused: true,
			Text: fmt.Sprintf("unpacks to %d bytes, more than the memory budget", total)}
	}
	types, err := z.Open("[Content_Types].xml")
	if err != nil {
		return &Error{File: label, Text: "damaged workbook: its list of parts is missing"}
	}
	defer types.Close()
	list, err := io.ReadAll(io.LimitReader(types, 1<<24))
	if err != nil {
		return &Error{File: label, Text: "damaged workbook: " + oneLine(err)}
	}
	for _, m := range partName().FindAllSubmatch(list, -1) {
		if name := string(m[1]); !parts[strings.ToLower(name)] {
			return &Error{File: label, Text: "damaged workbook: " + Quote(name) + " is missing"}
		}
	}
	for _, f := range z.File {
		if err := checkPart(f); err != nil {
			return &Error{File: label, Text: fmt.Sprintf("damaged workbook: %s: %s", Quote(f.Name), oneLine(err))}
		}
	}
	return nil
}

var partName = pattern.Of(`PartName="/([^"]+)"`)

// checkPart demands that a part has its checksum, and that a sheet is all there: the library
// stops at damage without a word.
func checkPart(f *zip.File) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	var tail []byte
	buf := make([]byte, sampleSize)
	for {
		n, err := r.Read(buf)
		tail = append(tail, buf[:n]...)
		tail = append(tail[:0], tail[max(len(tail)-64, 0):]...)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	isSheet := strings.HasPrefix(f.Name, "xl/worksheets/") && strings.HasSuffix(f.Name, ".xml")
	if isSheet && !bytes.HasSuffix(bytes.TrimSpace(tail), []byte("worksheet>")) {
		return errors.New("the sheet is cut short")
	}
	return nil
}

// choose returns the sheet called name, or the first that its readers see.
func (s *sheetText) choose(name string) (string, error) {
	sheets := s.book.GetSheetList()
	switch {
	case name != "" && !slices.Contains(sheets, name):
		return "", &Error{File: s.label, Text: fmt.Sprintf("has no sheet %s; there are %s",
			Quote(name), List(sheets, 8))}
	case name != "":
		return name, nil
	case len(sheets) == 0:
		return "", &Error{File: s.label, Text: "has no sheet"}
	case len(sheets) == 1:
		return sheets[0], nil
	}
	which, first := fmt.Sprintf("the first of %d sheets", len(sheets)), max(0, slices.IndexFunc(sheets, s.shown))
	if first > 0 {
		which = "the first sheet that is not hidden"
	}
	s.head = append(s.head, fmt.Sprintf("%s is read, %s; --sheet NAME takes another: %s", which, Quote(sheets[first]),
		List(slices.Concat(sheets[:first], sheets[first+1:]), 6)))
	return sheets[first], nil
}

// shown says whether a sheet is not hidden.
func (s *sheetText) shown(name string) bool {
	shown, err := s.book.GetSheetVisible(name)
	return shown || err != nil
}

// shownRows are looked at to tell numbers that are shown as dates.
const shownRows = 200

// findDates compares how the first rows are shown with what they hold.
func (s *sheetText) findDates(name string) error {
	props, err := s.book.GetWorkbookProps()
	if err != nil {
		return err
	}
	s.epoch = 25569 // 1970-01-01 in days since 1899-12-30
	if props.Date1904 != nil && *props.Date1904 {
		s.epoch -= 1462
	}
	raw, err := s.book.Rows(name)
	if err != nil {
		return err
	}
	defer raw.Close()
	shown, err := s.book.Rows(name)
	if err != nil {
		return err
	}
	defer shown.Close()
	for range shownRows {
		if !raw.Next() || !shown.Next() {
			break
		}
		held, err := raw.Columns()
		if err != nil {
			return err
		}
		seen, err := shown.Columns(excelize.Options{RawCellValue: false, ShortDatePattern: "yyyy-mm-dd",
			LongDatePattern: "yyyy-mm-dd"})
		if err != nil {
			return err
		}
		for j := range min(len(held), len(seen)) {
			for len(s.dates) <= j {
				s.dates = append(s.dates, false)
			}
			if v, k := parse([]byte(held[j]), '.'); k == number && v > 0 && held[j] != seen[j] && showsDate(seen[j]) {
				s.dates[j] = true
			}
		}
	}
	return nil
}

func showsDate(s string) bool {
	for _, o := range []Order{YMD, DMY, MDY} {
		if _, ok := o.days([]byte(s)); ok {
			return true
		}
	}
	word := strings.ToLower(s)
	for _, m := range strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec") {
		if strings.Contains(word, m) {
			return true
		}
	}
	return false
}

// mostEmptyRows in a row are taken for rows of the table. A sheet of a few kilobytes can have a
// cell in its last column and one in its last row, which are 17 GB of text.
const mostEmptyRows = 10_000

func (s *sheetText) Read(p []byte) (n int, err error) {
	defer guardBook(s.label, &err)
	for len(s.text) == 0 {
		if !s.rows.Next() {
			if err := s.rows.Error(); err != nil {
				return 0, damagedBook(s.label, err)
			}
			return 0, io.EOF
		}
		cells, err := s.rows.Columns()
		if err != nil {
			return 0, damagedBook(s.label, err)
		}
		s.row++
		if len(cells) > 0 && s.empty > mostEmptyRows {
			return 0, &Error{File: s.label, Line: s.row, Text: fmt.Sprintf(
				"the row has cells, and the %d above it have none: delete it if it is no part of the table", s.empty)}
		}
		s.empty++
		if len(cells) > 0 {
			s.empty = 0
		}
		if s.empty > mostEmptyRows {
			continue // mostly the rest of the sheet
		}
		s.buf = s.buf[:0]
		for j, c := range cells {
			if j > 0 {
				s.buf = append(s.buf, ',')
			}
			s.buf = s.cell(s.buf, j, c)
		}
		for range len(s.dates) - len(cells) { // empty cells at the end are not stored
			s.buf = append(s.buf, ',')
		}
		s.text = append(s.buf, '\n')
	}
	n = copy(p, s.text)
	s.text = s.text[n:]
	return n, nil
}

func (s *sheetText) cell(b []byte, j int, c string) []byte {
	if v, k := parse([]byte(c), '.'); k == number {
		if j < len(s.dates) && s.dates[j] {
			return append(b, DateOf(v-s.epoch)...)
		}
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	if strings.TrimSpace(c) == "" {
		return b
	}
	return appendQuoted(b, c)
}

// guardBook makes a panic of the library an error of the data.
func guardBook(label string, err *error) {
	if r := recover(); r != nil {
		*err = &Error{File: label, Text: fmt.Sprintf("damaged workbook: %v", r)}
	}
}

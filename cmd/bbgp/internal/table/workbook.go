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
)

// A sheet of an .xlsx workbook is read as the CSV text that it stands for, as Parquet
// files are: numbers have all their digits, cells shown as dates are ISO 8601.

// A sheetText gives the rows of a sheet as CSV.
type sheetText struct {
	label string
	book  *workbook
	rows  *sheetRows
	close func() error
	dates []bool // columns whose numbers are shown as dates
	row   int
	text  []byte // made and not read
	buf   []byte
	head  []string
}

func (s *sheetText) told() ReadOptions { return ReadOptions{Delimiter: ',', Decimal: '.'} }
func (s *sheetText) notes() []string   { return s.head }

func (s *sheetText) Close() error { return errors.Join(s.rows.Close(), s.close()) }

// openWorkbook reads in, which begins as a zip archive does.
func openWorkbook(label string, in io.Reader, c io.Closer, opt ReadOptions) (io.ReadCloser, error) {
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
	z, err := zip.NewReader(at, size)
	if err != nil {
		return nil, &Error{File: label, Text: "damaged zip archive or workbook: " + oneLine(err)}
	}
	if err := checkZip(label, z, opt.most()); err != nil {
		return nil, err
	}
	s := &sheetText{label: label, close: c.Close}
	if s.book, err = readBook(z); err != nil {
		return nil, damagedBook(label, err)
	}
	sheet, err := s.choose(opt.Sheet)
	if err != nil {
		return nil, err
	}
	if err = s.findDates(sheet); err == nil {
		s.rows, err = s.book.open(sheet)
	}
	if err != nil {
		return nil, damagedBook(label, err)
	}
	return s, nil
}

func damagedBook(label string, err error) error {
	return &Error{File: label, Text: "damaged workbook: " + oneLine(err)}
}

// checkZip tells workbooks from other archives, and those that unpack to more than the limit.
func checkZip(label string, z *zip.Reader, limit int64) error {
	book, total := false, uint64(0)
	for _, f := range z.File {
		name := partName(f.Name)
		book = book || strings.HasSuffix(name, "workbook.xml")
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
	return nil
}

// choose returns the sheet called name, or the first.
func (s *sheetText) choose(name string) (string, error) {
	sheets := s.book.sheets
	switch {
	case name != "" && !slices.Contains(sheets, name):
		return "", &Error{File: s.label, Text: fmt.Sprintf("has no sheet %s; there are %s",
			Quote(name), List(sheets, 8))}
	case name != "":
		return name, nil
	case len(sheets) == 0:
		return "", &Error{File: s.label, Text: "has no sheet"}
	case len(sheets) > 1:
		s.head = append(s.head, fmt.Sprintf("the first of %d sheets is read, %s; --sheet NAME takes another: %s",
			len(sheets), Quote(sheets[0]), List(sheets[1:], 6)))
	}
	return sheets[0], nil
}

// shownRows are looked at to tell numbers that are shown as dates.
const shownRows = 200

// findDates looks how the numbers of the first rows are shown.
func (s *sheetText) findDates(sheet string) error {
	rows, err := s.book.open(sheet)
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		row, cells, err := rows.next()
		if err == io.EOF || err == nil && row > shownRows {
			return nil
		}
		if err != nil {
			return err
		}
		for _, c := range cells {
			for len(s.dates) <= c.column {
				s.dates = append(s.dates, false)
			}
			if v, k := parse([]byte(c.text), '.'); c.date && k == number && v > 0 {
				s.dates[c.column] = true
			}
		}
	}
}

// mostEmptyRows in a row are taken for rows of the table. A sheet of a few kilobytes can have a
// cell in its last column and one in its last row, which are 17 GB of text.
const mostEmptyRows = 10_000

func (s *sheetText) Read(p []byte) (n int, err error) {
	for len(s.text) == 0 {
		row, cells, err := s.rows.next()
		if err == io.EOF {
			return 0, err
		}
		if err != nil {
			return 0, damagedBook(s.label, err)
		}
		if len(cells) == 0 {
			continue // mostly the rest of the sheet
		}
		empty := row - s.row - 1
		if empty > mostEmptyRows {
			return 0, &Error{File: s.label, Line: row, Text: fmt.Sprintf(
				"the row has cells, and the %d above it have none: delete it if it is no part of the table", empty)}
		}
		s.row, s.buf = row, s.buf[:0]
		for range empty {
			s.appendRow(nil)
		}
		s.appendRow(cells)
		s.text = s.buf
	}
	n = copy(p, s.text)
	s.text = s.text[n:]
	return n, nil
}

// appendRow writes cells in the order of columns; empty ones are not stored.
func (s *sheetText) appendRow(cells []bookCell) {
	column := 0
	for _, c := range cells {
		for ; column < c.column; column++ {
			s.buf = append(s.buf, ',')
		}
		s.buf = s.appendCell(s.buf, c)
	}
	for ; column < len(s.dates)-1; column++ {
		s.buf = append(s.buf, ',')
	}
	s.buf = append(s.buf, '\n')
}

func (s *sheetText) appendCell(b []byte, c bookCell) []byte {
	if v, k := parse([]byte(c.text), '.'); k == number {
		if c.column < len(s.dates) && s.dates[c.column] {
			return append(b, DateOf(v-s.book.epoch)...)
		}
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	if strings.TrimSpace(c.text) == "" {
		return b
	}
	return appendQuoted(b, c.text)
}

package table

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bbgp.dev/cmd/bbgp/internal/pattern"
)

// What stands before the rows: comments, titles, Excel's sep=, the heads of GeoEAS and
// ARFF files, the header, units under it. All that is found is said.

// A head is what was found of it.
type head struct {
	skip      int      // bytes before the header, or before the rows
	lines     int      // lines in them
	names     []string // of the columns, where they stand elsewhere than in a header line
	first     [][]byte // cells of the header or of the first row
	isHeader  bool
	units     int  // lines under the header that tell units
	rowNames  bool // rows have a name before their cells
	delimiter byte
	place     layout // columns by position
	notes     []string
}

func (h *head) note(format string, args ...any) {
	h.notes = append(h.notes, fmt.Sprintf(format, args...))
}

var sepLine = pattern.Of(`^"?sep=(.)"?[\s;,]*$`)

// comments are what lines of a comment begin with, before the header.
var comments = []string{"#", "%", "//"}

// findHead looks at the beginning of a table; s has its records and gets their cells.
func findHead(s *sample, opt *ReadOptions) *head {
	h := &head{delimiter: opt.Delimiter}
	all := s.recs
	drop := func(n int) { // the first n records are no part of the table
		if n > 0 {
			h.skip, h.lines = s.recs[n-1].to, s.recs[n-1].line+bytes.Count(s.recs[n-1].text, []byte{'\n'})
			s.recs = s.recs[n:]
		}
	}
	look := opt.Skip == 0 && !opt.NoHead
	var above []byte // a comment that may be the header
	if look {
		above = h.before(s, drop)
	}
	if h.delimiter == 0 {
		var titles int
		h.delimiter, titles = s.detectDelimiter()
		if s.place != nil {
			h.place = s.place
			h.note("aligned text with blank cells: columns by their positions")
			if titles > 0 {
				h.note("%s before the table left out: %s", lines(titles), Quote(string(s.recs[0].text)))
			}
			drop(titles)
		}
	}
	rows := slices.DeleteFunc(slices.Clone(s.recs), func(r record) bool { return isRule(r.text) })
	if len(rows) > 0 && len(rows) < len(s.recs) {
		s.recs = rows
	}
	s.by(h.delimiter)
	if h.names == nil && above != nil && s.namesIn(above, h) {
		return h
	}
	if look && h.names == nil {
		n := s.titles()
		if k := s.twoLines(n, h); k > 0 {
			s.recs, s.cells = s.recs[k:], s.cells[k:]
		} else if n > 0 {
			h.note("%s before the table left out: %s", lines(n), Quote(string(s.recs[0].text)))
			cells := s.cells[n:]
			drop(n)
			s.cells = cells
		}
	}
	if len(s.recs) == 0 {
		s.recs, s.cells = all[:1], s.cells[:1]
	}
	h.first = s.cells[0]
	if h.names == nil {
		s.header(h, opt)
	}
	return h
}

// before takes off what comments and other programs put before a table, and returns the
// last comment.
func (h *head) before(s *sample, drop func(n int)) (above []byte) {
	if m := sepLine().FindSubmatch(s.recs[0].text); m != nil && len(s.recs) > 1 {
		drop(1)
		if h.delimiter == 0 {
			h.delimiter = m[1][0]
		}
		h.note("the first line says that the delimiter is %q", m[1])
	}
	if n, names, kind := foreignHead(s.recs); n > 0 {
		drop(n)
		h.names = names
		h.note("the names of the %d columns stand in the head of a %s file", len(names), kind)
		if kind == "GeoEAS" {
			h.delimiter = Blanks
		}
	} else if n, last := commentLines(s.recs); n > 0 {
		above = last
		drop(n)
		h.note("%s before the table left out: comments", lines(n))
	}
	return above
}

func lines(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// commentLines counts the comments that the records begin with, if something else follows.
func commentLines(recs []record) (n int, last []byte) {
	for n < len(recs) {
		text, ok := uncomment(recs[n].text)
		if !ok {
			return n, last
		}
		last = text
		n++
	}
	return 0, nil
}

func uncomment(rec []byte) ([]byte, bool) {
	rec = bytes.TrimLeft(rec, " \t\"")
	for _, c := range comments {
		if t, ok := bytes.CutPrefix(rec, []byte(c)); ok {
			if c == "%" && len(t) > 0 && !blank(t[0]) && t[0] != '%' {
				continue // %fat is a name
			}
			return bytes.TrimLeft(t, c+" \t"), true
		}
	}
	return nil, false
}

// namesIn takes a comment right above the rows for the header, if it has as many cells as
// they have, all of them words, and the line below has a number.
func (s *sample) namesIn(above []byte, h *head) bool {
	cells := splitCopy(above, h.delimiter)
	if h.delimiter == Blanks {
		for i, c := range cells {
			cells[i] = bytes.TrimRight(c, ",;")
		}
	}
	if len(cells) != s.usual || len(s.cells) == 0 || s.usual < 2 && len(cells) > 0 &&
		bytes.IndexByte(cells[0], ' ') >= 0 {
		return false
	}
	for _, c := range cells {
		if len(c) == 0 || numeric(c) {
			return false
		}
	}
	numbers := 0
	for _, c := range s.cells[0] {
		if looks(c) == number {
			numbers++
		}
	}
	if numbers == 0 {
		return false
	}
	for _, c := range cells {
		h.names = append(h.names, string(c))
	}
	h.notes[len(h.notes)-1] = "the names of the columns stand in a comment: " + List(h.names, 6)
	h.first = s.cells[0]
	return true
}

// titles counts the lines before the header that are none: they have fewer cells, or
// hardly any that is filled.
func (s *sample) titles() int {
	for i, c := range s.cells {
		switch {
		case s.usual < 2, len(c) > s.usual && filled(c) > s.usual:
			return 0 // rows are cut short rather than lines put before them
		case !s.isTitle(i):
			return i
		}
	}
	return 0
}

func (s *sample) isTitle(i int) bool {
	c, k := s.cells[i], s.usual
	full, next := filled(c), s.headerAt(i+1)
	switch {
	case len(c) < k-1:
		return len(c) == 1 || s.headerBelow(i+1)
	case len(c) == k-1:
		return next // else a header that has no name for the names of rows
	case full <= 1:
		return next || k > 2
	}
	return next && (2*full < k || full < k && filled(s.cells[i+1]) >= k && !hasUnit(s.cells[i+1]))
}

// headerBelow says whether a header follows at record i or behind lines that are too short.
func (s *sample) headerBelow(i int) bool {
	for i < len(s.cells) && len(s.cells[i]) < s.usual-1 {
		i++
	}
	return s.headerAt(i)
}

func hasUnit(cells [][]byte) bool {
	return slices.ContainsFunc(cells, func(c []byte) bool { return unitWord(string(c)) })
}

// headerAt says whether record i has words only, and numbers follow.
func (s *sample) headerAt(i int) bool {
	if i+1 >= len(s.cells) || len(s.cells[i]) < s.usual || 5*filled(s.cells[i]) < 3*s.usual {
		return false
	}
	words := 0
	for _, c := range s.cells[i] {
		switch looks(c) {
		case number:
			if !aYear().Match(c) {
				return false
			}
		case text:
			words++
		}
	}
	if words == 0 {
		return false
	}
	for _, cells := range s.cells[i+1 : min(i+4, len(s.cells))] {
		for _, c := range cells {
			if looks(c) == number {
				return true
			}
		}
	}
	return false
}

// aYear may be the name of a column.
var aYear = pattern.Of(`^(1[89]|2[01])[0-9]{2}$`)

func filled(cells [][]byte) (n int) {
	for _, c := range cells {
		if len(c) > 0 {
			n++
		}
	}
	return n
}

// foreignHead knows the heads of GeoEAS files (a title, the number of columns, a name a
// line) and ARFF files (@attribute lines, @data), and returns their records.
func foreignHead(recs []record) (n int, names []string, kind string) {
	for i, r := range recs {
		line := strings.TrimSpace(string(r.text))
		lower := strings.ToLower(line)
		switch {
		case strings.HasPrefix(lower, "@data") && len(names) > 0:
			return i + 1, names, "ARFF"
		case strings.HasPrefix(lower, "@attribute"):
			names = append(names, arffName(strings.TrimSpace(line[len("@attribute"):])))
		case !strings.HasPrefix(line, "%") && !strings.HasPrefix(lower, "@relation"):
			return geoEAS(recs)
		}
	}
	return 0, nil, ""
}

func arffName(s string) string {
	if len(s) > 0 && (s[0] == '\'' || s[0] == '"') {
		if i := strings.IndexByte(s[1:], s[0]); i >= 0 {
			return s[1 : i+1]
		}
	}
	name, _, _ := strings.Cut(strings.ReplaceAll(s, "\t", " "), " ")
	return name
}

func geoEAS(recs []record) (n int, names []string, kind string) {
	for at := range min(2, len(recs)) { // the title may be a blank line
		count := bytes.Fields(recs[at].text)
		k, err := strconv.Atoi(string(count[0]))
		if err != nil || len(count) > 4 || k < 1 || at+1+k >= len(recs) {
			continue
		}
		row := bytes.Fields(recs[at+1+k].text)
		if len(row) != k || !allNumeric(row) {
			continue
		}
		for _, r := range recs[at+1 : at+1+k] {
			if allNumeric(bytes.Fields(r.text)) {
				return 0, nil, ""
			}
			names = append(names, strings.TrimSpace(string(r.text)))
		}
		return at + 1 + k, names, "GeoEAS"
	}
	return 0, nil, ""
}

func allNumeric(cells [][]byte) bool {
	for _, c := range cells {
		if !numeric(c) {
			return false
		}
	}
	return len(cells) > 0
}

package table

import (
	"bytes"
	"slices"
	"strings"

	"bbgp.dev/cmd/bbgp/internal/pattern"
)

// header decides whether the first record names the columns, and what the next one is.
func (s *sample) header(h *head, opt *ReadOptions) {
	h.isHeader = opt.Header == HeaderYes || opt.Header == HeaderAuto && !s.startsWithRow(h)
	if !h.isHeader {
		return
	}
	switch {
	case opt.Units == UnitsYes, opt.Units == UnitsAuto && !opt.NoHead && s.unitsRows() > 0:
		if len(s.recs) > 1 {
			h.units = 1
			if opt.Units == UnitsAuto && s.unitsRows() == 2 {
				h.units = 2
				h.note("two lines under the header are left out, the second is %s; --units no takes them for rows",
					Quote(string(s.recs[2].text)))
			}
			h.note("the line under the header is taken for units and left out: %s; --units no takes it for a row",
				Quote(string(s.recs[1].text)))
		}
	}
	k := len(h.first)
	switch {
	case k == s.usual-1 && s.rowNames(k, h.units):
		h.rowNames = true
		h.note("the header has one name less than the rows have cells: their first cell is taken for the name of " +
			"the row and left out")
	case k > s.usual && filled(h.first) <= s.usual && len(s.recs) > 1:
		for k > s.usual && len(h.first[k-1]) == 0 {
			k--
		}
		h.first = h.first[:k]
	}
}

// startsWithRow says whether the first record is a row like those below: numbers only, or
// numbers that are no names, such as decimals and dates, or a text that comes again.
func (s *sample) startsWithRow(h *head) bool {
	numbers, words, sure := 0, 0, false
	for j, c := range h.first {
		switch looks(c) {
		case number, infinite:
			numbers++
			sure = sure || bytes.IndexAny(c, ".,/:-") > 0
		case text:
			words++
			for _, row := range s.cells[1:] {
				sure = sure || j < len(row) && bytes.Equal(row[j], c) && len(c) > 0
			}
		}
	}
	switch {
	case numbers == 0:
		return false
	case words == 0:
		h.note("the first line has numbers or dates only and is taken for a row: columns are called c1, c2, …; " +
			"--header yes takes it for names")
		return true
	case sure:
		h.note("the first line has numbers like the rows below and is taken for one: columns are called c1, c2, …; " +
			"--header yes takes it for names")
		return true
	}
	return false
}

// twoLines joins two lines of names, of which the second begins at record i or behind it,
// and returns the number of records before the rows; 0 where one line tells the columns
// apart, so that the other may be left out.
func (s *sample) twoLines(i int, h *head) int {
	if i > 0 && filled(s.cells[i-1]) > 1 {
		i--
	}
	if i+2 >= len(s.cells) || len(s.cells[i]) < s.usual || len(s.cells[i+1]) < s.usual ||
		!words(s.cells[i]) || !words(s.cells[i+1]) {
		return 0
	}
	first, second := s.cells[i][:s.usual], s.cells[i+1][:s.usual]
	if !repeats(first, false) && (!repeats(first, true) || !repeats(second, true)) {
		return 0
	}
	numbers := false
	var names []string
	above := ""
	for j := range second {
		if len(first[j]) > 0 {
			above = string(first[j])
		}
		names = append(names, strings.TrimSpace(above+" "+string(second[j])))
		is, _ := s.column(s.body(i+2), j, nil)
		numbers = numbers || is
	}
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			return 0
		}
		seen[n] = true
	}
	if !numbers {
		return 0
	}
	n := i + 2
	if row := s.cells[n]; names[0] == "" && len(s.cells) > n+1 && filled(row) == 1 &&
		looks(row[0]) == text { // the name of an index
		names[0] = string(row[0])
		n++
	}
	h.names = names
	h.skip, h.lines = s.recs[n-1].to, s.recs[n-1].line+bytes.Count(s.recs[n-1].text, []byte{'\n'})
	h.note("two lines of names are joined: %s", List(names, 6))
	return n
}

// words says whether cells are words or empty, and some are words.
func words(cells [][]byte) bool {
	n := 0
	for _, c := range cells {
		switch {
		case len(c) == 0:
		case looks(c) != text && !aYear().Match(c):
			return false
		default:
			n++
		}
	}
	return n > 0
}

// repeats says whether two cells are equal; empty ones count if blanks says so.
func repeats(cells [][]byte, blanks bool) bool {
	seen := map[string]bool{}
	for _, c := range cells {
		if len(c) == 0 && !blanks {
			continue
		}
		if seen[string(c)] || len(c) == 0 {
			return true
		}
		seen[string(c)] = true
	}
	return false
}

// wholeQuoted says whether every record is one quoted cell that holds several.
func wholeQuoted(recs []record) bool {
	if len(recs) < 2 {
		return false
	}
	for _, r := range recs {
		t := bytes.TrimSpace(r.text)
		if len(t) < 3 || t[0] != '"' || t[len(t)-1] != '"' || !bytes.ContainsAny(t, ",;\t|") {
			return false
		}
		for _, d := range []byte(",;\t|") {
			if len(splitCopy(t, d)) > 1 {
				return false
			}
		}
	}
	return true
}

// body returns the cells of the records behind the header.
func (s *sample) body(from int) [][][]byte { return s.cells[min(from, len(s.cells)):] }

// rdbFormat is a cell of the line under the header of a USGS file: 15s, 10d, 14n.
var rdbFormat = pattern.Of(`^[0-9]+[sdn]$`)

// unitsRows counts the lines under the header that tell units, or units and kinds.
func (s *sample) unitsRows() int {
	switch {
	case len(s.cells) > 3 && s.unitsRow(1, s.body(3)) && s.unitsRow(2, s.body(3)):
		return 2
	case s.unitsRow(1, s.body(2)):
		return 1
	}
	return 0
}

// unitsRow says whether line i tells units of the rows: words in columns that have
// numbers, and no number.
func (s *sample) unitsRow(i int, rows [][][]byte) bool {
	if len(rows) == 0 || len(s.cells[i]) < s.usual-1 {
		return false
	}
	if k := filled(s.cells[i]); k == 0 || k > s.usual {
		return false
	}
	if !slices.ContainsFunc(s.cells[i], func(c []byte) bool { return !rdbFormat().Match(c) }) {
		return true
	}
	units, sure := 0, false
	for j, u := range s.cells[i] {
		column, again := s.column(rows, j, u)
		switch k := looks(u); {
		case k == number || k == infinite:
			return false
		case len(u) == 0 || unitWord(string(u)) && column:
			if len(u) > 0 {
				units, sure = units+1, sure || k != missing
			}
		case column && k == text:
			if !unitLike(u) {
				return false
			}
			units++
		case again && len(u) > 0:
			return false
		}
	}
	return units >= 2 || units == 1 && sure
}

// column says whether the cells j of rows are numbers, and whether one of them is cell.
func (s *sample) column(rows [][][]byte, j int, cell []byte) (numbers, again bool) {
	n, words := 0, 0
	for _, row := range rows[:min(len(rows), 50)] {
		if j >= len(row) {
			continue
		}
		switch looks(row[j]) {
		case number:
			n++
		case text:
			words++
		}
		again = again || bytes.Equal(row[j], cell)
	}
	return n > 0 && 4*words <= n, again
}

// rowNames says whether the cells before the k named ones are names of the rows: all
// different, and words or whole numbers.
func (s *sample) rowNames(k, units int) bool {
	seen := map[string]bool{}
	last := false
	for _, row := range s.body(1 + units) {
		if len(row) != k+1 {
			continue
		}
		c := string(row[0])
		half := len(c) > 0 && strings.IndexByte("'([{", c[0]) >= 0 &&
			strings.IndexByte("')]}", c[len(c)-1]) < 0 // of a cell that was cut
		if seen[c] || half || looks(row[0]) == number && strings.ContainsAny(c, ".,/:") {
			return false
		}
		seen[c] = true
		last = last || len(row[k]) > 0
	}
	return last && len(seen) > 0
}

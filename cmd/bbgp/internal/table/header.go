package table

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// header decides whether the first record names the columns, and what the next one is.
func (s *sample) header(h *head, opt *ReadOptions) {
	h.isHeader = opt.Header == HeaderYes || opt.Header == HeaderAuto && !s.startsWithRow(h)
	if !h.isHeader {
		return
	}
	switch {
	case opt.Units == UnitsYes, opt.Units == UnitsAuto && !opt.NoHead && s.unitsRow():
		if len(s.recs) > 1 {
			h.units = true
			h.note("the line under the header is taken for units and left out: %s; --units no takes it for a row", Quote(string(s.recs[1].text)))
		}
	}
	k := len(h.first)
	switch {
	case k == s.usual-1 && s.rowNames(k, h.units):
		h.rowNames = true
		h.note("the header has one name less than the rows have cells: their first cell is taken for the name of the row and left out")
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
		h.note("the first line has numbers or dates only and is taken for a row: columns are called c1, c2, …; --header yes takes it for names")
		return true
	case sure:
		h.note("the first line has numbers like the rows below and is taken for one: columns are called c1, c2, …; --header yes takes it for names")
		return true
	}
	return false
}

// body returns the cells of the records behind the header.
func (s *sample) body(from int) [][][]byte { return s.cells[min(from, len(s.cells)):] }

// rdbFormat is a cell of the line under the header of a USGS file: 15s, 10d, 14n.
var rdbFormat = regexp.MustCompile(`^[0-9]+[sdn]$`)

// unitsRow says whether the line under the header tells units: words in columns that have
// numbers below it, and no number.
func (s *sample) unitsRow() bool {
	rows := s.body(2)
	if len(rows) == 0 || len(s.cells[1]) < s.usual-1 || filled(s.cells[1]) == 0 {
		return false
	}
	if !slices.ContainsFunc(s.cells[1], func(c []byte) bool { return !rdbFormat.Match(c) }) {
		return true
	}
	units, sure := 0, false
	for j, u := range s.cells[1] {
		column, again := s.column(rows, j, u)
		switch k := looks(u); {
		case k == number || k == infinite:
			return false
		case len(u) == 0 || unitWord(string(u)) && column:
			if len(u) > 0 {
				units, sure = units+1, true
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
func (s *sample) rowNames(k int, units bool) bool {
	seen := map[string]bool{}
	from := 1
	if units {
		from = 2
	}
	last := false
	for _, row := range s.body(from) {
		if len(row) != k+1 {
			continue
		}
		c := string(row[0])
		if seen[c] || looks(row[0]) == number && strings.ContainsAny(c, ".,/:") {
			return false
		}
		seen[c] = true
		last = last || len(row[k]) > 0
	}
	return last && len(seen) > 0
}

package table

import (
	"bytes"
	"slices"
	"strings"

	"bbgp.dev/cmd/bbgp/internal/pattern"
)

// Blanks is the delimiter that stands for runs of blanks and tabs.
const Blanks = ' '

// delimiters are tried in this order: a comma may stand inside numbers.
var delimiters = []byte{'\t', ';', '|', ',', Blanks, '^', '~', 1, 31}

// A sample is the beginning of a table as records, without blank lines.
type sample struct {
	recs  []record
	cells [][][]byte // of each record, by the delimiter
	usual int        // number of cells that most records have
	cut   []record   // the records that have been cut, by
	mark  byte       // this
	place layout     // columns by position, nil for a delimiter
}

// A record is a line, or several where a quote spans them.
type record struct {
	text     []byte
	from, to int // bytes of the sample, with the line end
	line     int // from 1
}

const (
	mostSampled = 400 // records of a sample
	mostSpanned = 50  // lines of a record of a sample; more are a stray quote
)

// records cuts a sample; a last record without an end counts only if whole says that the
// sample is all there is, or if it is the only one.
func records(text []byte, whole bool) []record {
	var recs []record
	line := 1
	for from := 0; from < len(text) && len(recs) < mostSampled; {
		to, lines, ended := recordEnd(text, from)
		rec := bytes.TrimRight(text[from:to], "\r\n")
		if len(bytes.TrimSpace(rec)) > 0 && (ended || whole || len(recs) == 0) {
			recs = append(recs, record{text: rec, from: from, to: to, line: line})
		}
		from, line = to, line+lines
	}
	return recs
}

// recordEnd returns the end of the record at from and its lines: those until its quotes
// are closed, or one where that never happens.
func recordEnd(text []byte, from int) (to, lines int, ended bool) {
	quotes, first := 0, 0
	for i := from; i < len(text) && lines < mostSpanned; i++ {
		switch text[i] {
		case '"':
			quotes++
		case '\n':
			if lines++; lines == 1 {
				first = i + 1
			}
			if quotes%2 == 0 {
				return i + 1, lines, true
			}
		}
	}
	if first > 0 {
		return first, 1, true
	}
	return len(text), 1, false
}

// splitCopy cuts a record and leaves it as it is.
func splitCopy(rec []byte, delimiter byte) [][]byte {
	cells := make([][]byte, 0, min(bytes.Count(rec, []byte{delimiter}), 1000)+1)
	return splitAny(cells, bytes.Clone(rec), delimiter, bytes.IndexByte(rec, '"') >= 0)
}

// by cuts all records.
func (s *sample) by(delimiter byte) {
	if s.place == nil && delimiter == s.mark && len(s.cut) > 0 && len(s.cut) == len(s.recs) && &s.cut[0] == &s.recs[0] {
		return
	}
	s.cut, s.mark = s.recs, delimiter
	s.cells = make([][][]byte, len(s.recs))
	count, first := map[int]int{}, map[int]int{}
	for i, r := range s.recs {
		if s.place != nil {
			s.cells[i], _ = s.place.cut(nil, r.text)
		} else {
			s.cells[i] = splitCopy(r.text, delimiter)
		}
		n := len(s.cells[i])
		for n > 1 && len(s.cells[i][n-1]) == 0 && count[n] == 0 && count[n-1] > 0 {
			n-- // a trailing delimiter
		}
		if count[n]++; count[n] == 1 {
			first[n] = i
		}
	}
	s.usual = 0
	for n, c := range count {
		more := c - count[s.usual]
		if more > 0 || more == 0 && n > 1 && (s.usual == 1 || first[n] < first[s.usual]) {
			s.usual = n
		}
	}
}

// score says how well a delimiter cuts the records: into the same number of cells, and
// into numbers.
func (s *sample) score(delimiter byte) float64 {
	if s.place == nil && !s.has(delimiter) {
		return 0
	}
	s.by(delimiter)
	if s.usual < 2 {
		return 0
	}
	start := 0 // titles do not count
	for len(s.cells[start]) < s.usual-1 || len(s.cells[start]) == 1 && s.usual > 2 {
		start++
	}
	same, cells, numbers := 0, 0, 0
	for i, c := range s.cells[start:] {
		if i == 0 && len(c) == s.usual-1 {
			same++ // a header without a name for the names of rows
		}
		if len(c) != s.usual {
			continue
		}
		same++
		if i == 0 && len(s.recs) > start+1 {
			continue // it may be a header
		}
		for _, cell := range c {
			cells++
			if numeric(cell) {
				numbers++
			}
		}
	}
	share, quality := float64(same)/float64(len(s.recs)-start), float64(numbers)/float64(max(cells, 1))
	if delimiter == Blanks && s.place == nil && (quality < 0.5 || share < 0.6) {
		return 0 // words of a text
	}
	return 2*share + quality - 0.01*float64(start)
}

// has says whether any record has the delimiter in it.
func (s *sample) has(delimiter byte) bool {
	return slices.ContainsFunc(s.recs, func(r record) bool {
		return bytes.IndexByte(r.text, delimiter) >= 0 || delimiter == Blanks && bytes.IndexByte(r.text, '\t') >= 0
	})
}

// numeric says whether a cell is a number in some way of writing, a date or missing.
func numeric(cell []byte) bool {
	k := looks(cell)
	return k == number || k == missing
}

// looks tells what a cell may be, whatever the decimal mark; a date of three parts is a
// number. Times, months and quarters are words, for columns are called so.
func looks(cell []byte) kind {
	if _, k := parse(cell, '.'); k != text {
		return k
	}
	for _, d := range []byte{',', '.'} {
		if _, ok := styled(cell, d, nil); ok {
			return number
		}
	}
	for _, o := range []Order{YMD, DMY, MDY} {
		if len(cell) < 6 || len(cell) > 40 {
			break
		}
		if _, ok := o.written(cell); ok {
			return number
		}
	}
	return text
}

// detectDelimiter chooses the delimiter that cuts the records best, else a comma. Columns by
// position are the place of the sample; the first ones of its records are then titles.
func (s *sample) detectDelimiter() (delimiter byte, titles int) {
	best, most := byte(','), 0.0
	for _, d := range delimiters {
		if v := s.score(d); v > most {
			best, most = d, v
		}
	}
	l, start := s.positions()
	if l == nil {
		return best, 0
	}
	rest := &sample{recs: s.recs[start:], place: l}
	if v := rest.score(Blanks) - 0.01*float64(start); v <= most {
		return best, 0
	}
	s.place = l
	return Blanks, start
}

// detectDecimal tells a decimal comma: some cell is a number only with a comma, and none
// is one only with a point.
func (s *sample) detectDecimal() byte {
	mark := byte('.')
	for _, cells := range s.cells {
		for _, c := range cells {
			switch strongMark(c) {
			case '.':
				return '.'
			case ',':
				mark = ','
			}
		}
	}
	return mark
}

// strongMark returns the decimal mark of a number that can have no other one.
func strongMark(cell []byte) byte {
	if mark := onlyMark(cell); mark != unsure {
		return mark
	}
	return bothWays(cell)
}

// bothWays reads a number with either mark.
func bothWays(cell []byte) byte {
	_, point := styled(cell, '.', nil)
	_, comma := styled(cell, ',', nil)
	switch {
	case point && !comma:
		return '.'
	case comma && !point:
		return ','
	}
	return 0
}

const unsure = 1 // onlyMark cannot say

// onlyMark is strongMark of what most cells are: digits, at most one mark and digits that are no group of
// three behind it, perhaps with a minus and an exponent.
func onlyMark(cell []byte) byte {
	at := bytes.IndexAny(cell, ".,")
	if at < 0 {
		return 0
	}
	b, ok := bytes.CutPrefix(cell, []byte("-"))
	n := digitRun(b)
	if ok {
		at--
	}
	if n != at || n == 0 || n > 15 {
		return unsure
	}
	mark := b[n]
	b = b[n+1:]
	n = digitRun(b)
	if n == 0 || n == 3 || n > 20 {
		return unsure
	}
	if b = b[n:]; len(b) > 0 {
		if len(b) != 4 || b[0] != 'e' || b[1] != '-' && b[1] != '+' || digitRun(b[2:]) != 2 {
			return unsure
		}
	}
	return mark
}

// unitWords are units that are told even where only one stands under a header.
var unitWords = strings.Fields(
	`mm cm m km in ft mi um µm nm mg g kg t lb ml l L m2 m3 m² m³ s sec min h d ms Hz kHz MHz GHz K C F °C °F degC deg °
	Pa hPa kPa MPa bar mbar psi N kN J kJ MJ W kW MW kWh V mV A mA Ohm mol mmol mg/l mg/L µg/l ug/l g/l mg/kg
	ppm ppb m/s km/h kg/m3 kg/m³ % pct
	usd eur $ € £ USD EUR count - 1 float int string double`)

// aType is the kind of a column as R prints it.
var aType = pattern.Of(`^<[a-z]{3,4}>$`)

func unitWord(cell string) bool {
	if aType().MatchString(cell) {
		return true
	}
	if n := len(cell); n > 2 && strings.IndexByte("[(", cell[0]) >= 0 && strings.IndexByte("])", cell[n-1]) >= 0 {
		return true
	}
	for _, w := range unitWords {
		if cell == w {
			return true
		}
	}
	return false
}

// unitLike says whether a cell may be a unit at all.
func unitLike(cell []byte) bool {
	return len(cell) > 0 && len([]rune(string(cell))) <= 16 && bytes.IndexByte([]byte("<>0123456789"), cell[0]) < 0
}

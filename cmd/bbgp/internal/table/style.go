package table

import (
	"bytes"
	"maps"
	"slices"
	"unicode/utf8"

	"bbgp.dev/cmd/bbgp/internal/pattern"
)

// Numbers as people write them: 1,234.5, 2.277,9, 1 234,5, 1'234.5, 12,5 %, $1,234,
// (1,234), 1.5D+03, −4. What the mark of the decimals is, a column decides as a whole
// (ways.go); here it is given.

// A look is what numbers of a column have beside digits.
type look struct {
	group    string          // a mark of thousands
	groups   int             // cells with one
	percent  int             // cells with a per cent sign
	currency map[string]bool // signs of currency
	parens   bool            // (1,234) for a negative number
	fortran  bool            // 1.5D+03
	minus    bool            // a minus that is no hyphen
	behind   bool            // a minus behind the number
	script   bool            // digits of another script
	powers   bool            // 1.5 × 10^3
	forced   bool            // ="1.5" or '1.5
	units    map[string]int  // words behind numbers
}

// blanksIn are the blanks that stand in and about numbers, the marks of thousands.
var blanksIn = []string{" ", "\u00a0", "\u202f", "\u2009"}

// groupMarks divide thousands, beside the one of comma and point that is not the decimal mark.
var groupMarks = append([]string{"'", "’"}, blanksIn...)

var minuses = []string{"-", "\u2212", "\u2013"}

// styled reads a number with the given mark of decimals, and notes its look.
func styled(cell []byte, decimal byte, l *look) (float64, bool) {
	if len(cell) == 0 || len(cell) > 60 || !hasDigit(cell) {
		return 0, false
	}
	var seen look
	var plain [64]byte
	out := plain[:0]
	b, neg, currency, unit := cell, cell[0] == '-', "", ""
	if neg {
		b = b[1:]
	}
	if !marksOnly(b) {
		ascii, ok := unusual(cell, decimal, &seen)
		if !ok {
			return 0, false
		}
		if b, neg, currency, unit = strip(ascii, &seen); len(b) > 60 {
			return 0, false
		}
	}
	if neg {
		out = append(out, '-')
	}
	b, out, ok := digits(b, out, decimal, &seen)
	if !ok || !fraction(b, &out, decimal, &seen) {
		return 0, false
	}
	v, k := parse(out, '.')
	if k != number {
		return 0, false
	}
	if l != nil {
		l.add(&seen, currency, unit)
	}
	return v, true
}

// hasDigit says whether a cell has a digit, or a letter that may be one of another script.
func hasDigit(cell []byte) bool {
	for _, c := range cell {
		if c >= '0' && c <= '9' || c >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// marksOnly says whether b has digits, points and commas only, and at most an exponent behind them.
func marksOnly(b []byte) bool {
	for i, c := range b {
		switch {
		case c == 'e' || c == 'E':
			b = b[i+1:]
			if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
				b = b[1:]
			}
			return allDigits(b)
		case (c < '0' || c > '9') && c != '.' && c != ',':
			return false
		}
	}
	return true
}

// strip cuts signs of currency, per cent, a minus and a unit off a number.
func strip(cell []byte, seen *look) (b []byte, neg bool, currency, unit string) {
	b = cell
	signed := false
	if b[0] == '(' && b[len(b)-1] == ')' {
		b, neg, signed, seen.parens = b[1:len(b)-1], true, true, true
	}
	if c, ok := bytes.CutSuffix(b, []byte("%")); ok {
		b, seen.percent = c, 1
	}
	b = trimBlanks(b)
	if b, currency = cutCurrency(b, true); currency == "" {
		b, currency = cutCurrency(b, false)
	}
	for _, s := range minuses {
		if c, ok := bytes.CutPrefix(b, []byte(s)); ok && !signed {
			b, neg, signed, seen.minus = trimBlanks(c), true, true, s != "-"
		}
	}
	if c, ok := bytes.CutPrefix(b, []byte("+")); ok && !signed {
		b, signed = c, true
	}
	if currency == "" { // −$5
		b, currency = cutCurrency(b, true)
	}
	if n := len(b); n > 1 && b[n-1] == '-' && !signed && b[n-2] >= '0' && b[n-2] <= '9' {
		b, neg, seen.behind = b[:n-1], true, true
	}
	b, unit = cutUnit(b)
	return b, neg, currency, unit
}

// digits takes the digits before the decimals: in groups of three, in those of India
// (12,34,567), or in none.
func digits(b, out []byte, decimal byte, seen *look) (rest, plain []byte, ok bool) {
	n := digitRun(b)
	out = append(out, b[:n]...)
	if n == 0 || n > 3 || b[0] == '0' {
		return b[n:], out, n > 0 || len(b) > 0 && b[0] == decimal
	}
	b = b[n:]
	mark := groupMark(b, decimal)
	twos, groups := 0, 0
	for ; mark != "" && bytes.HasPrefix(b, []byte(mark)); groups++ {
		g := b[len(mark):]
		switch k := digitRun(g); {
		case k == 2 && mark == "," && n <= 2 && twos == groups:
			twos++
			out, b = append(out, g[:2]...), g[2:]
		case k == 3:
			out, b = append(out, g[:3]...), g[3:]
		default:
			return nil, nil, false
		}
		seen.group, seen.groups = mark, 1
	}
	return b, out, twos == 0 || twos == groups-1
}

// digitRun counts the digits that b begins with.
func digitRun(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}

// groupMark returns the mark of thousands that b begins with: the other one of comma and
// point, a blank or an apostrophe.
func groupMark(b []byte, decimal byte) string {
	other := ","
	if decimal == ',' {
		other = "."
	}
	switch {
	case len(b) == 0:
		return ""
	case b[0] == other[0]:
		return other
	}
	for _, s := range groupMarks {
		if bytes.HasPrefix(b, []byte(s)) {
			return s
		}
	}
	return ""
}

// fraction takes the decimals and the exponent.
func fraction(b []byte, out *[]byte, decimal byte, seen *look) bool {
	if len(b) > 0 && b[0] == decimal {
		n := 1
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			n++
		}
		*out = append(append(*out, '.'), b[1:n]...)
		b = b[n:]
	}
	if len(b) > 0 && bytes.IndexByte([]byte("eEdD"), b[0]) >= 0 {
		if _, ok := exponent(b[1:]); !ok {
			return false
		}
		seen.fortran = b[0] == 'd' || b[0] == 'D'
		*out = append(append(*out, 'e'), b[1:]...)
		return true
	}
	return len(b) == 0
}

func allDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

func trimBlanks(b []byte) []byte {
	for {
		n := len(b)
		for _, s := range blanksIn {
			b = bytes.TrimPrefix(bytes.TrimSuffix(b, []byte(s)), []byte(s))
		}
		if len(b) == n {
			return b
		}
	}
}

// aUnit is a unit behind a number: after a blank, in brackets, or a known one of two
// letters or more.
var aUnit = pattern.Of(`^(.*[0-9])([ \x{00a0}]?)([(\[]?[\p{L}°%‰][\p{L}°²³0-9/^.*·-]{0,9}[)\]]?)$`)

// cutUnit cuts the unit of a cell such as 12 mm or 20°C.
func cutUnit(b []byte) (number []byte, unit string) {
	if len(b) == 0 || b[len(b)-1] >= '0' && b[len(b)-1] <= '9' {
		return b, ""
	}
	m := aUnit().FindSubmatch(b)
	if m == nil || len(m[2]) == 0 && (len(m[3]) < 2 || !unitWord(string(m[3]))) {
		return b, ""
	}
	return m[1], string(m[3])
}

func (l *look) add(o *look, currency, unit string) {
	if unit != "" {
		if l.units == nil {
			l.units = map[string]int{}
		}
		l.units[unit]++
	}
	if o.group != "" {
		l.group, l.groups = o.group, l.groups+1
	}
	l.percent += o.percent
	l.parens, l.fortran, l.minus, l.behind = l.parens || o.parens, l.fortran || o.fortran, l.minus || o.minus,
		l.behind || o.behind
	l.script, l.powers, l.forced = l.script || o.script, l.powers || o.powers, l.forced || o.forced
	if currency != "" {
		if l.currency == nil {
			l.currency = map[string]bool{}
		}
		l.currency[currency] = true
	}
}

// words says what the numbers of a column look like.
func (l *look) words(decimal byte) []string {
	var w []string
	if decimal == ',' {
		w = append(w, "a decimal comma")
	}
	if l.group != "" {
		r, _ := utf8.DecodeRuneInString(l.group)
		name := map[rune]string{',': "commas", '.': "points", '\'': "apostrophes", '’': "apostrophes"}[r]
		if name == "" {
			name = "blanks"
		}
		w = append(w, "thousands between "+name)
	}
	if l.percent > 0 {
		w = append(w, "per cent (12 % is 12)")
	}
	for _, c := range append(slices.Sorted(maps.Keys(l.currency)), slices.Sorted(maps.Keys(l.units))...) {
		w = append(w, c+" left off")
	}
	if l.parens {
		w = append(w, "parentheses for a minus")
	}
	if l.fortran {
		w = append(w, "exponents after a D")
	}
	for _, m := range []struct {
		is   bool
		text string
	}{{l.behind, "the minus behind them"}, {l.script, "digits of another script"}, {l.powers, "powers of ten in full"},
		{l.forced, "marks that make them text in a spreadsheet"}} {
		if m.is {
			w = append(w, m.text)
		}
	}
	return w
}

// oddUnits says whether some of the cells have a unit, and not all the same.
func (l *look) oddUnits(cells int) bool {
	for _, n := range l.units {
		return n < cells
	}
	return false
}

package table

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unsafe"
)

// A kind is what a cell holds.
type kind uint8

const (
	number kind = iota
	missing
	infinite // written as such, or too large for a float64
	text
)

// MissingSpellings are the words for a missing value, in lower case; cells are
// compared without regard to case. An empty cell is missing too.
var MissingSpellings = []string{"na", "n/a", "#n/a", "nan", "null", ".", "?", "-nan", "none", "-", "--", "---", "n.a.",
	"n.a", "<na>", "nat", "(null)",
	"k.a.", "k. a.", "n/v", "#nv", "#n/v", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!", "#wert!",
	"#bezug!", "#zahl!",
	"..", ":", "*", "**", "***", "****", "*****", "1.#qnan", "1.#ind", "-1.#ind", "\u2013", "\u2014"}

var isMissing = func() map[string]bool {
	m := map[string]bool{}
	for _, s := range MissingSpellings {
		m[s] = true
	}
	return m
}()

const longestSpecial = 12

var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// parse reads a cell, correctly rounded. The common case needs no strconv: a
// decimal whose digits fit in 53 bits, times or over a power of ten that is
// exact, is rounded once, which is the right rounding (Clinger 1990).
func parse(cell []byte, decimal byte) (float64, kind) {
	i, n := 0, len(cell)
	neg := false
	if n > 0 && (cell[0] == '-' || cell[0] == '+') {
		neg = cell[0] == '-'
		i++
	}
	var mant uint64
	digits, exp := 0, 0
	for ; i < n; i++ {
		c := cell[i] - '0'
		if c > 9 {
			break
		}
		mant = mant*10 + uint64(c)
		digits++
	}
	if i < n && cell[i] == decimal {
		point := i
		for i++; i < n; i++ {
			c := cell[i] - '0'
			if c > 9 {
				break
			}
			mant = mant*10 + uint64(c)
		}
		exp = point + 1 - i
		digits += -exp
	}
	if digits == 0 {
		return special(cell)
	}
	if i < n && (cell[i] == 'e' || cell[i] == 'E') {
		e, ok := exponent(cell[i+1:])
		if !ok {
			return 0, text
		}
		exp, i = exp+e, n
	}
	if i != n {
		return special(cell)
	}
	// 19 digits cannot overflow mant; leading zeros count, which is rare enough.
	if digits > 19 || mant >= 1<<53 || exp < -22 || exp > 22 {
		return slow(cell, decimal)
	}
	v := float64(mant)
	if exp < 0 {
		v /= pow10[-exp]
	} else {
		v *= pow10[exp]
	}
	if neg {
		v = -v
	}
	return v, number
}

// exponent reads the digits after an e, cut at ±9999.
func exponent(b []byte) (int, bool) {
	sign := 1
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		if b[0] == '-' {
			sign = -1
		}
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	e := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		e = min(e*10+int(c-'0'), 9999)
	}
	return sign * e, true
}

// slow parses a cell that is known to be a decimal number.
func slow(cell []byte, decimal byte) (float64, kind) {
	if decimal != '.' {
		cell = bytes.Replace(cell, []byte{decimal}, []byte{'.'}, 1)
	}
	v, err := strconv.ParseFloat(unsafe.String(&cell[0], len(cell)), 64)
	if math.IsInf(v, 0) {
		return v, infinite
	}
	if err != nil {
		return 0, text
	}
	return v, number
}

// special tells missing values and infinities from text.
func special(cell []byte) (float64, kind) {
	if len(cell) == 0 {
		return math.NaN(), missing
	}
	if len(cell) > longestSpecial {
		return 0, text
	}
	word := strings.ToLower(string(cell))
	if isMissing[word] {
		return math.NaN(), missing
	}
	switch strings.TrimLeft(word, "+-") {
	case "inf", "infinity", "∞":
		return math.Inf(1), infinite
	}
	return 0, text
}

// leading reads the plain decimal number that b begins with, such as -12.5,
// and returns its length; 0 where that needs the care of parse. At most 15
// digits are below 2^53, and their power of ten is exact. The number of its
// decimals is -1 where it has no mark of them.
func leading(b []byte, decimal byte) (v float64, n, decimals int) {
	i := 0
	if len(b) > 0 && b[0] == '-' {
		i = 1
	}
	first, point := i, -1
	var mant uint64
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c > 9 {
			if b[i] != decimal || point >= 0 {
				break
			}
			point = i
			continue
		}
		mant = mant*10 + uint64(c)
	}
	digits := i - first
	decimals = -1
	if point >= 0 {
		digits--
		decimals = i - point - 1
	}
	if digits == 0 || digits > 15 {
		return 0, 0, -1
	}
	v = float64(mant)
	if point >= 0 {
		v /= pow10[decimals]
	}
	if first == 1 {
		v = -v
	}
	return v, i, decimals
}

// grouped says whether the digits of a number with a decimal mark may be groups of
// thousands: 1.234, but not 0.234 or 1.5.
func grouped(cell []byte, decimal byte) (marked, groups bool) {
	i := bytes.IndexByte(cell, decimal)
	if i < 0 {
		return false, false
	}
	if n := digitRun(cell[i+1:]); n < 2 || n > 3 { // two stand in Indian groups
		return true, false
	}
	other := byte(',')
	if decimal == ',' {
		other = '.'
	}
	_, groups = styled(cell, other, nil)
	return true, groups
}

package table

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"bbgp.dev/cmd/bbgp/internal/pattern"
)

// Numbers in other letters than those of a keyboard: digits of other scripts and full
// width, powers of ten in full, cells that a spreadsheet forces to be text.

// unusual rewrites such a number in plain letters; ok is false where the cell is none.
func unusual(cell []byte, decimal byte, seen *look) (plain []byte, ok bool) {
	b := cell
	if in, found := bytes.CutPrefix(b, []byte(`="`)); found && bytes.HasSuffix(in, []byte(`"`)) {
		b, seen.forced = in[:len(in)-1], true
	} else if len(b) > 1 && b[0] == '\'' && b[len(b)-1] != '\'' {
		b, seen.forced = b[1:], true
	}
	if bytes.IndexFunc(b, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		b = bytes.Map(func(r rune) rune { return seen.latin(r, decimal) }, b)
	}
	if m := aPower().FindSubmatch(b); m != nil {
		b, seen.powers = append(append(bytes.Clone(m[1]), 'e'), bytes.Map(lowered, m[2])...), true
	}
	return b, len(b) > 0
}

// latin returns the letter of a keyboard for one of another script, -1 for one that does
// not show.
func (l *look) latin(r rune, decimal byte) rune {
	switch r {
	case '\u200b', '\ufeff', '\u200e', '\u200f', '\u2060':
		return -1
	case '\u066b':
		return rune(decimal)
	case '\u066c':
		return rune(otherMark(decimal))
	case '\u3000':
		return ' '
	}
	if r > '\uff00' && r < '\uff5f' {
		l.script = true
		return r - 0xfee0
	}
	if r >= utf8.RuneSelf && unicode.Is(unicode.Nd, r) {
		l.script = true
		zero := r // digits stand in runs of ten
		for unicode.Is(unicode.Nd, zero-1) && r-zero < 9 {
			zero--
		}
		return '0' + (r-zero)%10
	}
	return r
}

// aPower is a power of ten in full: 1.5 × 10^3, 2·10⁻⁴.
var aPower = pattern.Of(`^(.*[0-9]) ?[x*×·⋅] ?10 ?\^? ?\{?([-+−⁻⁺]?[0-9⁰¹²³⁴-⁹]{1,3})\}?$`)

func lowered(r rune) rune {
	switch i := strings.IndexRune("⁰¹²³⁴⁵⁶⁷⁸⁹", r); {
	case r == '¹':
		return '1'
	case r == '²':
		return '2'
	case r == '³':
		return '3'
	case r == '⁰' || r >= '⁴' && r <= '⁹':
		return '0' + (r - '⁰')
	case i < 0 && (r == '⁻' || r == '−'):
		return '-'
	case r == '⁺':
		return '+'
	}
	return r
}

// coins are words before an amount; signs of currency are found as such.
var coins = []string{"EUR", "USD", "GBP", "CHF", "JPY", "SEK", "NOK", "DKK", "PLN", "CZK", "BRL", "INR", "CNY", "RUB",
	"AUD", "CAD", "Rs.", "Rs", "Fr."}

// cutCurrency cuts a currency off the front or the end of an amount: a sign with at most
// three letters before it, or one of coins.
func cutCurrency(b []byte, front bool) (rest []byte, currency string) {
	for _, s := range coins {
		c, ok := bytes.CutSuffix(b, []byte(s))
		if front {
			c, ok = bytes.CutPrefix(b, []byte(s))
		}
		if ok {
			return trimBlanks(c), s
		}
	}
	letters := 0
	if front {
		for letters < min(3, len(b)) && (b[letters]|0x20 >= 'a' && b[letters]|0x20 <= 'z') {
			letters++
		}
		if r, n := utf8.DecodeRune(b[letters:]); unicode.Is(unicode.Sc, r) {
			return trimBlanks(b[letters+n:]), string(b[:letters+n])
		}
		return b, ""
	}
	if r, n := utf8.DecodeLastRune(b); unicode.Is(unicode.Sc, r) {
		return trimBlanks(b[:len(b)-n]), string(r)
	}
	return b, ""
}

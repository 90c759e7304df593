package table

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"bbgp.dev/cmd/bbgp/internal/pattern"
)

// Dates in other forms than three parts: weeks, quarters, days of the year, months; with
// a weekday before them.

var (
	aWeek    = pattern.Of(`^([0-9]{4})-?W([0-9]{2})(?:-?([1-7]))?$`)
	aQuarter = pattern.Of(`^([0-9]{4})[-/ ]?Q([1-4])$`)
	quarterY = pattern.Of(`^Q([1-4])[-/ ]?([0-9]{4})$`)
	aYearDay = pattern.Of(`^([0-9]{4})-([0-9]{3})$`)
	inChina  = pattern.Of(`^([0-9]{4})年([0-9]{1,2})月(?:([0-9]{1,2})日)?$`)
	compact  = pattern.Of(
		`^([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2}(?:\.[0-9]+)?)?(Z|[+-][0-9:]{2,5})?$`)
	ofSAS    = pattern.Of(`^([0-9]{1,2})([A-Za-z]{3})([0-9]{4})(.*)$`)
	unixDate = pattern.Of(`^([A-Za-z]{3} +[0-9]{1,2}) ([0-9:]+ .+) ([0-9]{4})$`)
	aWeekday = pattern.Of(`^(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? `)
)

// formed reads a date that is beyond doubt and has not three parts.
func formed(cell []byte) (days float64, ok bool) {
	at := func(m [][]byte, i int) int {
		n, err := strconv.Atoi(string(m[i]))
		if err != nil {
			return 1 // the first day of what is named
		}
		return n
	}
	if m := aWeek().FindSubmatch(cell); m != nil {
		y, w := at(m, 1), at(m, 2)
		first := dayOf(y, 1, 4) // week 1 has the 4th of January
		first -= float64((int(time.Date(y, 1, 4, 0, 0, 0, 0, time.UTC).Weekday()) + 6) % 7)
		return first + float64(7*(w-1)+at(m, 3)-1), w >= 1 && w <= 53
	}
	if m := aQuarter().FindSubmatch(cell); m != nil {
		return dayOf(at(m, 1), 3*at(m, 2)-2, 1), true
	}
	if m := quarterY().FindSubmatch(cell); m != nil {
		return dayOf(at(m, 2), 3*at(m, 1)-2, 1), true
	}
	if m := aYearDay().FindSubmatch(cell); m != nil {
		n := at(m, 2)
		return dayOf(at(m, 1), 1, n), n >= 1 && n <= 366
	}
	if m := inChina().FindSubmatch(cell); m != nil {
		y, mon, d := at(m, 1), at(m, 2), at(m, 3)
		return dayOf(y, mon, d), isDay(y, mon, d)
	}
	if m := compact().FindSubmatch(cell); m != nil {
		y, mon, d := at(m, 1), at(m, 2), at(m, 3)
		sec := string(m[6])
		if sec == "" {
			sec = "00"
		}
		t, good := clock([]byte(string(m[4]) + ":" + string(m[5]) + ":" + sec + string(m[7])))
		return dayOf(y, mon, d) + t, good && isDay(y, mon, d)
	}
	if m := ofSAS().FindSubmatch(cell); m != nil {
		return DMY.written(bytes.Join([][]byte{m[1], []byte("-"), m[2], []byte("-"), m[3], m[4]}, nil))
	}
	if m := unixDate().FindSubmatch(cell); m != nil {
		month, day, _ := bytes.Cut(m[1], []byte(" "))
		return MDY.written(bytes.Join([][]byte{month, bytes.TrimSpace(day), m[3], m[2]}, []byte(" ")))
	}
	return monthYear(cell)
}

// monthYear reads March 2024, Mar-2024, Dez. 2024: the first day of the month.
func monthYear(cell []byte) (float64, bool) {
	p, rest, ok := part(cell)
	rest = bytes.TrimLeft(rest, "-/., ")
	if !ok || !p.name || len(rest) != 4 || !allDigits(rest) {
		return 0, false
	}
	y, _, _ := part(rest)
	return dayOf(y.value, p.value, 1), true
}

// months are the names of months and their short forms, by language.
var months = func() map[string]int {
	m := map[string]int{"sept": 9}
	for _, names := range []string{
		"january february march april may june july august september october november december",
		"januar februar märz april mai juni juli august september oktober november dezember",
		"jänner feber maerz april mai juni juli august september oktober november dezember",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"janv fevrier mrz avr mai juin juil aout sept octobre novembre decembre",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
		"janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
		"januari februari maart april mei juni juli augustus september oktober november december",
		"jan feb mar apr may jun jul aug sep oct nov dec",
		"jan févr mär apr mai jun jul aug sep okt nov dez",
		"ene feb mar abr may jun jul ago sep oct nov dic",
		"gen feb mar apr mag giu lug ago set ott nov déc"} {
		for i, n := range strings.Fields(names) {
			m[n] = i + 1
		}
	}
	return m
}()

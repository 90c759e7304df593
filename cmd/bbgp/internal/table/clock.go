package table

import (
	"bytes"
	"strconv"
	"strings"

	"bbgp.dev/cmd/bbgp/internal/pattern"
)

// Clock is the order of times of day and durations, which are read as hours.
const Clock Order = "time"

var (
	aClock = pattern.Of(
		`^(?:([0-9]+) ?d(?:ays?)?,? ?)?([0-9]{1,5}):([0-5][0-9])` +
			`(?::([0-5][0-9](?:[.,][0-9]+)?)|[.,]([0-9]+))?(?: ?([AaPp])\.?[Mm]\.?)?$`)
	aSpan   = pattern.Of(`^P(?:([0-9]+)D)?(?:T(?:([0-9.]+)H)?(?:([0-9.]+)M)?(?:([0-9.]+)S)?)?$`)
	pointed = pattern.Of(`^()([01][0-9]|2[0-3])\.([0-5][0-9])\.([0-5][0-9])$`)
	hours   = pattern.Of(
		`^()([0-9]+) ?h(?:rs?|ours?)? ?(?:([0-5]?[0-9]) ?(?:m|min|')?)?(?: ?([0-5]?[0-9]) ?(?:s|sec|")?)?$`)
)

// clockHours reads a time of day or a duration: 12:30, 1:07:05.5, 1:07 pm, 2 days 03:00:00,
// 1h07, PT3H2M, 18.30.00; 1:07.5 is minutes and seconds. two says that it has two parts, hours and
// minutes, where a third might have been.
func clockHours(cell []byte) (v float64, two, ok bool) {
	if len(cell) < 3 || len(cell) > 40 || cell[0] != 'P' && (cell[0] < '0' || cell[0] > '9') {
		return 0, false, false
	}
	if len(cell) == 5 && cell[2] == ':' && allDigits(cell[:2]) && allDigits(cell[3:]) &&
		cell[3] < '6' { // 12:30, the usual one
		return float64(10*int(cell[0]-'0')+int(cell[1]-'0')) + float64(10*int(cell[3]-'0')+int(cell[4]-'0'))/60,
			true, true
	}
	var m [][]byte
	switch {
	case cell[0] == 'P':
		m = aSpan().FindSubmatch(cell)
	case bytes.IndexByte(cell, ':') >= 0:
		m = aClock().FindSubmatch(cell)
	case bytes.IndexByte(cell, 'h') >= 0:
		m = hours().FindSubmatch(cell)
	case len(cell) == 8 && cell[2] == '.':
		m = pointed().FindSubmatch(cell)
	}
	if m == nil || len(cell) < 4 && cell[0] == 'P' {
		return 0, false, false
	}
	part := func(i int) float64 {
		p, err := strconv.ParseFloat(strings.Replace(string(m[i]), ",", ".", 1), 64)
		if err != nil {
			return 0 // it is not there
		}
		return p
	}
	day, h, min, sec := part(1), part(2), part(3), part(4)
	if len(m) == 7 { // of aClock
		two = len(m[4]) == 0
		if len(m[5]) > 0 { // minutes and seconds
			fraction, err := strconv.ParseFloat("0."+string(m[5]), 64)
			if err != nil || len(m[1])+len(m[6]) > 0 {
				return 0, false, false
			}
			return (h + (min+fraction)/60) / 60, false, true
		}
		if half := m[6]; len(half) > 0 {
			if h < 1 || h > 12 || day > 0 {
				return 0, false, false
			}
			if h == 12 {
				h = 0
			}
			if half[0]|0x20 == 'p' {
				h += 12
			}
			two = false
		}
	}
	return day*24 + h + min/60 + sec/3600, two, true
}

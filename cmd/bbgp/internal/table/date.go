package table

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// An Order is how the parts of a date stand.
type Order string

const (
	YMD     Order = "yyyy-mm-dd" // the month may be a name in all three
	DMY     Order = "dd/mm/yyyy"
	MDY     Order = "mm/dd/yyyy"
	Compact Order = "yyyymmdd"
	Excel   Order = "excel"   // days since 1899-12-30
	Unix    Order = "unix"    // seconds since 1970-01-01
	UnixMS  Order = "unix-ms" // milliseconds
	Year    Order = "yyyy"
	Month   Order = "yyyymm"
	Second  Order = "yyyymmddhhmmss"
)

// words says what stands first.
func (o Order) words() string {
	return map[Order]string{YMD: "year first", DMY: "day first", MDY: "month first", Compact: "yyyymmdd", Year: "years",
		Month: "yyyymm", Second: "yyyymmddhhmmss", Excel: "serial numbers of Excel", Unix: "seconds since 1970",
		UnixMS: "milliseconds since 1970"}[o]
}

// Orders are those that --date COL:FORMAT names.
var Orders = []Order{YMD, DMY, MDY, Compact, Excel, Unix, UnixMS, Year, Month, Second, Clock}

// ParseOrder reads a format: one of Orders, or dd.mm.yy, %d/%m/%Y and the like, of which
// only the order matters.
func ParseOrder(s string) (Order, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	for _, o := range Orders {
		if s == string(o) {
			return o, true
		}
	}
	var parts []byte
	for _, c := range []byte(s) {
		if strings.IndexByte("dmy", c) >= 0 && bytes.IndexByte(parts, c) < 0 {
			parts = append(parts, c)
		}
	}
	switch string(parts) {
	case "ymd":
		return YMD, true
	case "dmy":
		return DMY, true
	case "mdy":
		return MDY, true
	}
	return "", false
}

// days reads a date in the order as days since 1970-01-01, UTC where it has no zone.
func (o Order) days(cell []byte) (float64, bool) {
	switch o {
	case YMD, DMY, MDY:
		if len(cell) < 6 || len(cell) > 80 {
			return 0, false
		}
		if cell[0] >= 'A' {
			cell = cell[len(aWeekday().Find(cell)):]
		}
		v, ok := o.written(cell)
		if !ok && o == YMD {
			return formed(cell)
		}
		return v, ok
	case Clock:
		v, _, ok := clockHours(cell)
		return v, ok
	}
	v, k := parse(cell, '.')
	if k != number {
		return 0, false
	}
	return o.counted(v)
}

// counted reads a date that is a number.
func (o Order) counted(v float64) (float64, bool) {
	switch o {
	case Excel:
		return v - 25569, v >= 1 && v < 200000
	case Unix:
		return v / 86400, math.Abs(v) < 1e11
	case UnixMS:
		return v / 86400e3, math.Abs(v) < 1e14
	case Year:
		return dayOf(int(v), 1, 1), v == math.Trunc(v) && v >= 1000 && v < 3000
	case Compact, Month, Second:
		return o.compact(v)
	}
	return 0, false
}

// compact reads a date whose digits stand together.
func (o Order) compact(v float64) (float64, bool) {
	if v != math.Trunc(v) || v < 0 || v > 1e14 {
		return 0, false
	}
	date, time := int(v), 0
	switch o {
	case Month:
		date = date*100 + 1
	case Second:
		date, time = date/1_000_000, date%1_000_000
	}
	y, m, d := date/10000, date/100%100, date%100
	h, min, sec := time/10000, time/100%100, time%100
	if y < 1000 || y > 9999 || !isDay(y, m, d) || h > 23 || min > 59 || sec > 59 {
		return 0, false
	}
	return dayOf(y, m, d) + float64(h*3600+min*60+sec)/86400, true
}

// togetherDates returns the order in which whole numbers are dates whose digits stand
// together, "" if they are none: so many different numbers are not all dates by chance.
func togetherDates(v []float64) Order {
	if len(v) == 0 {
		return ""
	}
	for _, g := range []struct {
		o            Order
		lo, hi, many float64
	}{{Compact, 1900_01_01, 2100_12_31, 3}, {Month, 1900_01, 2100_12, 12}, {Second, 1900_01_01e6, 2101_01_01e6, 3}} {
		different := map[float64]bool{}
		for _, x := range v {
			if math.IsNaN(x) {
				continue
			}
			if _, ok := g.o.compact(x); !ok || x < g.lo || x > g.hi {
				different = nil
				break
			}
			if len(different) < int(g.many) {
				different[x] = true
			}
		}
		if len(different) >= int(g.many) {
			return g.o
		}
	}
	return ""
}

// orderOfNumbers guesses how dates that are numbers count: the ranges are far apart.
func orderOfNumbers(lo, hi float64) Order {
	for _, g := range []struct {
		o      Order
		lo, hi float64
	}{{Year, 1800, 2200}, {Excel, 15000, 80000}, {Compact, 1800_01_01, 2200_12_31}, {Unix, 1e8, 5e9},
		{UnixMS, 1e11, 5e12}} {
		if lo >= g.lo && hi <= g.hi {
			return g.o
		}
	}
	return ""
}

func isDay(y, m, d int) bool {
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	return m >= 1 && m <= 12 && t.Day() == d && d >= 1
}

func dayOf(y, m, d int) float64 {
	return float64(time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC).Unix()) / 86400
}

// A datePart is a number of a date, or the name of a month.
type datePart struct {
	value, digits int
	name          bool
}

// part reads the next part of b and the mark behind it.
func part(b []byte) (p datePart, rest []byte, ok bool) {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		p.value = p.value*10 + int(b[n]-'0')
		n++
	}
	if n > 0 {
		p.digits = n
		return p, b[n:], n <= 4
	}
	for n < len(b) && (b[n]|0x20 >= 'a' && b[n]|0x20 <= 'z' || b[n] >= utf8.RuneSelf) {
		n++
	}
	if n < 3 || n > 12 {
		return p, b, false
	}
	month, ok := months[strings.ToLower(string(b[:n]))]
	return datePart{value: month, name: true}, b[n:], ok
}

// written reads a date of three parts, and a time behind it.
func (o Order) written(b []byte) (float64, bool) {
	var p [3]datePart
	var mark byte
	ok := true
	for i := range p {
		if p[i], b, ok = part(b); !ok {
			return 0, false
		}
		if i == 1 && len(b) == 0 && o == YMD && p[0].digits == 4 && strings.IndexByte("-/", mark) >= 0 {
			p[2] = datePart{value: 1, digits: 1} // a month stands for its first day
			break
		}
		if i == 2 {
			break
		}
		n := 0
		for n < len(b) && strings.IndexByte("-/., ", b[n]) >= 0 {
			n++
		}
		if n == 0 || n > 2 || mark != 0 && b[0] != mark && !(p[0].name || p[1].name) {
			return 0, false
		}
		mark, b = b[0], b[n:]
	}
	if mark == '.' && o == MDY && !(p[0].name || p[1].name) || mark == ' ' && !(p[0].name || p[1].name) {
		return 0, false // a date with points has the day first everywhere
	}
	y, m, d := p[0], p[1], p[2]
	switch {
	case o == DMY:
		y, d = p[2], p[0]
	case o == MDY:
		y, m, d = p[2], p[0], p[1]
	}
	if y.name || d.name || d.digits > 2 || m.digits > 2 || y.digits != 4 && (y.digits != 2 || o == YMD) {
		return 0, false
	}
	if y.digits == 2 && mark == '.' && (d.digits < 2 || m.digits < 2 && !m.name) {
		return 0, false // 1.2.10 is a version rather than a day
	}
	if y.digits == 2 {
		if y.value += 2000; y.value >= 2069 {
			y.value -= 100
		}
	}
	if !isDay(y.value, m.value, d.value) {
		return 0, false
	}
	t, ok := clock(b)
	return dayOf(y.value, m.value, d.value) + t, ok
}

// clock reads what stands behind a date: nothing, or a time with or without a zone, as a
// part of a day.
func clock(b []byte) (float64, bool) {
	if len(b) == 0 {
		return 0, true
	}
	b = bytes.TrimLeft(bytes.TrimPrefix(bytes.TrimPrefix(bytes.TrimPrefix(b, []byte("T")),
		[]byte("t")), []byte(":")), " ,")
	s, zone, ok := zoneOf(strings.ToUpper(string(b)))
	if !ok {
		return 0, false
	}
	s = strings.Replace(strings.Replace(s, ",", ".", 1), "H", ":", 1)
	for _, l := range []string{"15:04:05", "15:04", "3:04:05 PM", "3:04 PM", "3:04PM", "3:04:05PM"} {
		if t, err := time.Parse(l, s); err == nil {
			seconds := float64(t.Hour()*3600 + t.Minute()*60 + t.Second())
			return seconds/86400 + float64(t.Nanosecond())/86400e9 - zone/24, true
		}
	}
	return 0, false
}

// ParseDate reads a date whose order is beyond doubt as days since 1970-01-01 UTC.
func ParseDate(cell string) (days float64, ok bool) {
	if days, ok = YMD.days([]byte(cell)); ok {
		return days, true
	}
	dmy, ok1 := DMY.days([]byte(cell))
	mdy, ok2 := MDY.days([]byte(cell))
	if ok1 && (!ok2 || dmy == mdy) {
		return dmy, true
	}
	return mdy, ok2 && !ok1
}

// DateOf writes days since 1970-01-01 as a date.
func DateOf(days float64) string {
	t := time.Unix(int64(math.Round(days*86400)), 0).UTC()
	if t.Hour()+t.Minute()+t.Second() == 0 {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.DateTime)
}

// readings says what a date may be.
func readings(cell string) string {
	d, _ := DMY.days([]byte(cell))
	m, _ := MDY.days([]byte(cell))
	return fmt.Sprintf("%s may be %s (dd/mm/yyyy) or %s (mm/dd/yyyy)", Quote(cell), DateOf(d), DateOf(m))
}

// counts says whether dates of the order are numbers.
func (o Order) counts() bool { return o != YMD && o != DMY && o != MDY && o != Clock && o != "" }

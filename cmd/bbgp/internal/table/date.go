package table

import (
	"math"
	"time"
)

// dateLayouts are the forms of a date that are understood.
var dateLayouts = []string{time.DateOnly, time.DateTime, "2006-01-02T15:04:05", time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04", "2006/01/02", "02.01.2006"}

// ParseDate reads a date as days since 1970-01-01 UTC.
func ParseDate(cell string) (days float64, ok bool) {
	if len(cell) < 8 || len(cell) > 40 {
		return 0, false
	}
	for _, l := range dateLayouts {
		if t, err := time.Parse(l, cell); err == nil {
			return float64(t.Unix())/86400 + float64(t.Nanosecond())/86400e9, true
		}
	}
	return 0, false
}

// A Value is what one cell holds.
type Value struct {
	Num     float64 // NaN unless the cell is a number
	Missing bool
	Text    bool
	Inf     bool
}

// ParseCell reads a cell with the given decimal mark.
func ParseCell(cell []byte, decimal byte, as As) Value {
	v, k := parseAs(cell, decimal, as)
	if k != number {
		v = math.NaN()
	}
	return Value{Num: v, Missing: k == missing, Text: k == text, Inf: k == infinite}
}

func parseAs(cell []byte, decimal byte, as As) (float64, kind) {
	switch as {
	case AsText:
		if _, k := special(cell); k == missing {
			return math.NaN(), missing
		}
		return 0, text
	case AsDate:
		if days, ok := ParseDate(string(cell)); ok {
			return days, number
		}
		if _, k := special(cell); k == missing {
			return math.NaN(), missing
		}
		return 0, text
	}
	return parse(cell, decimal)
}

package table

import (
	"bytes"
	"math"
)

// A Value is what one cell holds.
type Value struct {
	Num     float64 // NaN unless the cell is a number
	Missing bool
	Text    bool
	Inf     bool
	Other   bool // a number only with the other decimal mark
}

// A How says how the cells of a column are read that has been decided.
type How struct {
	As      As
	Decimal byte  // '.' or ','
	Order   Order // of dates; "": those beyond doubt
}

// setMissing takes further spellings of missing cells; one that is a number stands for
// all that are equal to it.
func (r *Reader) setMissing(spellings []string) {
	r.na, r.naNum = nil, nil
	for _, s := range spellings {
		if r.na == nil {
			r.na = map[string]bool{}
		}
		r.na[s] = true
		if v, k := parse([]byte(s), '.'); k == number {
			r.naNum = append(r.naNum, v)
		}
	}
}

// AddMissing takes spellings of missing cells beside those that the options named.
func (r *Reader) AddMissing(spellings []string) {
	r.opt.NA = append(r.opt.NA, spellings...)
	r.setMissing(r.opt.NA)
}

// ExpectRowNames takes the first cell for the name of the row where a row has a cell more
// than the header, as the training did.
func (r *Reader) ExpectRowNames() { r.rowNames = true }

// isNA says whether a cell is one that the options call missing.
func (r *Reader) isNA(cell []byte) bool { return r.na != nil && r.na[string(cell)] }

// parse reads a cell that is written plainly.
func (r *Reader) parse(cell []byte) (float64, kind) {
	if r.isNA(cell) {
		return math.NaN(), missing
	}
	v, k := parse(cell, r.Decimal)
	if k == number && r.naNum != nil && r.isNANumber(v) {
		return math.NaN(), missing
	}
	return v, k
}

func (r *Reader) isNANumber(v float64) bool {
	for _, m := range r.naNum {
		if v == m {
			return true
		}
	}
	return false
}

// Plain reads a cell that is a number and nothing else in a column of numbers, as nearly all are: what is not
// plain is for Parse. A Value takes longer to hand over than a number to read.
func (r *Reader) Plain(cell []byte, how How) (v float64, ok bool) {
	if how.As != AsFound || r.na != nil {
		return 0, false
	}
	v, k := parse(cell, how.Decimal)
	return v, k == number
}

// Parse reads a cell of a column that has been decided.
func (r *Reader) Parse(cell []byte, how How) Value {
	if r.isNA(cell) {
		return Value{Num: math.NaN(), Missing: true}
	}
	if how.As == AsText {
		_, k := r.parse(cell)
		return Value{Num: math.NaN(), Missing: k == missing, Text: k != missing}
	}
	if how.As == AsDate {
		return parseDate(cell, how.Order)
	}
	v, k := parse(cell, how.Decimal)
	if k == text {
		if n, ok := styled(cell, how.Decimal, nil); ok {
			v, k = n, number
		}
	}
	if k == number && r.isNANumber(v) {
		k = missing
	}
	if k != number {
		v = math.NaN()
	}
	val := Value{Num: v, Missing: k == missing, Text: k == text, Inf: k == infinite}
	if val.Text && bytes.ContainsAny(cell, ".,") {
		_, val.Other = styled(cell, otherMark(how.Decimal), nil)
	}
	return val
}

func otherMark(decimal byte) byte {
	if decimal == ',' {
		return '.'
	}
	return ','
}

func parseDate(cell []byte, o Order) Value {
	days, ok := 0.0, false
	if o != "" {
		days, ok = o.days(cell)
	}
	if !ok && o != Clock && (o == "" || o.counts() || !plainOrder(cell)) {
		days, ok = ParseDate(string(cell))
	}
	if !ok && o == Clock { // hours as such
		if v, k := parse(cell, '.'); k == number {
			days, ok = v, true
		}
	}
	if ok {
		return Value{Num: days}
	}
	_, k := special(cell)
	return Value{Num: math.NaN(), Missing: k == missing, Text: k != missing}
}

// plainOrder says whether the order decides what the date is: 3/4/2024.
func plainOrder(cell []byte) bool {
	_, day := DMY.days(cell)
	_, month := MDY.days(cell)
	return day || month
}

// ParseStyled reads a number with the given decimal mark.
func ParseStyled(cell string, decimal byte) Value {
	return new(Reader).Parse([]byte(cell), How{Decimal: decimal})
}

// MarkOf returns the decimal mark of a column: what was told, or what its own cells show
// in the sample, or all other columns, or trained, the mark that it had before ("": a point).
func (r *Reader) MarkOf(column int, trained string) byte {
	points, commas := bytes.IndexByte(r.Marks, '.') >= 0, bytes.IndexByte(r.Marks, ',') >= 0
	switch {
	case r.told:
		return r.Decimal
	case r.Marks[column] != 0:
		return r.Marks[column]
	case points && !commas:
		return '.'
	case commas && !points, trained == ",":
		return ','
	}
	return '.'
}

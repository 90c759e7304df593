package table

import (
	"fmt"
	"math"
	"strings"
)

// A column whose cells are not all plain numbers is read in several ways at once, until
// its end tells which one holds for all of them: numbers with a decimal point or comma,
// dates in one of three orders. Each way keeps its values, so that a pipe is read once.

// A way is one reading of the cells of a column.
type way struct {
	decimal byte  // of a number; 0: a date
	order   Order // of a date; "": a number that counts days or the like
	told    bool  // the order was told: dates beyond doubt in another one are read too
	num     []float64
	look    look
	failed  int
	bad     map[string]int // cells that are not read so, the first of them
	first   Place
	short   Place // the first time of two parts
	two     int   // times of two parts
}

const (
	mostBad = 20   // different cells that a way keeps of those that it cannot read
	enough  = 1000 // cells after which a way that fails for half of them is given up
)

func (w *way) parse(cell []byte) (float64, bool) {
	if w.decimal == 0 && w.told {
		v := parseDate(cell, w.order)
		return v.Num, !v.Text && !v.Missing
	}
	if w.decimal == 0 {
		return w.order.days(cell)
	}
	return styled(cell, w.decimal, &w.look)
}

// startWays begins the ways of a column at the cell behind those in Num.
func (c *Column) startWays(r *Reader) {
	if c.as == AsText || c.ways != nil {
		return
	}
	before := 0
	for _, v := range c.Num {
		if !math.IsNaN(v) {
			before++
		}
	}
	add := func(w *way, failed int) {
		w.num, w.failed, w.bad = append(make([]float64, 0, cap(c.Num)), c.Num...), failed, map[string]int{}
		c.ways = append(c.ways, w)
	}
	switch {
	case c.as == AsDate && c.Order != "" && !c.Order.counts():
		add(&way{order: c.Order, told: true}, 0)
		return
	case c.as == AsDate && c.Order != "":
		add(&way{}, 0)
		return
	case c.as == AsFound:
		for _, d := range []byte{'.', ','} {
			switch {
			case d == r.Decimal:
				add(&way{decimal: d}, 0)
			case !r.told:
				add(&way{decimal: d}, c.marked) // of those cells only the other reading was kept
			}
		}
	}
	for _, o := range []Order{YMD, DMY, MDY, Clock} {
		add(&way{order: o}, before)
	}
	if c.as == AsDate {
		add(&way{order: ""}, 0)
	}
}

// addWays reads a cell that is not missing in all ways; plain is its number, if it is one.
func (c *Column) addWays(r *Reader, cell []byte, plain float64, isPlain bool) {
	kept := c.ways[:0]
	for _, w := range c.ways {
		v, ok := plain, isPlain
		if w.order == Clock && !w.told {
			if _, two, _ := clockHours(cell); two {
				note(&w.short, w.two, r, cell)
				w.two++
			}
		}
		if w.order != "" || w.decimal != 0 && !(isPlain && w.decimal == r.Decimal) {
			v, ok = w.parse(cell)
		}
		if !ok {
			v = math.NaN()
			note(&w.first, len(w.bad), r, cell)
			w.failed++
			if len(w.bad) < mostBad || w.bad[string(cell)] > 0 {
				w.bad[string(cell)]++
			}
		}
		w.num = append(w.num, v)
		if c.as == AsDate || w.failed < enough || 2*w.failed < len(w.num) {
			kept = append(kept, w)
		}
	}
	c.ways = kept
}

// missWays notes a cell that is missing or infinite in every way.
func (c *Column) missWays(v float64) {
	for _, w := range c.ways {
		w.num = append(w.num, v)
	}
}

// best returns the way that fails least, of those the first.
func (c *Column) best() *way {
	var best *way
	for _, w := range c.ways {
		if best == nil || w.failed < best.failed {
			best = w
		}
	}
	return best
}

// strong returns the decimal mark that the column has beyond doubt, 0 if it has none.
func (c *Column) strong(decimal byte) byte {
	if c.ways == nil {
		if c.marked > c.grouped {
			return decimal
		}
		return 0
	}
	best := c.best()
	if best == nil || best.decimal == 0 || best.failed > 0 {
		return 0
	}
	for _, w := range c.ways {
		if w != best && w.decimal != 0 && w.failed == 0 {
			return 0
		}
	}
	return best.decimal
}

// decide takes the way that holds for the column, if one does. marks counts the columns
// that have each decimal mark beyond doubt.
func (c *Column) decide(t *Table, marks map[byte]int) {
	best, ways := c.best(), c.ways
	c.ways = nil
	if best == nil {
		return
	}
	if c.as == AsDate && best.failed > 0 {
		c.doubt(t, best.first, nil, "%s is no date%s", Quote(best.first.Cell), c.asked())
		return
	}
	if best.failed > 0 && 2*best.failed > len(c.Num)-c.Missing-c.Inf {
		return // text
	}
	for _, w := range ways {
		if w == best || w.failed > 0 || (w.decimal == 0) != (best.decimal == 0) ||
			best.failed > 0 || best.order == YMD || w.order == Clock { // 01.02.03 is a date
			continue
		}
		if i := c.differ(best, w); i >= 0 {
			best = c.choose(t, best, w, i, marks)
		}
	}
	c.Num, c.Text, c.FirstText, c.Bad = best.num, best.failed, best.first, best.bad
	if best.failed == 0 {
		c.Codes, c.Levels, c.index, c.Bad = nil, nil, nil, nil
	}
	if best.decimal != 0 {
		c.Decimal = best.decimal
		c.tellNumber(t, best)
		return
	}
	if best.order == Clock {
		c.tellClock(t, best)
		return
	}
	c.as = AsDate
	if best.order != "" {
		c.Order = best.order
	}
	lo, hi := c.Range()
	if c.Order == "" {
		if c.Order = orderOfNumbers(lo, hi); c.Order == "" {
			text := "numbers from %.6g to %.6g are no dates of a known kind; name it with --date %s, or " +
				"leave --date out"
			c.doubt(t, Place{}, nil, text, lo, hi, Arg(c.Name+":FORMAT"))
			return
		}
	}
	if !c.toDays(t) {
		return
	}
	lo, hi = c.Range()
	if c.Doubt == nil && best.failed == 0 {
		c.Note = fmt.Sprintf("column %s: dates, %s, from %s to %s, taken as days since 1970-01-01", c.Name,
			c.Order.words(), DateOf(lo), DateOf(hi))
	}
}

// tellClock takes the column as hours.
func (c *Column) tellClock(t *Table, w *way) {
	c.as, c.Order = AsFound, Clock
	if w.two > 0 && w.two+w.failed < len(c.Num)-c.Missing-c.Inf {
		c.doubt(t, w.short, []string{"--date", c.Name + ":time"},
			"%s has two parts and other cells have three: write all as hours:minutes:seconds, or --date %s takes "+
				"two as hours and minutes",
			Quote(w.short.Cell), Arg(c.Name+":time"))
		return
	}
	if w.failed == 0 {
		lo, hi := c.Range()
		c.Note = fmt.Sprintf("column %s: times, taken as hours, from %.4g to %.4g; one before midnight is far from "+
			"one after it", c.Name, lo, hi)
	}
}

// together takes plain numbers for dates whose digits stand together, if they can be
// nothing else: as numbers the last of January is far from the first of February.
func (c *Column) together(t *Table) {
	if c.as != AsFound || c.Codes != nil || c.marked > 0 {
		return
	}
	o := togetherDates(c.Num)
	if o == "" {
		return
	}
	c.as, c.Order = AsDate, o
	if c.toDays(t) {
		lo, hi := c.Range()
		c.Note = fmt.Sprintf("column %s: numbers that are all dates, %s, from %s to %s, taken as days since "+
			"1970-01-01; --text %s takes them as words", c.Name, o.words(), DateOf(lo), DateOf(hi), ListArg(c.Name))
	}
}

// asked repeats the format that --date named.
func (c *Column) asked() string {
	if !c.toldOrder {
		return ""
	}
	return fmt.Sprintf(" in the format %s that --date names", c.Order)
}

// toDays makes days of dates that count otherwise.
func (c *Column) toDays(t *Table) bool {
	if !c.Order.counts() {
		return true
	}
	for i, v := range c.Num {
		days, ok := c.Order.counted(v)
		if !ok && !math.IsNaN(v) {
			c.doubt(t, Place{Row: i + 1, Line: t.Line(i)}, nil, "%.13g is no date%s", v, c.asked())
			return false
		}
		c.Num[i] = days
		if math.IsNaN(v) {
			c.Num[i] = v
		}
	}
	return true
}

// differ returns a row that two ways read otherwise, one whose text is known if there is
// one; -1 if there is none.
func (c *Column) differ(a, b *way) int {
	found := -1
	for i, v := range a.num {
		if v == b.num[i] || math.IsNaN(v) {
			continue
		}
		found = i
		if c.Codes != nil && c.Codes[i] >= 0 {
			break
		}
	}
	return found
}

// choose decides between two ways that both hold for the whole column and differ in row i:
// by the marks of other columns, or not at all.
func (c *Column) choose(t *Table, a, b *way, i int, marks map[byte]int) *way {
	at := Place{Row: i + 1, Line: t.Line(i), Cell: fmt.Sprint(a.num[i])}
	if c.Codes != nil && c.Codes[i] >= 0 {
		at.Cell = c.Levels[c.Codes[i]]
	}
	if a.decimal == 0 {
		c.doubt(t, at, []string{"--date", c.Name + ":" + string(a.order)},
			"%s, and so may all of the column; say which with --date %s or --date %s",
			readings(at.Cell), Arg(c.Name+":"+string(DMY)), Arg(c.Name+":"+string(MDY)))
		return a
	}
	switch {
	case marks[a.decimal] > 0 && marks[b.decimal] == 0:
		return a
	case marks[b.decimal] > 0 && marks[a.decimal] == 0:
		return b
	case c.trained == a.decimal:
		return a
	case c.trained == b.decimal:
		return b
	}
	point, comma := a.num[i], b.num[i]
	if a.decimal == ',' {
		point, comma = comma, point
	}
	c.doubt(t, at, []string{"--decimal", "point"},
		"%s may be %v (--decimal point) or %v (--decimal comma), and so may all of the column; say which",
		Quote(at.Cell), point, comma)
	return a
}

// tellNumber says how the numbers are written, and finds what cannot be.
func (c *Column) tellNumber(t *Table, w *way) {
	cells := len(c.Num) - c.Missing - c.Inf - w.failed
	switch {
	case w.look.percent > 0 && w.look.percent < cells:
		c.doubt(t, Place{}, []string{"--ignore", c.Name}, "%d cells have a per cent sign and %d have none; write "+
			"all of them one way", w.look.percent, cells-w.look.percent)
	case w.look.oddUnits(cells):
		c.doubt(t, Place{}, []string{"--ignore", c.Name}, "cells have different units, or some have none; bring all "+
			"to one and write the numbers alone, or --text %s takes them as words", ListArg(c.Name))
	case len(w.look.currency) > 1:
		c.doubt(t, Place{}, []string{"--ignore", c.Name}, "cells are in different currencies; bring them to one")
	}
	file := t.Decimal
	decimal := w.decimal
	if decimal == file {
		decimal = '.' // it is said for the whole table
	}
	if words := w.look.words(decimal); len(words) > 0 && c.Doubt == nil {
		c.Note = fmt.Sprintf("column %s: numbers with %s", c.Name, strings.Join(words, ", "))
	}
}

// doubt notes why the column cannot be read, and the flag and value that mend it.
func (c *Column) doubt(t *Table, at Place, mend []string, format string, args ...any) {
	if c.Doubt == nil {
		c.Doubt = &Error{File: t.File, Row: at.Row, Line: at.Line, Column: c.Name, Text: fmt.Sprintf(format, args...)}
		c.Mend = mend
	}
}

package table

import (
	"math"
	"slices"
	"sort"
)

// A Place is a cell that a message may name.
type Place struct {
	Row, Line int
	Cell      string
}

// A Column holds the cells of one column.
type Column struct {
	Name    string
	Num     []float64 // NaN where the cell is missing or text
	Codes   []int32   // per row an index into Levels; nil if no cell is text
	Levels  []string  // in order of appearance
	Missing int       // cells
	Text    int
	Inf     int
	// The first cell of each kind.
	FirstMissing, FirstText, FirstInf Place
	Spellings                         map[string]int // of missing cells; "" is an empty one
	// How the column was read where that was not plain.
	Decimal byte           // mark of the decimals
	Order   Order          // of dates
	Note    string         // what was decided, in words; "" for plain cells
	Doubt   *Error         // why the column cannot be read; nil if it can
	Mend    []string       // a flag and its value that would end the doubt
	Zeros   string         // a whole number that was written with leading zeros, as 007
	Bad     map[string]int // cells that are no numbers, or no dates, in a column of them

	as              As
	trained         byte // decimal mark, see Request
	toldOrder       bool // Order was told
	index           map[string]int32
	ways            []*way
	marked, grouped int // plain numbers with a decimal mark, those that may be groups of thousands
}

// Numeric says whether no cell is text; IsText whether no cell is a number.
func (c *Column) Numeric() bool { return c.Text == 0 }
func (c *Column) IsText() bool  { return c.Text > 0 && c.Text+c.Missing == len(c.Num) }

// Range returns the least and the greatest number, NaN if there is none.
func (c *Column) Range() (lo, hi float64) {
	lo, hi = math.NaN(), math.NaN()
	for i, v := range c.Num {
		if !math.IsNaN(v) {
			lo, hi = v, v
			for _, v := range c.Num[i:] { // NaN is neither less nor greater
				if v < lo {
					lo = v
				} else if v > hi {
					hi = v
				}
			}
			break
		}
	}
	return lo, hi
}

// Distinct counts the different values up to most; more are reported as
// most + 1.
func (c *Column) Distinct(most int) int {
	if c.Text > 0 {
		return min(len(c.Levels), most+1)
	}
	seen := make(map[float64]struct{}, min(most+1, 1024))
	for _, v := range c.Num {
		if math.IsNaN(v) {
			continue
		}
		seen[v] = struct{}{}
		if len(seen) > most {
			break
		}
	}
	return len(seen)
}

// Constant says whether all numbers of the column are equal.
func (c *Column) Constant() bool {
	first := math.NaN()
	for _, v := range c.Num {
		if v < first || v > first {
			return false
		}
		if math.IsNaN(first) {
			first = v
		}
	}
	return true
}

// SpellingsList names the spellings of missing cells, the most frequent first.
func (c *Column) SpellingsList() []string {
	var list []string
	for s := range c.Spellings {
		list = append(list, s)
	}
	sort.Slice(list, func(a, b int) bool {
		na, nb := c.Spellings[list[a]], c.Spellings[list[b]]
		return na > nb || na == nb && list[a] < list[b]
	})
	for i, s := range list {
		if s == "" {
			list[i] = "empty"
		}
	}
	return list
}

// Date says whether the column was read as dates.
func (c *Column) Date() bool { return c.as == AsDate }

// AskedText says whether the column was to be read as text.
func (c *Column) AskedText() bool { return c.as == AsText }

// Marks says whether every decimal mark of the column may be a mark of thousands.
func (c *Column) Marks() bool { return c.marked == c.grouped }

// MissingAt says whether the cell of row i is missing.
func (c *Column) MissingAt(i int) bool {
	if c.Codes != nil {
		return c.Codes[i] == CodeMissing
	}
	return math.IsNaN(c.Num[i])
}

// LastAlone says whether the last row has a text that no other row has.
func (c *Column) LastAlone() bool {
	n := len(c.Codes) - 1
	return n > 0 && c.Codes[n] >= 0 && !slices.Contains(c.Codes[:n], c.Codes[n])
}

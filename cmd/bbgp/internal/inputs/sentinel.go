package inputs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bbgp.dev/cmd/bbgp/internal/table"
)

// A value that stands again and again far outside the rest of its column, -999 or
// 999999, mostly says that nothing was measured. Taken for a number it becomes the
// largest thing in the column.

const (
	mostSentinels  = 4
	sentinelSample = 2000 // values that the spread of a column is known by
	leastDistinct  = 5    // values beside it, of fewer only a code has an outside
	leastCode      = 99   // of these
	farSpreads     = 10   // between the 5 % and the 95 % quantile of the rest
	farRanges      = 3    // of the rest
)

// A sentinel is such a value.
type sentinel struct {
	value float64
	rows  int
}

// sentinels returns those of a column, NaN standing for what is missing.
func sentinels(v []float64) []sentinel {
	var found []sentinel
	for len(found) < mostSentinels {
		s, ok := nextSentinel(v, found)
		if !ok {
			break
		}
		found = append(found, s)
	}
	return found
}

// nextSentinel looks at the least and the greatest value beside those found.
func nextSentinel(v []float64, found []sentinel) (sentinel, bool) {
	known := func(x float64) bool {
		return math.IsNaN(x) || slices.ContainsFunc(found, func(s sentinel) bool { return s.value == x })
	}
	low, high := extreme{at: math.Inf(1), next: math.Inf(1)}, extreme{at: math.Inf(1), next: math.Inf(1)}
	for _, x := range v {
		if len(found) == 0 && x == x || !known(x) {
			low.see(x)
			high.see(-x)
		}
	}
	for _, c := range []struct {
		at, next, far float64
		rows          int
	}{
		{low.at, low.next, -high.at, low.rows}, {-high.at, -high.next, low.at, high.rows},
	} {
		gap, span := math.Abs(c.next-c.at), math.Abs(c.far-c.next)
		// The other end may be a sentinel itself: half of the way there is not the rest.
		if !(gap > 0) || math.IsInf(gap, 0) || gap < span && !coded(c.at) {
			continue
		}
		spread, distinct, seen := spreadWithout(v, func(x float64) bool { return x == c.at || known(x) })
		code := coded(c.at) && gap > spread
		switch {
		case distinct < leastDistinct:
			// 0 and 1 are two values, 3 and -999 are not.
			if code && math.Abs(c.at) >= leastCode && gap > farRanges*max(span, math.Abs(c.next), math.Abs(c.far)) &&
				2*c.rows < len(v) {
				return sentinel{c.at, c.rows}, true
			}
		case code && c.rows > 1, code && gap > farSpreads*spread,
			c.rows > 1 && gap > farSpreads*spread && gap > farRanges*span,
			c.rows > 2 && gap > span && distinct == seen: // nothing else stands twice
			return sentinel{c.at, c.rows}, true
		}
	}
	return sentinel{}, false
}

// An extreme is the least value, how often it stands, and the next.
type extreme struct {
	at, next float64
	rows     int
}

func (e *extreme) see(x float64) {
	switch {
	case x < e.at:
		e.at, e.next, e.rows = x, e.at, 1
	case x == e.at:
		e.rows++
	case x < e.next:
		e.next = x
	}
}

// spreadWithout returns the distance of the 5 % and the 95 % quantile of the values that
// are not out, and how many different ones there are of those seen.
func spreadWithout(v []float64, out func(float64) bool) (spread float64, distinct, seen int) {
	var some []float64
	for i := 0; i < len(v); i += max(1, len(v)/sentinelSample) {
		if !out(v[i]) {
			some = append(some, v[i])
		}
	}
	slices.Sort(some)
	if len(some) == 0 {
		return 0, 0, 0
	}
	n := len(some) - 1
	return some[n-n/20] - some[n/20], len(slices.Compact(slices.Clone(some))), len(some)
}

// coded says whether a number is one that many files have for missing: written with the
// digit 9 alone, two or more times, the end of a range of integers, or one of some others.
func coded(x float64) bool {
	switch x {
	case -9, -200, 1e20, -1e20, 1e30, -1e30, 1e36, 1e38, -1e38, -1e31,
		math.MaxInt16, math.MinInt16, math.MaxUint16, math.MaxInt32, math.MinInt32, math.MaxUint32:
		return true
	}
	s := strconv.FormatFloat(math.Abs(x), 'f', -1, 64)
	s = strings.Replace(s, ".", "", 1)
	return len(s) > 1 && strings.Trim(s, "9") == ""
}

// sentinelNote names the sentinels of a column with the flag that declares them missing;
// "" if there is none.
func sentinelNote(c *table.Column) string {
	if !c.Numeric() || c.Date() {
		return ""
	}
	found := sentinels(c.Num)
	if len(found) == 0 {
		return ""
	}
	var what, values []string
	for _, s := range found {
		text := strconv.FormatFloat(s.value, 'f', -1, 64)
		what, values = append(what, fmt.Sprintf("%s in %s", text, table.Rows(s.rows))), append(values, text)
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, v := range c.Num {
		if !slices.ContainsFunc(found, func(s sentinel) bool { return s.value == v }) && !math.IsNaN(v) {
			least, most = min(least, v), max(most, v)
		}
	}
	rest := fmt.Sprintf("%.6g to %.6g", least, most)
	if least == most {
		rest = fmt.Sprintf("all %.6g", least)
	}
	return fmt.Sprintf(
		"column %s has %s, far from its other cells (%s): if that stands for a missing cell, --na=%s says so",
		c.Name, strings.Join(what, " and "), rest, strings.Join(values, ","))
}

package inputs

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"bbgp.dev/cmd/bbgp/internal/table"
)

// dropDuplicates leaves out columns that repeat an earlier one in every row.
func dropDuplicates(t *table.Table, chosen []int) (kept []int, notes []string) {
	copies := map[int][]string{}
	byFirst := map[uint64][]int{}
	for _, i := range chosen {
		c := t.Columns[i]
		if !c.Numeric() || c.Constant() {
			kept = append(kept, i)
			continue
		}
		key := fingerprint(c.Num)
		same := slices.IndexFunc(byFirst[key], func(k int) bool { return equal(t.Columns[k].Num, c.Num) })
		if same < 0 {
			byFirst[key] = append(byFirst[key], i)
			kept = append(kept, i)
			continue
		}
		of := byFirst[key][same]
		copies[of] = append(copies[of], c.Name)
	}
	for _, i := range kept {
		if c := copies[i]; c != nil {
			s, verb, left := "column ", " duplicates ", " and is left out"
			if len(c) > 1 {
				s, verb, left = "columns ", " duplicate ", " and are left out"
			}
			notes = append(notes, s+table.List(c, 8)+verb+t.Columns[i].Name+left)
		}
	}
	return kept, notes
}

// alike returns two texts that differ in capitals or blanks only, if there are such.
func alike(levels []string) (a, b string) {
	seen := map[string]string{}
	for _, l := range levels {
		key := strings.ToLower(strings.Join(strings.Fields(l), ""))
		if seen[key] != "" {
			return seen[key], l
		}
		seen[key] = l
	}
	return "", ""
}

func fingerprint(v []float64) uint64 {
	h := uint64(14695981039346656037)
	for _, x := range v[:min(len(v), 64)] {
		h = (h ^ math.Float64bits(x)) * 1099511628211
	}
	return h
}

func equal(a, b []float64) bool {
	for i := range a {
		if a[i] != b[i] && !(math.IsNaN(a[i]) && math.IsNaN(b[i])) {
			return false
		}
	}
	return true
}

// remarks points out what may not be meant: identifiers and dates.
func remarks(c *table.Column) []string {
	if c.IsText() && len(c.Levels) == 1 && !strings.ContainsFunc(c.Levels[0],
		func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return []string{fmt.Sprintf("column %s holds %s only: if that divides the cells, --delimiter %s says so",
			c.Name, table.Quote(c.Levels[0]), table.Arg(c.Levels[0][:1]))}
	}
	if c.IsText() {
		note := fmt.Sprintf("column %s is text: one input for each of its %d values", c.Name, len(c.Levels))
		if n := len(c.Levels); n > 4 && n+c.Missing == len(c.Num) {
			note += fmt.Sprintf("; it differs in every row like an identifier: leave it out with --ignore %s unless "+
				"it means something", table.ListArg(c.Name))
		}
		if a, b := alike(c.Levels); a != "" {
			note += fmt.Sprintf("; %s and %s are two of them, which differ in capitals or blanks only",
				table.Quote(a), table.Quote(b))
		}
		return []string{note}
	}
	if note := sentinelNote(c); note != "" && c.Zeros == "" { // 99999 is a code among codes
		return []string{note}
	}
	what := ""
	switch n := len(c.Num); {
	case c.Zeros != "":
		return []string{fmt.Sprintf("column %s has numbers with leading zeros (%s), as codes have: --text %s takes "+
			"them as words, --ignore %s "+
			"leaves them out", c.Name, c.Zeros, table.ListArg(c.Name), table.ListArg(c.Name))}
	case n >= 20 && !c.Date() && counts(c.Num):
		what = "counts the rows like an identifier"
	case n >= 20 && !c.Date() && namesRows(c.Name) && c.Missing == 0 && c.Distinct(n) == n && whole(c.Num):
		what = "is called and differs in every row like an identifier"
	default:
		return nil
	}
	return []string{fmt.Sprintf("column %s %s; leave it out with --ignore %s unless it means something", c.Name, what,
		table.ListArg(c.Name))}
}

// totals are what lines of totals call themselves.
var totals = map[string]bool{"total": true, "totals": true, "grand total": true, "subtotal": true, "sum": true,
	"mean": true, "average": true,
	"summe": true, "gesamt": true, "mittelwert": true, "durchschnitt": true, "somme": true, "moyenne": true,
	"totale": true, "media": true}

// isTotal says whether a cell names a line of totals: Total, Total 2024, Grand total:.
func isTotal(cell string) bool {
	word := strings.TrimRight(strings.ToLower(cell), ": 0123456789")
	return totals[word]
}

// namesRows says whether a column is called like an identifier: id, row_id, rowId, key.
func namesRows(name string) bool {
	for _, word := range []string{"id", "key", "index", "uuid"} {
		i := len(name) - len(word)
		if i < 0 || !strings.EqualFold(name[i:], word) {
			continue
		}
		if i == 0 || strings.IndexByte("_-. ", name[i-1]) >= 0 || name[i] < 'a' && name[i-1] >= 'a' {
			return true
		}
	}
	return false
}

func whole(v []float64) bool {
	for _, x := range v {
		if x != math.Trunc(x) {
			return false
		}
	}
	return true
}

// counts says whether v rises by one from row to row.
func counts(v []float64) bool {
	for i := 1; i < len(v); i++ {
		if v[i] != v[i-1]+1 {
			return false
		}
	}
	return true
}

// targetRemarks points out a target that is not what a regression is for.
func targetRemarks(c *table.Column) (notes []string) {
	if note := sentinelNote(c); note != "" {
		notes = append(notes, note)
	}
	const few = 5
	n := c.Distinct(few)
	if n < 2 || n > few || len(c.Num)-c.Missing < 5*n {
		return notes
	}
	values := slices.DeleteFunc(slices.Clone(c.Num), math.IsNaN)
	slices.Sort(values)
	values = slices.Compact(values)
	if n == 2 {
		share := "the value of a row"
		if values[0] == 0 && values[1] == 1 {
			share = "the share of 1"
		}
		return append(notes, fmt.Sprintf("target %s has two values, %.6g and %.6g: the mean is a rough guess of %s "+
			"and may leave their range; sd, intervals and NLPD mean little, for the noise is not normal; "+
			"probabilities of classes take a classifier",
			c.Name, values[0], values[1], share))
	}
	texts := make([]string, n)
	for i, v := range values {
		texts[i] = fmt.Sprintf("%.6g", v)
	}
	return append(notes, fmt.Sprintf("target %s has only %d values, %s: names of classes take a classifier; grades "+
		"and counts are taken as numbers, means between them are averages, and intervals do not know of the steps",
		c.Name, n, strings.Join(texts, ", ")))
}

package inputs

import (
	"regexp"
	"strings"

	"bbgp.dev/cmd/bbgp/internal/pattern"
	"bbgp.dev/cmd/bbgp/internal/table"
)

// Cells that are nearly numbers: what they are, and what to write instead.

// near are kinds of such cells. A few texts of a kind that is loose are categories, such as
// 0-10, 10-20 and 20+.
var near = []struct {
	cell  func() *regexp.Regexp
	loose bool
	what  string
}{
	{pattern.Of(`^([<>≤≥≦≧]=?\s*[-+]?[0-9].*|[-+]?[0-9.,]+ ?[<>])$`), false,
		"is a value beyond a limit of detection and no number: half the limit is a usual value in its place"},
	{pattern.Of(
		`(?i)^([<>]? ?(lod|loq|dl|mdl|bdl|bql|lld)|n\.?d\.?|n\.?n\.?|traces?|` +
			`not detected|below detection( limit)?|u\.d\.l\.)$`), true,
		"stands for a value below a limit of detection: half the limit is a usual value in its place"},
	{pattern.Of(`^[-+]?[0-9.,]+ ?(±|\+/-) ?[0-9.,]+$`), false,
		"is a number and its error: put them in two columns"},
	{pattern.Of(`^[-+]?[0-9.,]+ ?\([0-9.]+\)$`), false,
		"is a number and its error in parentheses: put them in two columns"},
	{pattern.Of(`^(ca\.?|~|≈|about) ?[-+]?[0-9]`), false, "is a rough value: write the number alone"},
	{pattern.Of(`^[-+]?[0-9.,]+ ?[*†‡§#^]+$`), false,
		"has a mark of a footnote behind the number: write the number alone"},
	{pattern.Of(`^[-+]?[0-9]{1,3} ?°.*[0-9].*['′]`), false,
		"is an angle in degrees and minutes: write it as a decimal number, south and west with a minus"},
	{pattern.Of(`^[0-9]{1,3}(\.[0-9]+)? ?°? ?[NSEWO]$`), false,
		"is an angle with a direction: write the number alone, south and west with a minus"},
	{pattern.Of(`^[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?`), false,
		"is a time that cannot be read: write it as 15:04:05, or as a number of hours"},
	{pattern.Of(`^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.]+( ?[AaPp][Mm])? ?[A-Za-z/_]+$`), false,
		"has a time zone by a name that is unknown or has several meanings: write +01:00 or the like in its place, " +
			"or leave it out"},
	{pattern.Of(`^[0-9]{1,2}[./-][0-9]{1,2}\.?$`), true,
		"may be a fraction, a range, or a day without its year: write a decimal number, or the date with its year"},
	{pattern.Of(
		`(?i)^(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-/ ][0-9]{2}$|` +
			`^[0-9]{1,2}[-/ ](jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*$`), true,
		"may be a day without its year or a month with a short one: write the date in full"},
	{pattern.Of(`^[0-9]+( [0-9]+)?/[0-9]+$`), true, "is a fraction: write it as a decimal number"},
	{pattern.Of(`^[0-9.,]+ ?(-|–|—|to|bis|\.\.) ?[0-9.,]+$`), true,
		"is a range: write its middle, or its two ends in two columns"},
	{pattern.Of(`^[-+]?[0-9.]+ ?[-+] ?[0-9.]*[ij]$`), false,
		"is a complex number: put its two parts in two columns"},
	{pattern.Of(`^[\[({].*[0-9].*[,; ].*[\])}]$`), true, "holds several numbers: a column for each"},
}

// aUnit is a unit of a cell.
var aUnit = pattern.Of(`^[-+]?[0-9]+([.,][0-9]+)? ?[A-Za-zµμ°Ω²³/%]{1,8}[0-9]?$`)

// numberish says what a cell is that is nearly a number; "" if it is not.
func numberish(cell string) string { what, _ := nearly(cell); return what }

func nearly(cell string) (what string, loose bool) {
	for _, n := range near {
		if n.cell().MatchString(cell) {
			return n.what, n.loose
		}
	}
	if aUnit().MatchString(cell) && strings.ContainsAny(cell, " .,°µ²³/") {
		return "has a unit in the cell: write the number alone", false
	}
	return "", false
}

// mostClasses is the number of texts that a column of classes may have whatever its rows.
const mostClasses = 4

// quantities says what a column of texts is that are no classes: most are nearly numbers,
// or have digits and differ from row to row; "" if they may be classes, or are more than most.
func quantities(c *table.Column, most int) string {
	sure, maybe, digits := 0, 0, 0
	for _, l := range c.Levels {
		what, loose := nearly(l)
		switch {
		case what != "" && !loose:
			sure++
		case what != "":
			maybe++
		}
		if strings.ContainsAny(l, "0123456789") {
			digits++
		}
	}
	n := len(c.Levels)
	vary := n > mostClasses && 2*n > len(c.Num)-c.Missing
	switch what := numberish(c.FirstText.Cell); {
	case 2*sure > n || vary && 2*(sure+maybe) > n:
		if what == "" {
			what = "stands among numbers with something beside them"
		}
		return what
	case vary && 4*digits > 3*n && n <= most:
		return "and others have digits and differ from row to row: an identifier, or quantities in a form that is " +
			"not known, to be written as plain numbers"
	}
	return ""
}

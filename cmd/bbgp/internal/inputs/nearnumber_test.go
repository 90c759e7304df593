package inputs

import (
	"fmt"
	"strings"
	"testing"
)

// Cells that are nearly numbers are refused with what they are, however few; classes are not.
func TestNearNumbers(t *testing.T) {
	for _, tc := range []struct{ cells, want string }{
		{"<0.5 <0.7 <1 <2 <3 <4", "beyond a limit of detection"},
		{"1.5±0.1 2.5±0.1 3.5±0.2", "a number and its error"},
		{"1.5(1) 2.5(2) 3.5(1)", "error in parentheses"},
		{"1.5* 2.5** 3.5*", "a mark of a footnote"},
		{"12°30'N 13°10'N 14°00'S", "an angle in degrees"},
		{"12.5N 13.5S 14.5N", "an angle with a direction"},
		{"2024-01-01_10:00_IST 2024-01-01_11:00_IST", "a time zone by a name"},
		{"1+2i 2-3i 4+1i", "a complex number"},
		{"1/13 2/14 3/15 4/16 5/17", "without its year"},
		{"1_1/2 2_1/4 3_3/4 4_1/8 5_7/8", "is a fraction"},
		{"1–4 2–5 3–6 4–7 5–8", "is a range"},
		{"[1,2] [2,3] [3,4] [4,5] [5,6]", "holds several numbers"},
		{"Mar-11 Mar-12 Mar-13 Mar-14 May-01", "a month with a short one"},
		{"A01 A02 A03 B77 C15", "quantities in a form that is not known"},
		{"0x1f 0x2f 0x3f 0x4f 0xff", "quantities in a form that is not known"},
		{"10.0.0.1 10.0.0.2 10.0.0.7 10.0.3.1 10.1.0.1", "quantities in a form that is not known"},
		{"0-10 10-20 20+", ""},
		{"A1 A2 A1 B1 B2", ""},
		{"red green blue lime pink", ""},
		{"1st 2nd 3rd 4th", ""},
	} {
		var b strings.Builder
		b.WriteString("x;y\n")
		for _, c := range strings.Fields(tc.cells) {
			fmt.Fprintf(&b, "%s;1\n", strings.ReplaceAll(c, "_", " "))
		}
		_, _, err := Make(load(t, b.String()), Options{Target: "y"})
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", tc.cells, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %v, want %s", tc.cells, err, tc.want)
		}
	}
}

// What a user may not expect of a column is said.
func TestRemarksOfCodes(t *testing.T) {
	for _, tc := range []struct{ cells, want string }{
		{"007 014 120", "leading zeros (007)"},
		{"00791 10115 99999", "leading zeros (00791)"},
		{"1 0020 3", "leading zeros (0020)"},
		{"01 02 12", ""},
		{"0 100 200", ""},
		{"0.25 00.5 1", ""},
		{"TRUE True FALSE", "differ in capitals"},
		{"yes no YES", "differ in capitals"},
		{"New_York NewYork Bonn", "differ in capitals or blanks"},
	} {
		in := "x;z;y\n"
		for i, c := range strings.Fields(tc.cells) {
			in += fmt.Sprintf("%s;%d;1\n", strings.ReplaceAll(c, "_", " "), i*i)
		}
		_, notes, err := Make(load(t, in), Options{Target: "y"})
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(notes, "; ")
		if !strings.Contains(said, tc.want) || tc.want == "" && strings.Contains(said, "zeros") {
			t.Errorf("%s: %s", tc.cells, said)
		}
	}
}

// Notes below a table are one fault with one flag, and nothing else is wrong.
func TestNotesBelow(t *testing.T) {
	for _, tc := range []struct{ below, mend, want string }{
		{"Source: own;;", "Source: own", `row 3 (line 4), column a: "Source: own" stands alone`},
		{"* preliminary;;", "* preliminary", "stands alone"},
		{"as of 2024;;", "as of 2024", "stands alone"},
		{"Source: own;;\nNote: rounded;;", "", "and 1 row below stand alone"},
		{"Total;99;99", "Total", "looks like a line of totals"},
		{"Total 2024;99;99", "Total 2024", "looks like a line of totals"},
		{"Summe:;99;99", "Summe:", "looks like a line of totals"},
	} {
		_, _, err := Make(load(t, "a;b;y\n1;2;3\n4;5;7\n"+tc.below+"\n"), Options{Target: "y"})
		f, ok := err.(Faults)
		if !ok || len(f) != 1 || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.below, err)
			continue
		}
		if tc.mend != "" && (len(f[0].Mend) != 2 || f[0].Mend[0] != "--comment" || f[0].Mend[1] != tc.mend) {
			t.Errorf("%s: mend %q", tc.below, f[0].Mend)
		}
	}
}

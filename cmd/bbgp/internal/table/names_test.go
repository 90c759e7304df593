package table

import (
	"slices"
	"strings"
	"testing"
)

// Names are unique whatever the header has, and the first bearer keeps its own.
func TestUniqueNames(t *testing.T) {
	for header, want := range map[string]string{
		"a,a,a.2,y":       "a a.3 a.2 y",
		"a.2,a,a,a,a.2":   "a.2 a a.3 a.4 a.2.2",
		"a,a.2,a,a.2,a.3": "a a.2 a.4 a.2.2 a.3",
		",,c2":            "c1 c2 c2.2",
		"c3,x,":           "c3 x c3.2",
		"b,b,b":           "b b.2 b.3",
	} {
		r, err := NewReader("f", strings.NewReader(header+"\n"), ReadOptions{Header: HeaderYes, Delimiter: ','})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.Names, " "); got != want {
			t.Errorf("%s: %s, want %s", header, got, want)
		}
	}
	for header, want := range map[string]string{
		"y,y,a": "the name y is that of several columns: the first keeps it, the next is called y.2",
		"a,b,b,b": "the name b is that of several columns: the first keeps it, the next is called b.2; " +
			"2 columns are renamed so",
		"a,A,y": "",
	} {
		r, err := NewReader("f", strings.NewReader(header+"\n"), ReadOptions{Header: HeaderYes, Delimiter: ','})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.Notes(), "; "); got != want {
			t.Errorf("%s: %q, want %q: who chooses a column by a name has to know which", header, got, want)
		}
	}
	many := slices.Repeat([]string{"x", "x.2", "x.2.2", "x.3"}, 5000)
	makeUnique(many)
	slices.Sort(many)
	if n := len(slices.Compact(many)); n != 20000 {
		t.Errorf("%d of 20000 names are unique", n)
	}
}

package table

import (
	"errors"
	"strings"
	"testing"
)

// No input makes the reader panic; what it reads has the shape it says, and
// what it refuses is an *Error.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{"", "a,b\n1,2\n", "a;b\n1,5;2\n", "\"a\",b\r\n\"x\n\"\"y\",NA\r\n", "1|2\r3|4\r",
		"a\tb\n\t\n", "a,b\n\"", "\xef\xbb\xbf\"", "x\n\"\"\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := NewReader("f", strings.NewReader(s), ReadOptions{})
		var tab *Table
		if err == nil {
			tab, err = Load(r, Request{})
		}
		var e *Error
		if err != nil {
			if !errors.As(err, &e) {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		for _, c := range tab.Columns {
			if len(c.Num) != tab.Rows || c.Codes != nil && len(c.Codes) != tab.Rows {
				t.Fatalf("%q: column %s has %d of %d cells", s, c.Name, len(c.Num), tab.Rows)
			}
		}
		for i := 1; i < tab.Rows; i++ {
			if tab.Line(i) <= tab.Line(i-1) {
				t.Fatalf("%q: lines do not rise", s)
			}
		}
	})
}

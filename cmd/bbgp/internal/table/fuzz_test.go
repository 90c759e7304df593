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

// Whatever stands in a header, its columns have names, each another one, and are found by
// them.
func FuzzHeader(f *testing.F) {
	for _, s := range []string{"a,a,a.2,y", "a.2,a,a,a,a.3", ",,", "\"x\n\",x ", "1,1.2,1", "caf\xe9,caf\xe8",
		"\x1b]0;x\a,b", "a;b,c;d", "\xef\xbb\xbfa,b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1<<11 {
			return // each name is looked for among all
		}
		in, err := Open(Stdin, strings.NewReader(s+"\n1,2,3,4\n"), ReadOptions{})
		if err != nil {
			return
		}
		r, err := NewReader("f", in, ReadOptions{Header: HeaderYes, NoHead: true})
		if err != nil {
			return
		}
		for j, n := range r.Names {
			if k, err := Find("f", r.Names, n); err != nil || k != j || n == "" {
				t.Fatalf("%q: column %d is called %q, which is column %d, %v", s, j, n, k, err)
			}
		}
	})
}

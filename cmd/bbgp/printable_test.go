package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// What stands in headers and cells does not command a terminal, fakes no message and
// fills no screen.
func TestPrintable(t *testing.T) {
	dir := t.TempDir()
	evil := "a\x1b]0;owned\x07"
	long := strings.Repeat("n", 1<<20)
	for _, header := range []string{evil + ",b,y", "\"x\nbbgp: all is well\",b,y", long + ",b,y", "a,b,y\x1b[2J"} {
		table := header + "\n1,2,3\n2,3,5\n4,1,7\n3,3,4\n5,2,q\x1b[31m\n"
		for _, args := range [][]string{{"check", "-"}, {"check", "-", "--target", "zz"},
			{"fit", "-", "--target", "3", "--out", filepath.Join(dir, "m")}, {"plan", "-", "--target", "b"}} {
			r := bbgpRun(t, table, args...)
			for _, line := range strings.Split(r.err, "\n") {
				if strings.ContainsAny(line, "\x1b\x07") || strings.HasPrefix(line, "bbgp: all") || len(line) > 5000 {
					t.Errorf("%q: %.200q", args, line)
				}
			}
			if strings.ContainsAny(r.out, "\x1b\x07") {
				t.Errorf("%q prints %.200q", args, r.out)
			}
		}
	}
	if s := printable("é \x00\x85\u202e\n日"); s != `é \x00\ufffd\u202e\n日` {
		t.Errorf("%s", s)
	}
}

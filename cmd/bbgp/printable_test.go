package main

import (
	"fmt"
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

// Levels and names stay on their lines of a report, whatever they hold, and are cut.
func TestReportsKeepTheirLines(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("a,\"b\u009b\nnote: fake\",y\n")
	for i := range 24 {
		level := []string{"p", "x\nLML           fake", "\u009b31m", "\u202eevil", strings.Repeat("l", 200_000),
			"\u2028"}[i%6]
		fmt.Fprintf(&b, "%d,\"%s\",%d\n", i*7%13, level, i*5%11)
	}
	d, model := write(t, dir, "d.csv", b.String()), filepath.Join(dir, "m")
	for _, args := range [][]string{{"check", d, "--target", "y"}, {"fit", d, "--target", "y", "--out", model},
		{"info", model}, {"plan", d, "--target", "y"},
		{"cv", d, "--target", "y"}} {
		r := want(t, exitOK, args...)
		for _, line := range strings.Split(r.out+r.err, "\n") {
			if strings.ContainsAny(line, "\u009b\u202e\u2028") || len(line) > 5000 || strings.HasPrefix(line, "LML") &&
				strings.Contains(line, "fake") || strings.HasPrefix(line, "note: fake") {
				t.Errorf("%q prints %.200q", args, line)
			}
		}
	}
}

// A cell of a megabyte is named by its beginning, in errors, in advice, and in no command to be copied.
func TestLongCells(t *testing.T) {
	dir := t.TempDir()
	for _, cell := range []string{"x", "9", "1/2", "total "} {
		cell = strings.Repeat(cell, 1<<20/len(cell))
		for _, row := range []string{cell + ",2,3", "1,2," + cell} {
			d := write(t, dir, "d.csv", "a,b,y\n"+strings.Repeat("1,2,3\n2,1,5\n3,4,4\n", 9)+row+"\n")
			for _, args := range [][]string{{"check", d, "--target", "y"}, {"fit", d, "--target", "y"}} {
				r := bbgpRun(t, "", args...)
				if r.code != exitData || len(r.err) > 600 || len(r.out) > 2000 {
					t.Errorf("%.10s..., %s: exit %d, %d bytes, %d of an error: %.300s", row, args[0], r.code,
						len(r.out), len(r.err), r.err)
				}
			}
		}
	}
}

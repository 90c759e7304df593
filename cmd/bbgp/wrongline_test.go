package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"bbgp.dev/cmd/bbgp/internal/table"
)

// A wrong command line is answered by one line that names the flag and what to do.
func TestWrongLines(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", "d.csv", "a,b,y\n1.5,2,3.5\n2,1,4.5\n3,5,6.5\n4,1,2.5\n")
	model := filepath.Join(".", "m.bbgp")
	want(t, exitOK, "fit", "d.csv", "--target", "y", "--out", model, "--quiet")
	for _, tc := range []struct {
		line, want string
		code       int
	}{
		{"fit d.csv --taget y", "unknown flag --taget; did you mean --target?", exitUsage},
		{"fit d.csv", "--target is missing: name the column to model; bbgp check d.csv lists them", exitUsage},
		{"fit d.csv --target", "flag needs an argument: --target", exitUsage},
		{"fit d.csv --target z", "there is no such column; there are a, b, y", exitData},
		{"fit d.csv --target Y", "did you mean y?", exitData},
		{"fit --target y", "fit takes DATA.csv, not 0 arguments; for example: bbgp fit", exitUsage},
		{"fit d.csv e.csv --target y", "fit takes DATA.csv, not 2 arguments", exitUsage},
		{"fit e.csv --target y", "e.csv: no such file", exitData},
		{"fitt d.csv --target y", `unknown command "fitt"; did you mean fit?`, exitUsage},
		{"help predcit", `unknown command "predcit"; did you mean predict?`, exitUsage},
		{"help bench prodct", `unknown command "prodct"; did you mean product?`, exitUsage},
		{"version 3", `version takes no arguments, not "3"`, exitUsage},
		{"predict d.csv", `predict takes MODEL NEW.csv, not "d.csv" alone`, exitUsage},
		{"predict d.csv m.bbgp", "the model comes before the table", exitUsage},
		{"predict m.bbgp d.csv --interval 195", "--interval 195 is not a probability: 0.95, or 95 for 95 %", exitUsage},
		{"predict m.bbgp d.csv --interval x", `--interval "x" is not a number`, exitUsage},
		{"predict m.bbgp d.csv --sd-tol -1", "--sd-tol and --mean-tol must be positive", exitUsage},
		{"fit d.csv --target y --threads many", `--threads "many" is not a whole number`, exitUsage},
		{"fit d.csv --target y --seed -1", `--seed "-1" is not a whole number from 0`, exitUsage},
		{"fit d.csv --target y --seed 99999999999999999999",
			"is not a whole number from 0 that can be taken", exitUsage},
		{"fit d.csv --target y --time 5q", `--time "5q": a time is a number with a unit`, exitUsage},
		{"fit d.csv --target y --memory 2", "--memory 2 is 2 bytes; give it a unit, such as 2GiB", exitUsage},
		{"fit d.csv --target y --memory lots", `--memory "lots" is not a size such as 2GiB`, exitUsage},
		{"fit d.csv --target y --holdout 0",
			`--holdout "0" is neither a table nor a share between 0% and 100%`, exitUsage},
		{"fit d.csv --target y --holdout 20", "--holdout 20%", exitUsage},
		{"fit d.csv --target y --kernel rbf",
			`--kernel "rbf" is not one of matern32, matern12, matern52, gaussian; did you mean gaussian?`, exitUsage},
		{"fit d.csv --target y --kernel Matern52", "did you mean matern52?", exitUsage},
		{"fit d.csv --target y --method exat", "did you mean exact?", exitUsage},
		{"fit d.csv --target y --precision float64", "did you mean f64?", exitUsage},
		{"fit d.csv --target y --lml-se -1", "--lml-se -1 is not a positive number", exitUsage},
		{"fit d.csv --target y --probes 900", "--probes: 900 is not between 1 and 63", exitUsage},
		{"fit d.csv --target y --decimal comma", "has another decimal mark than ", exitData},
		{"fit d.csv --target y --weight y", "is the target and cannot tell the noise", exitData},
		{"fit d.csv --target y --sheet 2", "is no workbook (.xlsx); leave --sheet out", exitData},
		{"fit d.csv --target y --skip 9", "--skip 9 leaves nothing: the table has 5 lines", exitData},
		{"fit d.csv --target y --date a:week", `"week" is no format; there are dd/mm/yyyy`, exitUsage},
	} {
		r := bbgpRun(t, "", strings.Fields(tc.line)...)
		if r.code != tc.code || !strings.Contains(r.err, tc.want) || strings.Count(r.err, "\n") != 1 ||
			strings.Contains(r.err, "strconv") {
			t.Errorf("bbgp %s: %d %s", tc.line, r.code, r.err)
		}
	}
}

// TestOneLine: errors of two causes, and names of two lines, are one line.
func TestOneLine(t *testing.T) {
	for _, err := range []error{
		errors.Join(errors.New("leaving one out"), errors.New("not positive definite")),
		fmt.Errorf("evaluating: %w", errors.Join(context.DeadlineExceeded, io.ErrUnexpectedEOF)),
		usagef("%v", errors.Join(io.EOF, errors.Join(io.EOF, io.EOF))),
		&table.Error{File: "two\nlines.csv", Text: "no such file"},
	} {
		if s := lineOf(err); s == "" || strings.ContainsAny(s, "\n\r") || strings.Contains(s, "context") {
			t.Errorf("%q is said as %q", err, s)
		}
	}
	t.Chdir(t.TempDir())
	write(t, ".", "d.csv", "\"a\nb\",y\n1,2\n2,3\n3,7\n4,1\n")
	write(t, ".", "c", "target = y\nno = 1\n")
	for _, args := range [][]string{
		{"fit", "no\nfile.csv", "--target", "y"},
		{"fit", "d.csv", "--target", "no\ncolumn"},
		{"fit", "d.csv", "--target", "y", "--features", "a\nc"},
		{"fit", "d.csv", "--target", "y", "--kernel", "matern\n32"},
		{"fit", "d.csv", "--config", "c"},
		{"fi\nt", "d.csv"},
	} {
		r := bbgpRun(t, "", args...)
		if r.code == exitOK || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%q: code %d, %q", args, r.code, r.err)
		}
	}
}

package main

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bbgp.dev/bbgp"
)

// What the program says beside results: help, completions, manual pages, progress.

// Every command begins its help with two examples of itself.
func TestHelpBeginsWithExamples(t *testing.T) {
	root := newApp(nil, io.Discard, io.Discard).root()
	for _, c := range root.Commands() {
		r := want(t, exitOK, "help", c.Name())
		before, _, ok := strings.Cut(r.out, "\nUsage:\n")
		if n := strings.Count(before, "\n  bbgp "+c.Name()) + strings.Count(before, "| bbgp "+c.Name()); !ok || n < 2 {
			t.Errorf("help of %s has %d examples before the usage:\n%s", c.Name(), n, r.out)
		}
	}
}

func TestVersion(t *testing.T) {
	if r := want(t, exitOK, "--version"); r.out != "bbgp "+versionString()+"\n" {
		t.Errorf("%q", r.out)
	}
	data := sample(t, t.TempDir(), "d.csv", 60, 3)
	if r := want(t, exitOK, "fit", data, "--target", "y", "--max-steps", "3", "--quiet"); !strings.Contains(r.out,
		"model         not kept; --out FILE saves it") {
		t.Error(r.out)
	}
}

// Completions know the commands, the flags and the values that a flag can have.
func TestCompletions(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := want(t, exitOK, "completion", shell); len(r.out) < 2000 ||
			!strings.Contains(r.out, "__complete") || r.err != "" {
			t.Errorf("%s: %d bytes, %s", shell, len(r.out), r.err)
		}
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"fi"}, "fit\tTrain a model"},
		{[]string{"fit", "--kern"}, "--kernel\t"},
		{[]string{"fit", "--kernel", ""}, "matern52\ngaussian\n:4"},
		{[]string{"cv", "--missing", ""}, "stop\ndrop\nindicator\n:4"},
		{[]string{"predict", "--isa", "gen"}, "generic\n:4"},
		{[]string{"completion", "po"}, "powershell\n:4"},
	} {
		if r := want(t, exitOK, append([]string{"__complete"}, tc.args...)...); !strings.Contains(r.out, tc.want) {
			t.Errorf("%q: %q", tc.args, r.out)
		}
	}
	if r := want(t, exitUsage, "completion", "fsh"); !strings.Contains(r.err,
		`no completions for "fsh"; did you mean fish?`) {
		t.Error(r.err)
	}
}

// A page for each command, with its flags.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	want(t, exitOK, "man", dir)
	root := newApp(nil, io.Discard, io.Discard).root()
	for _, c := range root.Commands() {
		b, err := os.ReadFile(filepath.Join(dir, "bbgp-"+c.Name()+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, s := range []string{".TH ", ".SH NAME", ".SH SYNOPSIS",
			".SH EXAMPLES", ".SH EXIT STATUS", roff(c.Short)} {
			if !bytes.Contains(b, []byte(s)) {
				t.Errorf("the page of %s has no %q", c.Name(), s)
			}
		}
		if c.Flags().Lookup("isa") != nil && !bytes.Contains(b, []byte(`.B \-\-isa`)) {
			t.Errorf("the page of %s does not have its flags", c.Name())
		}
	}
	want(t, exitUsage, "man", filepath.Join(dir, "none"))
}

// stepsOf is a fit in short: a pre-fit, four evaluations, a rejected trial, the end.
func stepsOf() []bbgp.Step {
	s := []bbgp.Step{{Phase: "prefit", Step: 1, LML: -20, Lower: -20, Upper: -20, Seconds: 0.1}}
	for k := 1; k <= 4; k++ {
		s = append(s, bbgp.Step{Phase: "train", Step: 1 + k, LML: -10 + float64(k), Lower: -10.5 + float64(k),
			Upper: -9.5 + float64(k), StdErr: 0.25,
			Evaluations: k, Passes: 3 * k, Seconds: 2 * float64(k)})
	}
	return append(s, bbgp.Step{Phase: "train", Rejected: true, LML: math.NaN(), Seconds: 9},
		bbgp.Step{Phase: "final", Step: 6, LML: -5.5, Lower: -6, Upper: -5, Passes: 20, Seconds: 10})
}

// On a terminal one line is drawn anew, with a bar; the last line of a phase stays.
func TestLiveProgress(t *testing.T) {
	var b bytes.Buffer
	p := &teller{w: &b, live: true}
	for _, s := range stepsOf() {
		p.tell(s)
	}
	got := b.String()
	for _, s := range []string{
		"bbgp: prefit  step   1  LML -20  0.1 s" + clearLine + "\r\n",
		"[#.........] bbgp: train   step   2  LML -9 in [-9.5, -8.5] ± 0.25  passes 3  2.0 s" + clearLine + "\r",
		"[###.......] bbgp: train   step   5  LML -6 in [-6.5, -5.5] ± 0.25  passes 12  8.0 s, about 24s left" +
			clearLine + "\r\n",
		"bbgp: final   step   6  LML -5.5 in [-6, -5]  passes 20  10.0 s\n",
	} {
		if !strings.Contains(got, s) {
			t.Errorf("no %q in\n%q", s, got)
		}
	}
	if strings.Count(got, "\n") != 3 || strings.Contains(got, "NaN") {
		t.Errorf("%q", got)
	}
}

// Elsewhere there are plain lines, without a bar or codes of terminals, and what is
// left is at most what the budget leaves.
func TestPlainProgress(t *testing.T) {
	var b bytes.Buffer
	p := &teller{w: &b, budget: 11 * time.Second}
	for _, s := range stepsOf() {
		p.tell(s)
	}
	got := b.String()
	if strings.ContainsAny(got, "\x1b\r#") || strings.Count(got, "\n") != 6 ||
		!strings.Contains(got, "8.0 s, about 3s left\n") {
		t.Errorf("%q", got)
	}
	// Lines that follow too soon are left out.
	b.Reset()
	p = &teller{w: &b, every: time.Hour}
	for _, s := range stepsOf() {
		p.tell(s)
	}
	if n := strings.Count(b.String(), "\n"); n != 3 {
		t.Errorf("%d lines of three phases", n)
	}
}

// Colour is for terminals, unless NO_COLOR or TERM=dumb says no. The null device is
// a character device as a terminal is.
func TestNoColor(t *testing.T) {
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	if isTerminal(f) && yellow(f, "warning") != "\x1b[33mwarning\x1b[0m" {
		t.Errorf("%q", yellow(f, "warning"))
	}
	if s := yellow(io.Discard, "warning"); s != "warning" {
		t.Errorf("a file: %q", s)
	}
	t.Setenv("NO_COLOR", "1")
	if s := yellow(f, "warning"); s != "warning" {
		t.Errorf("NO_COLOR: %q", s)
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	if s := yellow(f, "warning"); s != "warning" {
		t.Errorf("TERM=dumb: %q", s)
	}
}

// One JSON object a step, nothing with --quiet.
func TestProgressFormats(t *testing.T) {
	dir := t.TempDir()
	data, few := sample(t, dir, "d.csv", 120, 8), sample(t, dir, "few.csv", 50, 8)
	r := want(t, exitOK, "fit", data, "--target", "y", "--progress", "json")
	lines := strings.Split(strings.TrimSpace(r.err), "\n")
	if len(lines) < 3 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		hasKeys(t, object(t, line), "phase step lml lower upper evaluations passes seconds parameters")
	}
	m := object(t, want(t, exitOK, "fit", few, "--target", "y", "--quiet", "--json").out)
	if total := m["total_cpu_seconds"].(float64); total < m["cpu_seconds"].(float64) {
		t.Errorf("%v CPU seconds in all, %v of them for the fit", total, m["cpu_seconds"])
	}
	if r = want(t, exitOK, "fit", few, "--target", "y", "--quiet"); r.err != "" {
		t.Errorf("--quiet says %q", r.err)
	}
}

// info MODEL tells all that the file holds.
func TestModelInfo(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.bbgp")
	var b strings.Builder
	b.WriteString("kind,a,day,w,y\n")
	for i := range 60 {
		cell := []string{"1", "2", "3", "4", ""}[i%5]
		b.WriteString(strings.Join([]string{"red blue"[4*(i%2) : 4*(i%2)+3], cell,
			"2024-01-" + string(rune('1'+i/30)) + string(rune('0'+i%10)), "2", cell + string(rune('0'+i%7))}, ",") +
			"\n")
	}
	want(t, exitOK, "fit", write(t, dir, "d.csv", b.String()), "--target", "y", "--date", "day", "--weight", "w",
		"--missing", "indicator", "--out", model, "--quiet")
	text := want(t, exitOK, "info", model).out
	for _, s := range []string{"model of y, 60 rows, 5 inputs, kernel matern32", "noise sd", "kind=red", "a missing",
		"day                      date", "inputs are the mean, and told",
		"weights       column w", "LML ", "exact but for rounding of", "seed 0", "predictions   dense", "format 1",
		"checksum right", "by bbgp "} {
		if !strings.Contains(text, s) {
			t.Errorf("no %q in\n%s", s, text)
		}
	}
	m := object(t, want(t, exitOK, "info", model, "--json").out)
	hasKeys(t, m, "parameters scaling target inputs missing file lml lower upper bound_kind seed isa optimizer trace")
	hasKeys(t, m["file"].(map[string]any), "format bytes writer mean_error dense rank neighbours node seed")
}

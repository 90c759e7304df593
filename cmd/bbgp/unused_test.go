package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Where the program chooses a method that takes nothing from a flag, it says so.
func TestUnusedIsTold(t *testing.T) {
	dir := t.TempDir()
	data := sample(t, dir, "d.csv", 40, 1)
	const says = "method exact was chosen, which takes nothing from --rank, --probes; --method bbgp does"
	flags := []string{"--rank", "10", "--probes", "9"}
	report := filepath.Join(dir, "fit.json")
	for _, args := range [][]string{{"fit", data, "--target", "y"}, {"cv", data, "--target", "y", "--folds", "2"},
		{"plan", data, "--target", "y"}} {
		if r := want(t, exitOK, append(args, flags...)...); !strings.Contains(r.out+r.err, says) {
			t.Errorf("%v: %s%s", args, r.out, r.err)
		}
	}
	fitted := want(t, exitOK, "fit", data, "--target", "y", "--json", "--quiet")
	if err := os.WriteFile(report, []byte(fitted.out), 0o600); err != nil {
		t.Fatal(err)
	}
	lml := append([]string{"lml", data, "--target", "y", "--params", report}, flags...)
	if r := want(t, exitOK, lml...); !strings.Contains(r.err, says) {
		t.Errorf("%s", r.err)
	}
	if r := want(t, exitOK, append(lml, "--quiet")...); r.err != "" {
		t.Errorf("with --quiet: %s", r.err)
	}
}

// All flags as --print-config prints them are a file of flags: the time without an end is among them, and flags that
// exclude each other, which are not given.
func TestPrintedFlagsAreRead(t *testing.T) {
	dir := t.TempDir()
	data, model := sample(t, dir, "d.csv", 30, 1), filepath.Join(dir, "m.bbgp")
	printed := want(t, exitOK, "fit", data, "--target", "y", "--out", model, "--print-config")
	if !strings.Contains(printed.out, "time = 0\n") {
		t.Fatalf("no time in %s", printed.out)
	}
	want(t, exitOK, "fit", data, "--config", write(t, dir, "fit.conf", printed.out), "--quiet")
	for _, args := range [][]string{{"cv", data, "--target", "y", "--loo"}, {"predict", model, data}} {
		printed := want(t, exitOK, append(args, "--print-config")...)
		again := []string{args[0], args[1], "--quiet", "--config", write(t, dir, args[0], printed.out)}
		if args[0] == "predict" {
			again = append(again, args[2])
		}
		want(t, exitOK, again...)
	}
}

// A file of flags that says a thing twice is refused; lists may go on, and the mark that editors put before a text is
// none of it.
func TestConfigOnce(t *testing.T) {
	dir := t.TempDir()
	data := sample(t, dir, "d.csv", 30, 1)
	b, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(b), "\n")
	names := strings.Split(head, ",")
	twice := write(t, dir, "twice", "target = "+names[0]+"\n# again\ntarget = y\n")
	const says = "line 3: target stands in line 1"
	if r := want(t, exitUsage, "fit", data, "--config", twice); !strings.Contains(r.err, says) {
		t.Error(r.err)
	}
	list := write(t, dir, "list", "\ufefftarget = y\nignore = "+names[0]+"\nignore = "+names[1]+"\n")
	r := want(t, exitOK, "fit", data, "--config", list, "--json", "--quiet")
	if inputs := object(t, r.out)["inputs"].([]any); len(inputs) != len(names)-3 {
		t.Errorf("inputs %v of %v", inputs, names)
	}
	zero := write(t, dir, "zero", "target = y\x00\n")
	if r := want(t, exitUsage, "fit", data, "--config", zero); !strings.Contains(r.err, "no file of flags") {
		t.Error(r.err)
	}
}

// What would do nothing, or nothing good, is refused.
func TestPointless(t *testing.T) {
	dir := t.TempDir()
	data, model := sample(t, dir, "d.csv", 30, 1), filepath.Join(dir, "m.bbgp")
	want(t, exitOK, "fit", data, "--target", "y", "--out", model, "--quiet", "--max-steps", "1")
	for _, c := range []struct {
		code int
		args []string
		says string
	}{
		{exitUsage, []string{"predict", model, data, "--interval", "0"}, "--interval 0"},
		{exitUsage, []string{"fit", "-", "--target", "y", "--holdout", "-"}, "can be read once"},
		{exitData, []string{"cv", data, "--target", "y", "--group", "y"}, "column y: is the target"},
		{exitData, []string{"cv", data, "--target", "y", "--block", "y"}, "column y: is the target"},
		{exitOK, []string{"plan", data, "--target", "y", "--time", "1ns"}, "more than --time 1ns"},
	} {
		if r := want(t, c.code, c.args...); !strings.Contains(r.err, c.says) {
			t.Errorf("%q: %s", c.args, r.err)
		}
	}
}

// A file of --blanks does not keep what an earlier run has left where no row is without a target.
func TestNoBlanks(t *testing.T) {
	dir := t.TempDir()
	data, out := sample(t, dir, "d.csv", 30, 1), write(t, dir, "blanks.csv", "row,mean,sd,sd_obs\n7,1,1,1\n")
	want(t, exitOK, "fit", data, "--target", "y", "--blanks", out, "--quiet")
	b, err := os.ReadFile(out)
	if err != nil || string(b) != "row,mean,sd,sd_obs\n" {
		t.Errorf("%q, %v: rows of an earlier run", b, err)
	}
}

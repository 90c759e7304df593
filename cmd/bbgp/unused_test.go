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

// All flags as --print-config prints them are a file of flags, the time without an end among them.
func TestPrintedFlagsAreRead(t *testing.T) {
	dir := t.TempDir()
	data := sample(t, dir, "d.csv", 30, 1)
	printed := want(t, exitOK, "fit", data, "--target", "y", "--print-config")
	if !strings.Contains(printed.out, "time = 0\n") {
		t.Fatalf("no time in %s", printed.out)
	}
	config := write(t, dir, "flags.conf", printed.out)
	want(t, exitOK, "fit", data, "--config", config, "--quiet")
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

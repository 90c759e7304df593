package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// everyCommand is a command line of each command that prints or writes, with a table
// and a model of the folder dir.
func everyCommand(t *testing.T, dir string) [][]string {
	t.Helper()
	d, m, p := sample(t, dir, "d.csv", 60, 3), filepath.Join(dir, "m.bbgp"), filepath.Join(dir, "p.json")
	want(t, exitOK, "fit", d, "--target", "y", "--out", m, "--quiet")
	if err := os.WriteFile(p, []byte(want(t, exitOK, "fit", d, "--target", "y", "--quiet", "--json").out),
		0o644); err != nil {
		t.Fatal(err)
	}
	return [][]string{
		{"fit", d, "--target", "y", "--quiet", "--start", p}, {"predict", m, d, "--quiet"}, {"sample", m, d, "--quiet"},
		{"cv", d, "--target", "y", "--quiet", "--folds", "2"}, {"lml", d, "--target", "y", "--params", p}, {"check", d},
		{"plan", d, "--target", "y"},
		{"report", m, "--data", d, "--out", "-"}, {"info", m}, {"info"}, {"help"}, {"help", "fit"}, {"fit", "--help"},
		{"--version"}, {"completion", "bash"},
		{"fit", d, "--target", "y", "--print-config"},
	}
}

// No command writes over what it reads, by whatever name.
func TestOutputIsNoInput(t *testing.T) {
	dir := t.TempDir()
	tried := 0
	for _, args := range everyCommand(t, dir) {
		c, _, err := (&app{}).root().Find(args)
		if err != nil || c.Flags().Lookup("out") == nil || slices.Contains(args, "--help") ||
			slices.Contains(args, "--print-config") {
			continue
		}
		for _, in := range args[1:] {
			if !strings.HasPrefix(in, dir) {
				continue
			}
			before, err := os.ReadFile(in)
			if err != nil {
				t.Fatal(err)
			}
			other := filepath.Join(dir, "other")
			for _, link := range []func(string, string) error{os.Symlink, os.Link} {
				os.Remove(other) // of the last turn
				if err := link(in, other); err != nil {
					t.Skip(err)
				}
				for _, out := range []string{in, other} {
					tried++
					r := want(t, exitUsage, append(slices.Clone(args), "--out", out)...)
					if !strings.Contains(r.err, "is the same file as") {
						t.Errorf("%q: %s", args, r.err)
					}
				}
			}
			if after, err := os.ReadFile(in); err != nil || !bytes.Equal(before, after) {
				t.Errorf("%q: %s was changed", args, in)
			}
		}
	}
	if tried < 30 {
		t.Errorf("%d cases", tried)
	}
	d := filepath.Join(dir, "d.csv")
	for _, args := range [][]string{{"--out", "x", "--checkpoint", "x"}, {"--checkpoint", d, "--resume"},
		{"--blanks", d}, {"--out", "x", "--blanks", "./x"}, {"--holdout", d, "--blanks", d}} {
		want(t, exitUsage, append([]string{"fit", d, "--target", "y"}, args...)...)
	}
	want(t, exitUsage, "cv", filepath.Join(dir, "d.csv"), "--target", "y", "--plot", filepath.Join(dir, "no", "p"))

	// Every output of a fit and every input.
	h, conf, costs := sample(t, dir, "h.csv", 20, 4), write(t, dir, "f.conf", "target = y\n"),
		write(t, dir, "costs.json", want(t, exitOK, "bench", "costs", "--json").out)
	ins := map[string]string{d: "", h: "--holdout", filepath.Join(dir, "p.json"): "--start", costs: "--costs",
		conf: "--config", filepath.Join(dir, "m.bbgp"): "--checkpoint"}
	fit := []string{"fit", d, "--target", "y", "--resume"}
	for path, flag := range ins {
		if flag != "" {
			fit = append(fit, flag, path)
		}
	}
	for path, flag := range ins {
		for _, out := range outFlags {
			if out == "plot" || flag == "--"+out {
				continue
			}
			r := want(t, exitUsage, append(slices.Clone(fit), "--"+out, path)...)
			if !strings.Contains(r.err, "is the same file as") {
				t.Errorf("--%s %s: %s", out, path, r.err)
			}
		}
	}
	png := write(t, dir, "plot.png", "a,y\n1,2\n")
	want(t, exitUsage, "cv", png, "--target", "y", "--plot", strings.TrimSuffix(png, ".png"))
}

// A demo leaves tables alone that are none of its own.
func TestDemoKeepsTables(t *testing.T) {
	dir := t.TempDir()
	for _, s := range []string{"a,y\n1,2\n", "y\n1\n", "x1,x2,x3,x4,y\n0.5,7,.1,.1,1\n",
		"x1,x2,x3,x4,y\n.1,.1,.1,,1\n", "x1,x2,x3,x4,y\n", "x1,x2,x3,z,y\n.1,.1,.1,.1,1\n"} {
		path := write(t, dir, "train.csv", s)
		r := want(t, exitUsage, "demo", "--n", "30", "--dir", dir, "--quiet")
		if b, err := os.ReadFile(path); err != nil || string(b) != s || !strings.Contains(r.err, "train.csv") {
			t.Errorf("%q is %q, %v: %s", s, b, err, r.err)
		}
	}
	for range 2 {
		want(t, exitOK, "demo", "--n", "30", "--d", "4", "--dir", filepath.Join(dir, "new"), "--quiet")
	}
}

// A full disk ends every command with code 1, wherever it prints.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	dir := t.TempDir()
	for _, args := range everyCommand(t, dir) {
		errw := new(bytes.Buffer)
		if code := run(t.Context(), args, nil, full, errw); code != exitInternal ||
			strings.Count(errw.String(), "\n") != 1 || !strings.Contains(errw.String(), "no space left") {
			t.Errorf("%q: exit %d: %s", args, code, errw)
		}
		c, _, err := (&app{}).root().Find(args)
		if err == nil && c.Flags().Lookup("out") != nil && !slices.Contains(args, "--help") &&
			!slices.Contains(args, "--print-config") {
			want(t, exitInternal, append(slices.Clone(args), "--out", "/dev/full")...)
		}
	}
}

// Results may go into a pipe by a name, as a shell's >(command) has it.
func TestOutputByDescriptor(t *testing.T) {
	if _, err := os.Stat("/dev/fd/1"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	all := everyCommand(t, dir)
	for _, name := range []string{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"} {
		c, _ := command(t, "bbgp", append(slices.Clone(all[1]), "--out", name)...)
		out, err := c.Output()
		if err != nil || bytes.Count(out, []byte("\n")) != 61 {
			t.Errorf("%s: %d bytes, %v", name, len(out), err)
		}
		// Behind what a redirection holds already.
		f, err := os.OpenFile(filepath.Join(dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		c, _ = command(t, "bbgp", append(slices.Clone(all[1]), "--out", name)...)
		c.Stdout = f
		if err := c.Run(); err != nil {
			t.Error(err)
		}
		f.Close()
	}
	b, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil || bytes.Count(b, []byte("\n")) != 3*61 {
		t.Errorf("%d lines, %v", bytes.Count(b, []byte("\n")), err)
	}
	c, _ := command(t, "bbgp", all[5]...)
	f, err := os.OpenFile(all[5][1], os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c.Stdout = f
	if err := c.Run(); err == nil || err.(*exec.ExitError).ExitCode() != exitUsage {
		t.Errorf("a table was written behind itself: %v", err)
	}
}

// What predict refuses it refuses before it prints anything, wherever in a file the row is; of a pipe, which cannot be
// read twice, the blocks before are printed.
func TestPredictPrintsWholeOutputs(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.bbgp")
	want(t, exitOK, "fit", sample(t, dir, "d.csv", 60, 6), "--target", "y", "--quiet", "--out", model)
	for _, bad := range []string{"x", "1e200", "inf", "", "1,2"} {
		counts := []int{3, blockRows + 100}
		if bad == "x" {
			counts = append(counts, heldBytes/16) // more than is held back
		}
		for _, good := range counts {
			rows := "a,b,c\n" + strings.Repeat(".1,.2,.3\n", good) + ".1,.2," + bad + "\n.1,.2,.3\n"
			file := write(t, dir, "new.csv", rows)
			if r := want(t, exitData, "predict", model, file, "--quiet"); r.out != "" ||
				!strings.Contains(r.err, fmt.Sprintf("row %d", good+1)) {
				t.Errorf("%q after %d rows: %d lines printed, %s", bad, good, strings.Count(r.out, "\n"), r.err)
			}
			printed := strings.Count(bbgpRun(t, rows, "predict", model, "-", "--quiet").out, "\n")
			whole := good / blockRows * blockRows
			if whole == 0 && printed != 0 || whole > 0 && printed != 1+whole {
				t.Errorf("%q after %d rows of a pipe: %d lines printed", bad, good, printed)
			}
		}
	}
}

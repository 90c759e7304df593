package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each command says what its least budget is, is done within that, and keeps to it.
func TestCommandsWithinBudget(t *testing.T) {
	dir := t.TempDir()
	d, rows := sample(t, dir, "d.csv", 800, 4), sample(t, dir, "new.csv", 2500, 5)
	small, model := filepath.Join(dir, "small.bbgp"), filepath.Join(dir, "m.bbgp")
	fit := []string{"--target", "y", "--quiet", "--max-steps", "1", "--restarts", "1", "--probes", "1"}
	want(t, exitOK, append([]string{"fit", d, "--method", "bbgp", "--out", model}, fit...)...)
	want(t, exitOK, append([]string{"fit", sample(t, dir, "s.csv", 40, 4), "--out", small}, fit...)...)
	for _, args := range [][]string{{"predict", model, rows, "--quiet"}, {"predict", model, rows, "--sd", "--quiet"},
		{"predict", small, rows, "--sd", "--quiet"},
		{"report", model, "--data", d, "--out", filepath.Join(dir, "r.html")},
		{"report", model, "--out", filepath.Join(dir, "r.html")}, {"sample", model, d, "--draws", "40", "--quiet"},
		{"sample", small, d, "--draws", "3", "--quiet"}, {"sample", model, rows, "--draws", "40", "--quiet"},
		append([]string{"cv", d, "--folds", "2"}, fit...), append([]string{"cv", d, "--loo"}, fit...), {"check", d}} {
		code, budget, _ := budgeted(t, 1<<20, args)
		for range 4 { // the program alone, its model, the rows, what it computes
			if code != exitRefused {
				break
			}
			var peak int64
			asked := budget
			code, budget, peak = budgeted(t, asked, args)
			switch {
			case code == exitOK && float64(peak) > 1.1*float64(asked):
				t.Errorf("%q: a peak of %.0f MB within %.0f", args, float64(peak)/1e6, float64(asked)/1e6)
			case code == exitRefused && budget <= asked:
				t.Errorf("%q needs %d bytes, and no more than that where it has them", args, budget)
			}
			t.Logf("%s: %.0f MB of %.0f, code %d", args, float64(peak)/1e6, float64(asked)/1e6, code)
		}
		if code != exitOK {
			t.Errorf("%q: exit %d within what it asks for, %d bytes", args, code, budget)
		}
	}
}

// Rows to draw at are held in memory: a pipe without an end is refused before it fills that.
func TestRowsToDrawAtWithinBudget(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.bbgp")
	want(t, exitOK, "fit", sample(t, dir, "s.csv", 40, 4), "--target", "y", "--out", model, "--quiet")
	r := bbgpRun(t, "a,b,c\n"+strings.Repeat("1,2,3\n", 300_000), "sample", model, "-", "--memory", "36MB")
	if r.code != exitRefused || r.out != "" || !strings.Contains(r.err, "a table of rows to draw at needs") {
		t.Errorf("exit %d: %.100s%s", r.code, r.out, r.err)
	}
}

// budgeted runs a command with a budget. Where that is refused, least is what the command asks for.
func budgeted(t *testing.T, budget int64, args []string) (code int, least, peak int64) {
	t.Helper()
	c, errw := command(t, "measured", append([]string{args[0], "--memory", fmt.Sprint(budget) + "B"}, args[1:]...)...)
	c.Stderr = errw
	err := c.Run()
	code = c.ProcessState.ExitCode()
	said, told, _ := strings.Cut(errw.String(), "peak ")
	if _, bad := fmt.Sscan(told, &peak); bad != nil {
		t.Fatalf("%q: %v: %s", args, err, errw)
	}
	var has int64
	switch m := regexp.MustCompile(`needs \d+ MiB, the memory budget is \d+ MiB`).FindString(said); {
	case code == exitOK:
	case m == "" || code != exitRefused:
		t.Errorf("%q: exit %d: %s", args, code, said)
	default:
		if _, bad := fmt.Sscanf(m, "needs %d MiB, the memory budget is %d MiB", &least, &has); bad != nil ||
			has != budget>>20 {
			t.Errorf("%q: of a budget of %d MiB: %s, %v", args, budget>>20, said, bad)
		}
	}
	return code, least << 20, peak
}

// What cannot be measured in the memory of the machine is refused.
func TestBenchWithinBudget(t *testing.T) {
	for _, line := range []string{"bench product --n 1000000000000", "bench gradient --n 1000000000000 --d 1000",
		"bench dense --scale 1e6"} {
		if r := bbgpRun(t, "", strings.Fields(line)...); r.code != exitRefused {
			t.Errorf("%s: exit %d: %s", line, r.code, r.err)
		}
	}
}

// Parameters that the table does not go with are those of a file.
func TestParametersOffTheTable(t *testing.T) {
	dir := t.TempDir()
	d := sample(t, dir, "d.csv", 30, 4)
	for _, tc := range []struct{ params, want string }{
		{`{"mean":0,"variance":1,"noise":1,"lengthscales":[1,1e-308,1]}`, `"lengthscales[1]": is too small for values`},
		{`{"mean":0,"variance":1,"noise":1e-300,"lengthscales":[1e300,1e300,1e300]}`, "the likelihood is not finite"},
	} {
		p := write(t, dir, "p.json", tc.params)
		r := bbgpRun(t, "", "lml", d, "--target", "y", "--params", p)
		if r.code != exitData || !strings.Contains(r.err, "p.json: ") || !strings.Contains(r.err, tc.want) {
			t.Errorf("%s: exit %d: %s", tc.params, r.code, r.err)
		}
		r = bbgpRun(t, "", "fit", d, "--target", "y", "--start", p, "--max-steps", "1", "--quiet")
		if r.code != exitData && r.code != exitOK || r.code == exitData && !strings.Contains(r.err, "p.json: ") {
			t.Errorf("%s: exit %d: %s", tc.params, r.code, r.err)
		}
	}
}

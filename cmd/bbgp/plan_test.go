package main

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"bbgp.dev/bbgp"
)

// A plan is within a factor of two of what a fit in a process of its own does.
func TestPlan(t *testing.T) {
	if testing.Short() {
		t.Skip("a fit of 2500 rows")
	}
	dir := t.TempDir()
	data := sample(t, dir, "d.csv", 2500, 8) // fits of such data take 8 to 24 evaluations, by the seed
	var p bbgp.Plan
	if err := json.Unmarshal([]byte(want(t, exitOK, "plan", data, "--target", "y", "--json").out), &p); err != nil {
		t.Fatal(err)
	}
	if p.Rows != 2500 || p.Distinct != 2500 || p.Inputs != 3 || p.Method != "bbgp" || p.Sample != 1250 || p.Seconds <= 0 {
		t.Errorf("%+v", p)
	}
	// A process of its own has a peak of its own.
	m := played(t, "fit", data, "--target", "y", "--json", "--quiet")
	within(t, "passes planned over done", float64(p.Passes)/m["passes"].(float64), 0.5, 2)
	within(t, "evaluations planned over done", float64(p.Evaluations)/m["evaluations"].(float64), 0.5, 2)
	within(t, "bytes planned over used", float64(p.Bytes)/m["peak_bytes"].(float64), 0.5, 2)
	t.Logf("planned %.3g CPU s, took %.3g", p.CPUSeconds, m["cpu_seconds"])

	if r := bbgpRun(t, "", "plan", data, "--target", "y", "--memory", "1MB", "--quiet"); r.code != exitRefused || !strings.Contains(r.out, "method        bbgp") || !strings.Contains(r.out, "memory        about ") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	e := played(t, "fit", data, "--target", "y", "--method", "exact", "--max-steps", "2", "--json", "--quiet")
	if err := json.Unmarshal([]byte(want(t, exitOK, "plan", data, "--target", "y", "--method", "exact", "--max-steps", "2", "--json").out), &p); err != nil {
		t.Fatal(err)
	}
	within(t, "bytes of method exact planned over used", float64(p.Bytes)/e["peak_bytes"].(float64), 0.5, 2)
}

// played runs the program in a process of its own and decodes its report.
func played(t *testing.T, args ...string) map[string]any {
	t.Helper()
	c, _ := command(t, "bbgp", args...)
	out, err := c.Output()
	if bad := (*exec.ExitError)(nil); errors.As(err, &bad) {
		t.Fatalf("%v: %s", err, bad.Stderr)
	}
	return object(t, string(out))
}

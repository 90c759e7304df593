package main

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"bbgp.dev/bbgp"
)

// Plans are within a factor of two of what fits in a process of their own do.
// Single fits of such data take 6 to 20 evaluations: three are compared in sum.
func TestPlan(t *testing.T) {
	if testing.Short() {
		t.Skip("fits of 2100 rows")
	}
	dir := t.TempDir()
	var data string
	var p bbgp.Plan
	planned, did := map[string]float64{}, map[string]float64{}
	seeds := uint64(1)
	if long() {
		seeds = 3
	}
	for seed := range seeds {
		data = sample(t, dir, "d.csv", 2100, 7+seed)
		if err := json.Unmarshal([]byte(want(t, exitOK, "plan", data, "--target", "y", "--json").out), &p); err != nil {
			t.Fatal(err)
		}
		if p.Rows != 2100 || p.Distinct != 2100 || p.Inputs != 3 ||
			p.Method != "bbgp" || p.Sample != 1050 || p.Seconds <= 0 {
			t.Errorf("%+v", p)
		}
		planned["passes"] += float64(p.Passes)
		planned["evaluations"] += float64(p.Evaluations)
		planned["peak_bytes"] += float64(p.Bytes)
		m := played(t, "fit", data, "--target", "y", "--json", "--quiet")
		for key := range planned {
			did[key] += m[key].(float64)
		}
		t.Logf("planned %.3g CPU s, took %.3g", p.CPUSeconds, m["cpu_seconds"])
	}
	for key, v := range planned {
		within(t, key+" planned over done", v/did[key], 0.5, 2)
	}

	if r := bbgpRun(t, "", "plan", data, "--target", "y", "--memory", "32MB", "--max-steps", "1",
		"--quiet"); r.code != exitRefused ||
		!strings.Contains(r.out, "method        bbgp") || !strings.Contains(r.out, "memory        about 6") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	data = sample(t, dir, "d.csv", 1000, 7)
	e := played(t, "fit", data, "--target", "y", "--method", "exact", "--max-steps", "2", "--json", "--quiet")
	if err := json.Unmarshal([]byte(want(t, exitOK, "plan", data, "--target", "y", "--method", "exact", "--max-steps",
		"2", "--json").out), &p); err != nil {
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

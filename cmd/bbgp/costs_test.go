package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bbgp.dev/internal/cost"
)

// What bench costs prints is what --costs takes, directly or in a report made by it.
func TestCosts(t *testing.T) {
	dir := t.TempDir()
	data := sample(t, dir, "d.csv", 120, 8)
	p := write(t, dir, "p.json", `{"mean":0,"variance":1,"noise":0.1,"lengthscales":[1,1,1]}`)
	costs := write(t, dir, "costs.json", want(t, exitOK, "bench", "costs", "--json").out)
	lml := func(args ...string) result {
		return want(t, exitOK, append([]string{"lml", data, "--target",
			"y", "--params", p, "--method", "bbgp"}, args...)...)
	}
	byFile := lml("--costs", costs, "--json")
	m := object(t, byFile.out)
	hasKeys(t, m, "costs probes_reason precision_reason")
	hasKeys(t, m["costs"].(map[string]any),
		"name unit pair32 pair64 wide64 column neighbour factor entry projection dense dense_entry")
	report := write(t, dir, "report.json", byFile.out)
	if r := lml("--costs", report); !strings.Contains(r.out, ", chosen by measured costs\n") {
		t.Error(r.out)
	}
	if r := lml(); strings.Contains(r.out, "costs") {
		t.Error(r.out)
	}
	if name := costsName(t, lml("--json").out); name != "standard" {
		t.Errorf("costs %s", name)
	}
	if name := costsName(t, lml("--costs", "measured", "--json").out); name != "measured" {
		t.Errorf("costs %s", name)
	}
	fit := want(t, exitOK, "fit", data, "--target", "y", "--max-steps", "3", "--costs", costs, "--json", "--quiet").out
	if name := costsName(t, fit); name != "measured" {
		t.Errorf("fit: costs %s", name)
	}
	hasKeys(t, object(t, fit), "probes_reason precision_reason")
	table := want(t, exitOK, "bench", "costs").out
	std := cost.StandardCosts()
	for _, c := range std.List() {
		if !strings.Contains(table, "\n"+c.Name+" ") {
			t.Errorf("no %s in\n%s", c.Name, table)
		}
	}
}

func costsName(t *testing.T, report string) any {
	t.Helper()
	return object(t, report)["costs"].(map[string]any)["name"]
}

func TestCostsRefused(t *testing.T) {
	dir := t.TempDir()
	data := sample(t, dir, "d.csv", 60, 3)
	point := filepath.Join(dir, "point")
	for _, k := range []struct {
		code int
		args []string
		says string
	}{
		{exitUsage, []string{"--costs", "measurd"}, "--costs measurd: no such file; standard, measured, or"},
		{exitUsage, []string{"--costs", dir}, "--costs "},
		{exitData, []string{"--costs", data}, "holds no costs"},
		{exitData, []string{"--costs", write(t, dir, "c.json", `{"name": "mine"}`)},
			"pair32.fixed is 0, not a positive number"},
		{exitUsage, []string{"--costs", "measured", "--checkpoint", point},
			"bbgp bench costs --json > costs.json, then --costs costs.json"},
		{exitUsage, []string{"--probes", "many"}, "--probes many is not auto or between 1 and 63"},
	} {
		if r := bbgpRun(t, "", append([]string{"fit", data, "--target", "y"}, k.args...)...); r.code != k.code ||
			!strings.Contains(r.err, k.says) {
			t.Errorf("%q: exit %d, %s", k.args, r.code, r.err)
		}
	}
	if _, err := os.Stat(point); err == nil {
		t.Error("a refused fit has begun a checkpoint")
	}
	if r := want(t, exitOK, "__complete", "fit", "--costs", ""); !strings.Contains(r.out, "standard\nmeasured\n:0") {
		t.Errorf("%q", r.out)
	}
}

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"bbgp.dev/kernelmv"
)

// A plan for ranks names its bottleneck; more ranks take less time and memory.
func TestPlanRanks(t *testing.T) {
	dir := t.TempDir()
	if testing.Short() {
		t.Skip("costs are measured")
	}
	data := sample(t, dir, "d.csv", 400, 7)
	plan := func(ranks string) (p clusterPlan) {
		out := want(t, exitOK, "plan", data, "--target", "y", "--method", "bbgp", "--rows", "1000000", "--ranks", ranks,
			"--cores", "16", "--network", "25", "--json", "--quiet").out
		if err := json.Unmarshal([]byte(out), &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	few, many := plan("2"), plan("32")
	dealt, bytes := kernelmv.DealtTo(1000000, 2), int64(0)
	for _, d := range dealt {
		bytes = max(bytes, int64(8*d.NumbersTo(8, kernelmv.F64)))
	}
	if few.Rows != 400 || few.ForRows != 1000000 || few.Cluster.Bottleneck == "" || few.Cluster.GatherBytes != bytes ||
		!(many.Cluster.Fit < few.Cluster.Fit/4) || !(many.Cluster.Bytes < few.Cluster.Bytes) {
		t.Errorf("2 ranks: %+v\n32 ranks: %+v", few.Cluster, many.Cluster)
	}
	text := want(t, exitOK, "plan", data, "--target", "y", "--method", "bbgp", "--rows", "1000000", "--ranks", "2",
		"--cores", "16", "--network", "25", "--quiet").out
	for _, part := range []string{"on 2 ranks of 16 cores, 25 Gb/s, 1000000 rows", "92 MiB", "bottleneck", "a rank"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	for _, bad := range [][]string{
		{"--ranks", "257"}, {"--cores", "0"}, {"--network", "0"}, {"--rows", "-1"}, {"--rows", "9"},
	} {
		want(t, exitUsage, append([]string{"plan", data, "--target", "y"}, bad...)...)
	}
	want(t, exitUsage, "plan", data, "--target", "y", "--ranks", "2") // exact
}

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCrossValidateLOO: one fit, all rows scored, the row that was spoilt listed
// first, a table of the predictions and the pictures.
func TestCrossValidateLOO(t *testing.T) {
	dir := t.TempDir()
	train := filepath.Join(dir, "train.csv")
	var b strings.Builder
	b.WriteString("a,b,y\n")
	for i := range 160 {
		x, z := float64(i%20)/5, float64(i/20)/4
		y := math.Sin(x) + 0.5*math.Cos(2*z) + 0.05*math.Sin(float64(37*i%101))
		if i == 123 {
			y += 3
		}
		fmt.Fprintf(&b, "%v,%v,%v\n", x, z, y)
	}
	if err := os.WriteFile(train, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	out, plot := filepath.Join(dir, "rows.csv"), filepath.Join(dir, "cal")
	m := object(t, want(t, exitOK, "cv", train, "--target", "y", "--loo", "--outliers", "3", "--out", out, "--plot",
		plot, "--json", "--quiet").out)
	v := m["validation"].(map[string]any)
	list := v["outliers"].([]any)
	if first := list[0].(map[string]any); len(list) != 3 || first["row"] != 124.0 ||
		math.Abs(first["z"].(float64)) < 5 {
		t.Errorf("outliers %v", list)
	}
	if m["kind"] != "loo" || m["bound_kind"] != "exact" || v["n"] != 160.0 || len(v["calibration"].([]any)) < 10 {
		t.Errorf("report %v", m)
	}
	if rmse, crps := v["rmse"].(float64), v["crps"].(float64); rmse > 0.4 || crps <= 0 || crps > rmse {
		t.Errorf("RMSE %v, CRPS %v", rmse, crps)
	}
	for _, ext := range []string{".png", ".svg"} {
		if s, err := os.Stat(plot + ext); err != nil || s.Size() < 1000 {
			t.Errorf("picture %s: %v", ext, err)
		}
	}
	rows, err := os.ReadFile(out)
	if err != nil || strings.Count(string(rows), "\n") != 161 ||
		!strings.HasPrefix(string(rows),
			"row,target,mean,sd_obs,z,mean_lower,mean_upper,sd_obs_lower,sd_obs_upper\n1,") {
		t.Errorf("rows: %.60s, %v", rows, err)
	}
	text := string(want(t, exitOK, "cv", train, "--target", "y", "--folds", "2", "--max-steps", "5", "--quiet").out)
	for _, s := range []string{"folds", "CRPS", "calibration", "   124 "} {
		if !strings.Contains(text, s) {
			t.Errorf("no %q in\n%s", s, text)
		}
	}
	want(t, exitUsage, "cv", train, "--target", "y", "--loo", "--folds", "3")
	want(t, exitUsage, "cv", train, "--target", "y", "--loo", "--outliers", "-1")
}

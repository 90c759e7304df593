package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reportOf fits a table and returns the page about the model.
func reportOf(t *testing.T, table, target string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	data := write(t, dir, "d.csv", table)
	model, html := filepath.Join(dir, "m.bbgp"), filepath.Join(dir, "r.html")
	want(t, exitOK, "fit", data, "--target", target, "--out", model, "--quiet")
	for i, a := range args {
		if a == "DATA" {
			args[i] = data
		}
	}
	want(t, exitOK, append([]string{"report", model, "--out", html}, args...)...)
	b, err := os.ReadFile(html)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A page about places has maps; without other rows it judges each row by the others.
func TestReportOfPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	table := "lon,lat,temp\n"
	for range 150 {
		a, b := r.Float64(), r.Float64()
		table += fmt.Sprintf("%.4f,%.4f,%.4f\n", a, b, math.Sin(5*a)*math.Cos(4*b)+0.1*r.NormFloat64())
	}
	page := reportOf(t, table, "temp")
	for _, s := range []string{"Mean of temp", "Standard deviation", "What the inputs do", "leave-one-out",
		"Quantiles of the residuals",
		"prefers-color-scheme", "currentColor"} {
		if !strings.Contains(page, s) {
			t.Errorf("the page lacks %q", s)
		}
	}
	if strings.Contains(page, "#000000") || strings.Count(page, "<image") != 4 {
		t.Errorf("%d pictures in the maps", strings.Count(page, "<image"))
	}
}

// Dates are dates, a text is one panel, and rows of the training are known as such.
func TestReportOfDatesAndTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	table := "day,machine,out\n"
	for range 120 {
		d, m := r.IntN(27), r.IntN(3)
		table += fmt.Sprintf("2023-%02d-%02d,%s,%.4f\n", 1+r.IntN(12), 1+d, []string{"Alpha", "Beta", "<old>"}[m],
			float64(m)+0.05*float64(d)+0.1*r.NormFloat64())
	}
	page := reportOf(t, table, "out", "--data", "DATA")
	for _, s := range []string{"2023-", "3 levels", "&lt;old&gt;",
		"The model was trained on 120 of them", "rows of --data"} {
		if !strings.Contains(page, s) {
			t.Errorf("the page lacks %q", s)
		}
	}
	if strings.Contains(page, "<old>") {
		t.Error("a level stands in the page as it is")
	}
}

// A text and a number that act together are drawn as a line for each level.
func TestInteractionOfATextAndANumber(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 3))
	table := "load,machine,out\n"
	for range 150 {
		x, m := r.Float64(), r.IntN(2)
		table += fmt.Sprintf("%.4f,%s,%.4f\n", x, []string{"Alpha", "Beta"}[m],
			(2*float64(m)-1)*math.Sin(4*x)+0.05*r.NormFloat64())
	}
	page := reportOf(t, table, "out")
	_, after, found := strings.Cut(page, "Interactions")
	section, _, _ := strings.Cut(after, "<h2")
	if !found || strings.Count(section, "<svg") != 1 || !strings.Contains(section, "Alpha") ||
		!strings.Contains(section, "Beta") {
		t.Errorf("no lines for both machines in %.300q", section)
	}
}

// The rows that a fit held out, and how the model did there, stay with the model; a
// table of them is as long as the share.
func TestHeldOutIsKept(t *testing.T) {
	dir := t.TempDir()
	data, model, held := sample(t, dir, "d.csv", 150, 1), filepath.Join(dir, "m.bbgp"), filepath.Join(dir, "held.csv")
	r := object(t, want(t, exitOK, "fit", data, "--target", "y", "--out", model, "--holdout", "20%", "--holdout-out",
		held, "--quiet", "--json").out)
	b, err := os.ReadFile(held)
	if err != nil || strings.Count(string(b), "\n") != 31 || !strings.HasPrefix(string(b), "row,y,mean,sd,sd_obs\n") {
		t.Errorf("%v\n%s", err, b)
	}
	kept := object(t, want(t, exitOK, "info", model, "--json").out)["held_out"].(map[string]any)
	if rows := kept["rows"].([]any); len(rows) != 30 || kept["share"] != 0.2 {
		t.Errorf("%v", kept)
	}
	if a, b := kept["score"].(map[string]any)["rmse"], r["holdout"].(map[string]any)["rmse"]; a != b {
		t.Errorf("RMSE %v, the fit said %v", a, b)
	}
	if out := want(t, exitOK, "info", model).out; !strings.Contains(out,
		"held out      30 rows, 20 % drawn with seed 0: RMSE") {
		t.Error(out)
	}
	html := filepath.Join(dir, "r.html")
	want(t, exitOK, "report", model, "--out", html)
	if b, err = os.ReadFile(html); err != nil || !strings.Contains(string(b), "Rows that the fit had not seen") {
		t.Errorf("the page does not show them: %v", err)
	}
	want(t, exitUsage, "fit", data, "--target", "y", "--holdout-out", held)
}

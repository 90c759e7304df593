package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever reads a table names the file, the row, the column and what to do about a value that
// cannot be computed with, and ends with 3.
func TestHugeEverywhere(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	good, model := sample(t, dir, "good.csv", 40, 7), at("m.bbgp")
	want(t, exitOK, "fit", good, "--target", "y", "--out", model, "--quiet", "--max-steps", "1")
	b, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	names, row := strings.Split(lines[0], ","), strings.Split(lines[7], ",")
	params := write(t, dir, "p.json", `{"kernel": "matern32", "mean": 0, "variance": 1, "noise": 0.1, `+
		`"lengthscales": [1, 1, 1]}`)
	for j, name := range names {
		if 0 < j && j < len(names)-1 {
			continue // an input and the target are enough
		}
		for _, v := range []string{"-1e200", "1e999", "high"} {
			cells := append([]string{}, row...)
			cells[j] = v
			bad := append([]string{}, lines...)
			bad[7] = strings.Join(cells, ",")
			file := write(t, dir, "bad.csv", strings.Join(bad, "\n"))
			trains := [][]string{{"check", file, "--target", "y"}, {"fit", file, "--target", "y"},
				{"cv", file, "--target", "y"}, {"plan", file, "--target", "y"},
				{"lml", file, "--target", "y", "--params", params},
				{"report", model, "--data", file, "--out", at("r.html")},
				{"fit", good, "--target", "y", "--holdout", file, "--max-steps", "1"}}
			if name != "y" {
				trains = append(trains, []string{"predict", model, file}, []string{"sample", model, file})
			}
			for _, args := range trains {
				r := bbgpRun(t, "", args...)
				place := strings.Contains(r.err, "bad.csv: row 7") && strings.Contains(r.err, "column "+name+": ")
				mend := strings.Contains(r.err, "; mend") || strings.Contains(r.err, "; correct")
				if r.code != exitData || strings.Count(r.err, "\n") != 1 || !place || !mend {
					t.Errorf("%s in column %s: %q ends with %d: %s", v, name, args, r.code, r.err)
				}
			}
		}
	}
}

// Values too close together to be scaled are refused with their column by every command that trains, as those too far
// apart are: reciprocals of what is below 1e-308 are no numbers.
func TestTinyEverywhere(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ column, x, y string }{{"x", "%de-310", "%d"}, {"x", "%de-322", "%d"},
		{"y", "%d", "%de-200"}} {
		var b strings.Builder
		b.WriteString("x,y\n")
		for i := range 20 {
			fmt.Fprintf(&b, c.x+","+c.y+"\n", i+1, (7*i)%11)
		}
		file := write(t, dir, "tiny.csv", b.String())
		for _, command := range []string{"check", "fit", "cv", "plan"} {
			r := bbgpRun(t, "", command, file, "--target", "y")
			if r.code != exitData || !strings.Contains(r.err, "column "+c.column+": values from ") ||
				!strings.Contains(r.err, "give the column in other units") {
				t.Errorf("%s of %s: %d, %s", command, c.x, r.code, r.err)
			}
		}
	}
}

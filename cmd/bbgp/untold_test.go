package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// A missing cell of a column that was never without one in training has the mean for a guess, and no
// deviation: those of the rows that have the value would be far too small. Missing texts are unseen ones.
func TestMissingUntold(t *testing.T) {
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("x,z,c,y\n")
	for i := range 60 {
		x, z := float64(i%10)/5, float64(i*7%13)/6
		missing := ""
		if i%9 > 0 {
			missing = fmt.Sprint(x)
		}
		fmt.Fprintf(&rows, "%s,%v,L%d,%v\n", missing, z, i%3, math.Sin(x)+2*z+5*float64(i%3))
	}
	f := fitCase(t, write(t, dir, "d.csv", rows.String()), "--missing", "indicator")
	news := write(t, dir, "new.csv", "x,z,c\n1,1,L1\n1,,L1\n,1,L1\n1,1,\n")
	out := dir + "/p.csv"
	r := want(t, exitOK, "predict", f.model, news, "--sd", "--interval", "0.9", "--out", out)
	file, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cells, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, empty := range []bool{false, true, false, false} {
		for j, cell := range cells[i+1] {
			if (cell == "") != (empty && j > 0) {
				t.Errorf("row %d, %s: %q", i+1, cells[0][j], cell)
			}
		}
	}
	var known, text float64
	fmt.Sscan(cells[1][1], &known)
	fmt.Sscan(cells[4][1], &text)
	within(t, "sd without a text, over that with it", text/known, 10, 1e4)
	if !strings.Contains(r.err, "column z: 1 row with a missing cell, and no row of the training had one") {
		t.Error(r.err)
	}
	r = want(t, exitData, "sample", f.model, news)
	if !strings.Contains(r.err, "row 2, column z: the cell is missing") {
		t.Error(r.err)
	}
}

// What another value of an input does that all training rows had in common, no interval has in it.
func TestOtherValueOfConstant(t *testing.T) {
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("x,k,y\n")
	for i := range 40 {
		fmt.Fprintf(&rows, "%v,7.25,%v\n", float64(i)/8, math.Sin(float64(i)/8))
	}
	data := write(t, dir, "d.csv", rows.String())
	news := write(t, dir, "new.csv", "x,k\n1,7.25\n1,7.5\n2,9\n")
	for _, flag := range []string{"--quiet", "--no-scale"} {
		f := fitCase(t, data, flag)
		r := want(t, exitOK, "predict", f.model, news, "--sd")
		if !strings.Contains(r.err, "column k: 2 rows with another value than the one that all training rows had") {
			t.Errorf("%s: %s", flag, r.err)
		}
		if r := want(t, exitOK, "predict", f.model, data, "--sd"); strings.Contains(r.err, "another value") {
			t.Errorf("%s: %s", flag, r.err)
		}
	}
}

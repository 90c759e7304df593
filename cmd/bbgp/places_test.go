package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// Rows left out are numbered as in the table, where repeats differ in their known noise and keep rows of their
// own, too, beside such as are merged, and behind a row that has no target.
func TestNumbersOfRepeats(t *testing.T) {
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("x,v,y\n1,.01,\n")
	y := []float64{math.NaN()}
	for i := range 60 {
		// Places of one v, merged, among such of three.
		x, v := float64(i%12), 0.01*float64(1+i%12%2*(i/12%3))
		y = append(y, math.Sin(x)+0.1*math.Sin(float64(7*i*i)))
		if i == 41 {
			y[i+1] += 20
		}
		fmt.Fprintf(&rows, "%v,%v,%v\n", x, v, y[i+1])
	}
	data, out := write(t, dir, "d.csv", rows.String()), filepath.Join(dir, "left.csv")
	want(t, exitOK, "cv", data, "--target", "y", "--noise-var", "v", "--loo", "--out", out)
	numbers, targets := column(t, out, "row"), column(t, out, "target")
	if len(numbers) != 6+3*6 {
		t.Errorf("%d rows", len(numbers))
	}
	for k, number := range numbers {
		i := int(number) - 1
		if (i-1)%12%2 == 0 { // of several rows
			continue
		}
		sum, count := 0.0, 0.0
		for j := i; j < len(y); j += 36 { // those of one place and v
			sum, count = sum+y[j], count+1
		}
		within(t, fmt.Sprintf("target of row %d", i+1), targets[k], sum/count-1e-9, sum/count+1e-9)
	}
	z := column(t, out, "z")
	for k, number := range numbers {
		if (math.Abs(z[k]) > 2) != (number == 7) { // where the place and the noise of the wrong row first appear
			t.Errorf("row %v: z %v", number, z[k])
		}
	}
}

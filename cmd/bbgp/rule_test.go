package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// What a fit was told of its columns is stored in the model and used again.

// A table with decimal commas, semicolons and missing cells, under each rule; the
// predictions come from a table with points and commas in another order.
func TestRuleIsStored(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	var b strings.Builder
	b.WriteString("a;b;y\n")
	cell := func(v float64) string { return strings.ReplaceAll(fmt.Sprintf("%.4f", v), ".", ",") }
	for i := range 120 {
		x, z := rng.Float64(), rng.Float64()
		first := cell(x)
		if i%6 == 2 {
			first, x = "n/a", 0.5
		}
		fmt.Fprintf(&b, "%s;%s;%s\n", first, cell(z), cell(math.Sin(6*x)+z+0.05*rng.NormFloat64()))
	}
	dir := t.TempDir()
	data := write(t, dir, "d.csv", b.String())
	fresh := write(t, dir, "new.csv", "b,a\n0.5,0.25\n0.5,NA\n0.5,0.5\n")
	for rule, row := range map[string]string{"drop": ",,", "indicator": "1"} {
		model, out := filepath.Join(dir, "m.bbgp"), filepath.Join(dir, "p.csv")
		want(t, exitOK, "fit", data, "--target", "y", "--missing", rule, "--out", model, "--quiet")
		r := want(t, exitOK, "predict", model, fresh, "--sd", "--out", out)
		lines := strings.Split(strings.TrimSpace(want(t, exitOK, "predict", model, fresh, "--sd", "--quiet").out), "\n")
		var mean float64
		if _, err := fmt.Sscanf(lines[1], "%g", &mean); len(lines) != 4 || err != nil ||
			math.Abs(mean-math.Sin(1.5)-0.5) > 0.15 {
			t.Errorf("%s: %q", rule, lines)
		}
		if rule == "drop" && (lines[2] != row || !strings.Contains(r.err, "their cells are empty")) ||
			rule == "indicator" && lines[2] == ",," {
			t.Errorf("%s: %q, %s", rule, lines[2], r.err)
		}
	}
	// A model that never met a missing cell refuses one.
	model := filepath.Join(dir, "stop.bbgp")
	want(t, exitOK, "fit", data, "--target", "y", "--ignore", "a", "--out", model, "--quiet")
	if r := bbgpRun(t, "b\n0.5\n?\n", "predict", model, "-"); r.code != exitData ||
		!strings.Contains(r.err, "standard input: row 2 (line 3), column b: the cell is missing") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// A row of weight 3 says what three rows say, but for what repeats tell of the noise, and
// a known variance is more doubt: predictions have the doubt of the function alone.
func TestWeightAndNoiseVar(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	var weighted, repeated, plain, known strings.Builder
	weighted.WriteString("x,w,y\n")
	repeated.WriteString("x,y\n")
	plain.WriteString("x,y\n")
	known.WriteString("x,v,y\n")
	for i := range 60 {
		x := float64(i) / 60
		y := math.Sin(6*x) + 0.1*rng.NormFloat64()
		w := 1 + 2*(i%2)
		fmt.Fprintf(&weighted, "%v,%d,%v\n", x, w, y)
		for range w {
			fmt.Fprintf(&repeated, "%v,%v\n", x, y)
		}
		fmt.Fprintf(&plain, "%v,%v\n", x, y)
		fmt.Fprintf(&known, "%v,%v,%v\n", x, 0.25, y)
	}
	dir := t.TempDir()
	p := write(t, dir, "p.json", `{"mean":0,"variance":1,"noise":0.02,"lengthscales":[1]}`)
	// At one set of parameters, in units as they are: training would find others.
	ask := func(table string, args ...string) (mean, sd []float64) {
		model, out := filepath.Join(dir, "m.bbgp"), filepath.Join(dir, "o.csv")
		want(t, exitOK, append([]string{"fit", write(t, dir, "d.csv", table), "--target", "y", "--no-scale", "--start",
			p, "--fix-mean", "--max-steps", "1", "--out", model, "--quiet"}, args...)...)
		want(t, exitOK, "predict", model, write(t, dir, "n.csv", "x\n0.2\n0.7\n"), "--sd", "--out", out, "--quiet")
		return column(t, out, "mean"), column(t, out, "sd")
	}
	mw, sw := ask(weighted.String(), "--weight", "w")
	mr, sr := ask(repeated.String())
	_, sp := ask(plain.String())
	_, sk := ask(known.String(), "--noise-var", "v")
	for i := range mw {
		if math.Abs(mw[i]-mr[i]) > 1e-9 || !(sr[i] < sw[i] && sw[i] < 1.05*sr[i]) {
			t.Errorf("row %d: weighted %v ± %v, repeated %v ± %v", i, mw[i], sw[i], mr[i], sr[i])
		}
		if !(sw[i] < sp[i] && sp[i] < 0.7*sk[i]) {
			t.Errorf("row %d: sd %v with weights, %v without, %v with known noise", i, sw[i], sp[i], sk[i])
		}
	}
}

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// The cases of few rows, of columns and of files.

func TestCase29FiveRows(t *testing.T) {
	rows := [][]float64{{0.032, 0.745, 1.5244}, {0.428, 0.916, 2.2617},
		{0.427, 0.574, 1.577}, {0.938, 0.425, 1.79}, {0.999, 0.999, 3.0}}
	f := fitCase(t, csvOf(t, t.TempDir(), "d.csv", "x1,x2,y", rows))
	_, _, sd := f.predictAt(t, "x1,x2", [][]float64{{0.5, 0.5}})
	within(t, "sd", sd[0], 0.05, 5)
	if !strings.Contains(strings.Join(f.report.Warnings, "\n"), "5 rows do not identify the lengthscales") ||
		f.length(0) > 10 || f.length(1) > 10 {
		t.Errorf("lengthscales %v, %v: %s", f.length(0), f.length(1), f.report.Warnings)
	}
}

// The same bytes from processes of their own; .ci/isa compares machines.
func TestCase31SaveLoadPredict(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(31, 31))
	draw := func(n int) (rows [][]float64) {
		for range n {
			r := make([]float64, 6)
			for j := range 5 {
				r[j] = rng.NormFloat64()
			}
			r[5] = math.Sin(r[0]) + r[1]*r[2] + 0.1*rng.NormFloat64()
			rows = append(rows, r)
		}
		return rows
	}
	const header = "a,b,c,d,e,y"
	// Within 100 MB predictions of 2000 rows are not dense.
	f := fitCase(t, csvOf(t, dir, "d.csv", header, draw(2000)), "--method",
		"bbgp", "--max-steps", "4", "--memory", "100MB")
	test := csvOf(t, dir, "t.csv", header, draw(200))
	here := want(t, exitOK, "predict", f.model, test, "--bounds", "--quiet").out
	for range 2 {
		c, _ := command(t, "bbgp", "predict", f.model, test, "--bounds", "--quiet")
		if out, err := c.Output(); err != nil || string(out) != here {
			t.Errorf("another process predicts otherwise: %v", err)
		}
	}
}

func TestCase33MixedStrings(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 33))
	var b strings.Builder
	b.WriteString("id,cat1,cont1,cont2,cont3,y\n")
	few := ""
	for i := range 5000 {
		if i == 400 {
			few = b.String()
		}
		c := "ABC"[rng.IntN(3)]
		x := [3]float64{rng.Float64(), rng.Float64(), rng.Float64()}
		fmt.Fprintf(&b, "%d,%c,%g,%g,%g,%g\n", i+1, c, x[0], x[1], x[2],
			float64(c-'A')+math.Sin(5*x[0])+0.1*rng.NormFloat64())
	}
	dir := t.TempDir()
	data := write(t, dir, "d.csv", b.String())
	r := want(t, exitOK, "check", data, "--target", "y")
	for _, s := range []string{"5000 rows, 6 columns, header",
		"column id counts the rows like an identifier; leave it out with --ignore id", `"A"`, "cat1=B"} {
		if !strings.Contains(r.out, s) {
			t.Errorf("check does not say %q:\n%s", s, r.out)
		}
	}
	r = want(t, exitData, "fit", data, "--target", "y", "--levels", "2")
	for _, s := range []string{"column cat1", `"A"`, `"B"`, `"C"`, "--ignore cat1"} {
		if !strings.Contains(r.err, s) {
			t.Errorf("the refusal does not say %q: %s", s, r.err)
		}
	}
	f := fitCase(t, write(t, dir, "few.csv", few), "--ignore", "id")
	within(t, "noise sd", f.noiseSD(), 0.08, 0.13)
}

func TestCase35MissingSpellings(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 35))
	words := []string{"NA", "na", "NaN", "nan", "N/A", "null", "", "?"}
	var b strings.Builder
	b.WriteString("a,b,y\n")
	for i := range 1000 {
		x := rng.Float64()
		a, zero := strconv.FormatFloat(x, 'g', 8, 64), "0"
		if i%10 == 3 {
			a = words[i/10%len(words)]
		}
		if i%2 == 0 {
			zero = "1"
		}
		fmt.Fprintf(&b, "%s,%s,%g\n", a, zero, math.Sin(6*x)+0.1*rng.NormFloat64())
	}
	data := write(t, t.TempDir(), "d.csv", b.String())
	r := want(t, exitData, "fit", data, "--target", "y")
	if !strings.Contains(r.err, "column a: the cell is missing") ||
		!strings.Contains(r.err, "100 of 1000 in the column") {
		t.Error(r.err)
	}
	m := object(t, bbgpRun(t, "", "check", data, "--target", "y", "--json").out)
	cols := m["columns"].([]any)
	if a, z := cols[0].(map[string]any), cols[1].(map[string]any); a["missing"] != 100.0 || z["missing"] != 0.0 ||
		len(a["missing_as"].([]any)) != 8 {
		t.Errorf("columns %v", cols)
	}
	f := fitCase(t, data, "--missing", "drop", "--max-steps", "5")
	if f.report.N != 900 {
		t.Errorf("%d rows", f.report.N)
	}
	fitCase(t, data, "--missing", "indicator", "--max-steps", "5")
}

func TestCase37OtherColumns(t *testing.T) {
	dir := t.TempDir()
	f := fitCase(t, sample(t, dir, "d.csv", 60, 37), "--quiet")
	plain := bbgpRun(t, "a,b,c\n0.1,0.2,0.3\n0.4,0.5,0.6\n", "predict", f.model, "-", "--sd")
	moved := bbgpRun(t, "z,c,a,b,extra\n7,0.3,0.1,0.2,x\n8,0.6,0.4,0.5,y\n", "predict", f.model, "-", "--sd")
	if moved.code != exitOK || moved.out != plain.out ||
		!strings.Contains(moved.err, "columns z, extra are not used by the model") {
		t.Errorf("exit %d: %s%s", moved.code, moved.out, moved.err)
	}
	if r := bbgpRun(t, "z,c,a,extra\n7,0.3,0.1,x\n", "predict", f.model, "-"); r.code != exitData ||
		!strings.Contains(r.err, "column b: the model needs this column") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

func TestCase39NegativeNoise(t *testing.T) {
	var rows [][]float64
	for i := range 10 {
		x := float64(i)
		rows = append(rows, []float64{x, x * x / 100, math.Sin(x)})
	}
	rows[0][1] = -1
	data := csvOf(t, t.TempDir(), "d.csv", "x,v,y", rows)
	r := want(t, exitData, "fit", data, "--target", "y", "--noise-var", "v")
	if !strings.HasPrefix(r.err, "bbgp: "+data+": row 1 (line 2), column v: -1 is no variance") {
		t.Error(r.err)
	}
	rows[0][1] = 0
	if f := fitCase(t, csvOf(t, t.TempDir(), "d.csv", "x,v,y", rows), "--noise-var", "v"); f.report.N != 10 {
		t.Errorf("%d rows", f.report.N)
	}
}

func TestCase41SameQuestionTwice(t *testing.T) {
	dir := t.TempDir()
	n, times := 1500, 3
	if long() {
		n, times = 5000, 20
	}
	data := sample(t, dir, "d.csv", n, 41)
	p := write(t, dir, "p.json", `{"mean":0,"variance":1,"noise":0.02,"lengthscales":[1,1,1]}`)
	ask := func(seed int) (lml, stderr float64) {
		m := object(t, want(t, exitOK, "lml", data, "--target", "y", "--params", p, "--method", "bbgp", "--json",
			"--seed", strconv.Itoa(seed)).out)
		return m["lml"].(float64), m["stderr"].(float64)
	}
	first, _ := ask(1)
	for range times - 1 {
		if again, _ := ask(1); again != first {
			t.Errorf("%v, then %v", first, again)
		}
	}
	// 20 seeds: Σ (v - mean)² / mean(stderr²) is χ² with 19 degrees of freedom;
	// the limits leave 0.5 % on either side, and stderr itself, from 8 probes,
	// some room.
	var v []float64
	mean, se2 := 0.0, 0.0
	for seed := range 20 {
		l, se := ask(seed)
		v = append(v, l)
		mean += l / 20
		se2 += se * se / 20
	}
	chi := 0.0
	for _, l := range v {
		chi += (l - mean) * (l - mean) / se2
	}
	within(t, "chi squared", chi, 6.8, 38.6*1.3)
}

func TestCase47TripleRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 47))
	rows := [][]float64{{0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 1}}
	for range 5 {
		rows = append(rows, []float64{rng.Float64(), rng.Float64(), rng.Float64(), rng.Float64()})
	}
	f := fitCase(t, csvOf(t, t.TempDir(), "d.csv", "x1,x2,x3,y", rows))
	if f.report.N != 8 || f.report.Distinct != 6 {
		t.Errorf("%d rows at %d places", f.report.N, f.report.Distinct)
	}
	mean, _, _ := f.predictAt(t, "x1,x2,x3", [][]float64{{0, 0, 0}})
	if off := math.Abs(mean[0] - 1); off > 0.1 && off > 3*f.noiseSD() {
		t.Errorf("the prediction at zero is %v, the noise %v", mean[0], f.noiseSD())
	}
}

func TestCase49RandomWalk(t *testing.T) {
	if testing.Short() {
		t.Skip("a fit of 2000 rows")
	}
	truth := func(x float64) float64 {
		return 0.4*x + 3*math.Sin(0.0025*math.Pi*x) + 1.5*math.Sin(0.1*math.Pi*x) + 0.8*math.Sin(0.3*math.Pi*x)
	}
	rng := rand.New(rand.NewPCG(49, 49))
	var rows [][]float64
	x, moves := 0.0, 0
	for i := range 2000 {
		if i == 0 || rng.Float64() > 0.3 {
			x += rng.NormFloat64()
			moves++
		}
		rows = append(rows, []float64{x, truth(x) + 0.3*rng.NormFloat64()})
	}
	f := fitCase(t, csvOf(t, t.TempDir(), "d.csv", "x,y", rows))
	if f.report.Distinct != moves {
		t.Errorf("%d places, the walk has %d", f.report.Distinct, moves)
	}
	within(t, "noise sd", f.noiseSD(), 0.25, 0.35)
	// Where rows are dense, the fastest sine is in the prediction: without it, it
	// would be 0.57 off.
	var dense [][]float64
	var want []float64
	for i := 0; i < len(rows); i += 7 {
		near := 0
		for _, r := range rows {
			if math.Abs(r[0]-rows[i][0]) < 0.5 {
				near++
			}
		}
		if near >= 10 {
			dense, want = append(dense, rows[i][:1]), append(want, truth(rows[i][0]))
		}
	}
	mean, _, _ := f.predictAt(t, "x", dense)
	if len(dense) < 50 {
		t.Errorf("%d dense places", len(dense))
	}
	within(t, "RMSE where rows are dense", rmse(mean, want), 0, 0.2)
}

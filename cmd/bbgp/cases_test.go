package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Inputs that made other tools fail, with the outcome that is right. The
// number of a case is that of the report it comes from in our own list.

// csvOf writes rows as CSV and returns the path.
func csvOf(t *testing.T, dir, name, header string, rows [][]float64) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(header + "\n")
	for _, r := range rows {
		for j, v := range r {
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
		}
		b.WriteByte('\n')
	}
	return write(t, dir, name, b.String())
}

// A fitted is what a case asks of a fit.
type fitted struct {
	report struct {
		Parameters struct {
			Mean, Variance, Noise float64
			Lengthscales          []*float64
		}
		Scaling struct {
			XScale []float64 `json:"x_scale"`
			YScale float64   `json:"y_scale"`
		}
		LML      float64 `json:"lml"`
		N        int
		Distinct int   `json:"distinct_rows"`
		Peak     int64 `json:"peak_bytes"`
		Method   string
		Warnings []string
		Notes    []string
		Holdout  *holdout
	}
	words string
	model string
}

func (f *fitted) noiseSD() float64 {
	return math.Sqrt(f.report.Parameters.Noise) * f.report.Scaling.YScale
}

// length is the lengthscale of input j in its own units.
func (f *fitted) length(j int) float64 {
	l := f.report.Parameters.Lengthscales[j]
	if l == nil {
		return math.Inf(1)
	}
	return *l * f.report.Scaling.XScale[j]
}

func fitCase(t *testing.T, data string, args ...string) *fitted {
	t.Helper()
	f := &fitted{model: filepath.Join(t.TempDir(), "m.bbgp")}
	r := want(t, exitOK, append([]string{"fit", data, "--target", "y", "--out", f.model, "--json", "--progress", "none"}, args...)...)
	if err := json.Unmarshal([]byte(r.out), &f.report); err != nil {
		t.Fatal(err)
	}
	f.words = r.err
	if p := f.report.Parameters; math.IsNaN(f.report.LML) || p.Noise <= 0 || p.Variance <= 0 {
		t.Errorf("parameters %+v", p)
	}
	return f
}

// predictAt predicts rows and demands that sd is finite and not negative.
func (f *fitted) predictAt(t *testing.T, header string, rows [][]float64) (mean, sd, sdObs []float64) {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "p.csv")
	want(t, exitOK, "predict", f.model, csvOf(t, dir, "new.csv", header, rows), "--sd", "--out", out, "--quiet")
	mean, sd, sdObs = column(t, out, "mean"), column(t, out, "sd"), column(t, out, "sd_obs")
	for i := range mean {
		if math.IsNaN(mean[i]) || math.IsInf(mean[i], 0) || !(sd[i] >= 0) || !(sdObs[i] >= sd[i]) {
			t.Fatalf("row %d: mean %v, sd %v, sd_obs %v", i, mean[i], sd[i], sdObs[i])
		}
	}
	return mean, sd, sdObs
}

func within(t *testing.T, what string, got, lo, hi float64) {
	t.Helper()
	if !(lo <= got && got <= hi) {
		t.Errorf("%s is %v, not in [%v, %v]", what, got, lo, hi)
	}
}

func TestCase03TwoPlaces(t *testing.T) {
	rows := [][]float64{{20, 740}, {20, 680}, {140, 1260}, {140, 1200}}
	f := fitCase(t, csvOf(t, t.TempDir(), "d.csv", "x,y", rows))
	within(t, "noise sd", f.noiseSD(), 30, 55)
	mean, sd, _ := f.predictAt(t, "x", [][]float64{{20}, {140}, {80}})
	within(t, "mean at 20", mean[0], 695, 725)
	within(t, "mean at 140", mean[1], 1210, 1245)
	within(t, "sd at 80", sd[2], 100, 500)
}

func TestCase05FastSine(t *testing.T) {
	var perRow []float64
	for _, n := range []int{308, 309} {
		var rows, mid [][]float64
		for i := range n {
			x := float64(i) / float64(n-1)
			rows = append(rows, []float64{x, math.Sin(10 * math.Pi * x)})
			if i > 0 {
				mid = append(mid, []float64{x - 0.5/float64(n-1)})
			}
		}
		f := fitCase(t, csvOf(t, t.TempDir(), "d.csv", "x,y", rows))
		mean, _, _ := f.predictAt(t, "x", mid)
		ss := 0.0
		for i, m := range mid {
			e := mean[i] - math.Sin(10*math.Pi*m[0])
			ss += e * e
		}
		within(t, fmt.Sprintf("RMSE at %d midpoints", len(mid)), math.Sqrt(ss/float64(len(mid))), 0, 1e-3)
		perRow = append(perRow, f.report.LML/float64(n))
	}
	within(t, "LML per row, one row more", perRow[1]/perRow[0], 0.99, 1.01)
}

func TestCase09HugeOffset(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var near, far [][]float64
	for i := range 200 {
		y := math.Sin(float64(i)/10) + 0.05*rng.NormFloat64()
		near = append(near, []float64{float64(i), y})
		far = append(far, []float64{1e13 + 100*float64(i), y})
	}
	a := fitCase(t, csvOf(t, t.TempDir(), "near.csv", "x,y", near))
	b := fitCase(t, csvOf(t, t.TempDir(), "far.csv", "x,y", far))
	within(t, "ratio of lengthscales", b.length(0)/a.length(0), 99.99, 100.01)
	ma, _, _ := a.predictAt(t, "x", [][]float64{{3.5}, {77.25}, {150}})
	mb, _, _ := b.predictAt(t, "x", [][]float64{{1e13 + 350}, {1e13 + 7725}, {1e13 + 15000}})
	for i := range ma {
		within(t, "prediction far off", mb[i]-ma[i], -1e-6, 1e-6)
	}
}

func TestCase13BadlyScaledPair(t *testing.T) {
	var rows [][]float64
	for i := range 7 {
		for j := range 7 {
			a, b := float64(i)/3-1, float64(j)/3-1
			rows = append(rows, []float64{a, 100 * b, a*a + b*b})
		}
	}
	f := fitCase(t, csvOf(t, t.TempDir(), "d.csv", "x1,x2,y", rows))
	within(t, "ratio of lengthscales", f.length(1)/f.length(0), 95, 105)
	mean, _, _ := f.predictAt(t, "x1,x2", [][]float64{{0.5, 50}})
	within(t, "y(0.5, 50)", mean[0], 0.48, 0.52)
}

func TestCase15SteepLine(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 15))
	var rows, test [][]float64
	lo, hi := 1.0, 0.0
	for range 10 {
		x := rng.Float64()
		rows = append(rows, []float64{x, -50000 * x})
		lo, hi = min(lo, x), max(hi, x)
	}
	for range 30 {
		test = append(test, []float64{lo + (hi-lo)*rng.Float64()})
	}
	f := fitCase(t, csvOf(t, t.TempDir(), "d.csv", "x,y", rows))
	mean, _, sd := f.predictAt(t, "x", test)
	covered := 0
	for i, x := range test {
		within(t, "error of the mean", mean[i]+50000*x[0], -500*(hi-lo), 500*(hi-lo))
		if math.Abs(mean[i]+50000*x[0]) <= 1.96*sd[i] {
			covered++
		}
	}
	if covered < 27 {
		t.Errorf("the 95 %% interval covers %d of 30", covered)
	}
}

func TestCase17IdenticalColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 17))
	var rows, test [][]float64
	for range 200 {
		u := -4 * rng.Float64()
		rows = append(rows, []float64{u, u, u, 3 * u})
	}
	for range 100 {
		u := -0.05 - 3.9*rng.Float64()
		test = append(test, []float64{u})
	}
	f := fitCase(t, csvOf(t, t.TempDir(), "d.csv", "u1,u2,u3,y", rows))
	if !strings.Contains(f.words, "columns u2, u3 duplicate u1 and are left out") {
		t.Error(f.words)
	}
	mean, _, _ := f.predictAt(t, "u1", test)
	ss := 0.0
	for i, u := range test {
		e := mean[i] - 3*u[0]
		ss += e * e
	}
	within(t, "RMSE over the sd of y", math.Sqrt(ss/100)/f.report.Scaling.YScale, 0, 1e-3)
	if !strings.Contains(strings.Join(f.report.Warnings, "\n"), "the noise is at its floor") {
		t.Error(f.report.Warnings)
	}
}

func TestCase19FixedParameters(t *testing.T) {
	dir := t.TempDir()
	var rows [][]float64
	for i := range 1000 {
		x := 10 * float64(i) / 999
		rows = append(rows, []float64{x, math.Sin(x)})
	}
	data := csvOf(t, dir, "d.csv", "x,y", rows)
	for _, tc := range []struct{ noise, lml float64 }{{1e-2, 1244.428742}, {1e-4, 3218.540987}, {1e-6, 4503.389366}} {
		p := write(t, dir, "p.json", fmt.Sprintf(`{"kernel":"matern32","mean":0,"variance":1,"noise":%g,"lengthscales":[1]}`, tc.noise))
		m := object(t, want(t, exitOK, "lml", data, "--target", "y", "--params", p, "--no-scale", "--method", "exact", "--json").out)
		within(t, "LML", m["lml"].(float64), tc.lml-1e-5, tc.lml+1e-5)
		m = object(t, want(t, exitOK, "lml", data, "--target", "y", "--params", p, "--no-scale", "--method", "bbgp", "--probes", "32", "--json").out)
		within(t, "width of the bounds", m["upper"].(float64)-m["lower"].(float64), -1e-9, 2)
		slack := 5*m["stderr"].(float64) + 1e-6
		within(t, "exact LML against the bounds", tc.lml, m["lower"].(float64)-slack, m["upper"].(float64)+slack)
	}
}

func TestCase29FiveRows(t *testing.T) {
	rows := [][]float64{{0.032, 0.745, 1.5244}, {0.428, 0.916, 2.2617}, {0.427, 0.574, 1.577}, {0.938, 0.425, 1.79}, {0.999, 0.999, 3.0}}
	f := fitCase(t, csvOf(t, t.TempDir(), "d.csv", "x1,x2,y", rows))
	_, _, sd := f.predictAt(t, "x1,x2", [][]float64{{0.5, 0.5}})
	within(t, "sd", sd[0], 0.05, 5)
	if !strings.Contains(strings.Join(f.report.Warnings, "\n"), "5 rows do not identify the lengthscales") || f.length(0) > 10 || f.length(1) > 10 {
		t.Errorf("lengthscales %v, %v: %s", f.length(0), f.length(1), f.report.Warnings)
	}
}

func TestCase33MixedStrings(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 33))
	var b strings.Builder
	b.WriteString("id,cat1,cont1,cont2,cont3,y\n")
	for i := range 400 {
		c := "ABC"[rng.IntN(3)]
		x := [3]float64{rng.Float64(), rng.Float64(), rng.Float64()}
		fmt.Fprintf(&b, "%d,%c,%g,%g,%g,%g\n", i+1, c, x[0], x[1], x[2], float64(c-'A')+math.Sin(5*x[0])+0.1*rng.NormFloat64())
	}
	dir := t.TempDir()
	data := write(t, dir, "d.csv", b.String())
	r := want(t, exitOK, "check", data, "--target", "y")
	for _, s := range []string{"400 rows, 6 columns, header", "column id counts the rows like an identifier; leave it out with --ignore id", `"A"`, "cat1=B"} {
		if !strings.Contains(r.out, s) {
			t.Errorf("check does not say %q:\n%s", s, r.out)
		}
	}
	f := fitCase(t, data, "--ignore", "id")
	within(t, "noise sd", f.noiseSD(), 0.08, 0.13)
}

func TestCase35MissingSpellings(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 35))
	words := []string{"NA", "na", "NaN", "nan", "N/A", "null", "", "?"}
	var b strings.Builder
	b.WriteString("a,b,y\n")
	for i := range 400 {
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
	if !strings.Contains(r.err, "column a: the cell is missing") || !strings.Contains(r.err, "40 of the column") {
		t.Error(r.err)
	}
	m := object(t, bbgpRun(t, "", "check", data, "--target", "y", "--json").out)
	cols := m["columns"].([]any)
	if a, z := cols[0].(map[string]any), cols[1].(map[string]any); a["missing"] != 40.0 || z["missing"] != 0.0 || len(a["missing_as"].([]any)) != 8 {
		t.Errorf("columns %v", cols)
	}
	f := fitCase(t, data, "--missing", "drop")
	if f.report.N != 360 {
		t.Errorf("%d rows", f.report.N)
	}
	fitCase(t, data, "--missing", "indicator")
}

func TestCase41SameQuestionTwice(t *testing.T) {
	dir := t.TempDir()
	data := sample(t, dir, "d.csv", 1500, 41)
	p := write(t, dir, "p.json", `{"mean":0,"variance":1,"noise":0.02,"lengthscales":[1,1,1]}`)
	ask := func(seed int) (lml, stderr float64) {
		m := object(t, want(t, exitOK, "lml", data, "--target", "y", "--params", p, "--method", "bbgp", "--json", "--seed", strconv.Itoa(seed)).out)
		return m["lml"].(float64), m["stderr"].(float64)
	}
	first, _ := ask(1)
	if again, _ := ask(1); again != first {
		t.Errorf("%v, then %v", first, again)
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
	mean, _, _ := f.predictAt(t, "x1,x2,x3", [][]float64{{0, 0, 0}})
	if off := math.Abs(mean[0] - 1); off > 0.1 && off > 3*f.noiseSD() {
		t.Errorf("the prediction at zero is %v, the noise %v", mean[0], f.noiseSD())
	}
}

func TestCase49RandomWalk(t *testing.T) {
	if testing.Short() {
		t.Skip("a fit of 2000 rows")
	}
	rng := rand.New(rand.NewPCG(49, 49))
	var rows [][]float64
	x := 0.0
	for range 2000 {
		if rng.Float64() > 0.3 {
			x += rng.NormFloat64()
		}
		y := 0.4*x + 3*math.Sin(0.0025*math.Pi*x) + 1.5*math.Sin(0.1*math.Pi*x) + 0.8*math.Sin(0.3*math.Pi*x) + 0.3*rng.NormFloat64()
		rows = append(rows, []float64{x, y})
	}
	f := fitCase(t, csvOf(t, t.TempDir(), "d.csv", "x,y", rows))
	within(t, "noise sd", f.noiseSD(), 0.25, 0.35)
}

package main

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The cases with many rows, and the rules that hold for every case. BBGP_LONG=1
// runs them at the size of the report they come from.

func long() bool { return os.Getenv("BBGP_LONG") != "" }

func rmse(a, b []float64) float64 {
	ss := 0.0
	for i := range a {
		ss += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(ss / float64(len(a)))
}

func TestCase11Replicates(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	var rows, grid [][]float64
	for range 50000 {
		x := float64(rng.IntN(101))
		rows = append(rows, []float64{x, 100 * math.Round((7500+600*math.Sin(x/9)+300*rng.NormFloat64())/100)})
	}
	for x := range 101 {
		grid = append(grid, []float64{float64(x)})
	}
	data := csvOf(t, t.TempDir(), "d.csv", "x,y", rows)
	f := fitCase(t, data)
	if f.report.N != 50000 || f.report.Distinct != 101 || f.report.Method != "exact" {
		t.Errorf("%d rows at %d places by method %s", f.report.N, f.report.Distinct, f.report.Method)
	}
	within(t, "noise sd", f.noiseSD(), 290, 315)
	within(t, "bytes of a process of its own", played(t, "fit", data, "--target", "y", "--json",
		"--quiet")["peak_bytes"].(float64), 1, 500e6)
	mean, sd, _ := f.predictAt(t, "x", grid)
	for x := range grid {
		within(t, "sd of the mean curve", sd[x], 3, 14)
		within(t, "error of the mean curve", mean[x]-7500-600*math.Sin(float64(x)/9), -60, 60)
	}
}

func TestCase21ThreeInputs(t *testing.T) {
	n, noise, off := 3000, [2]float64{0.003, 0.015}, 0.015
	if long() {
		n, noise, off = 50000, [2]float64{0.009, 0.011}, 0.01
	}
	if testing.Short() {
		t.Skip("a fit of thousands of rows")
	}
	rng := rand.New(rand.NewPCG(21, 21))
	draw := func(n int, noise float64) (rows [][]float64, y []float64) {
		for range n {
			x := []float64{rng.Float64(), rng.Float64(), rng.Float64()}
			y = append(y, math.Sin(2*math.Pi*(x[0]+x[1]+x[2])))
			rows = append(rows, append(x, y[len(y)-1]+noise*rng.NormFloat64()))
		}
		return rows, y
	}
	rows, _ := draw(n, 0.01)
	test, truth := draw(500, 0)
	f := fitCase(t, csvOf(t, t.TempDir(), "d.csv", "a,b,c,y", rows), "--method", "bbgp")
	within(t, "noise sd", f.noiseSD(), noise[0], noise[1])
	dir := t.TempDir()
	out := filepath.Join(dir, "p.csv")
	want(t, exitOK, "predict", f.model, csvOf(t, dir, "new.csv", "a,b,c,y", test), "--out", out, "--quiet")
	within(t, "RMSE to the noiseless function", rmse(column(t, out, "mean"), truth), 0, off)
	if f.report.Peak > 2e9 {
		t.Errorf("%d bytes", f.report.Peak)
	}
}

// Rows flow: the first ones come out before the last ones go in, in order, and the
// memory of the process does not grow with their number.
func TestCase23ManyPredictions(t *testing.T) {
	n := 8 * blockRows
	if long() {
		n = 1568800
	}
	rng := rand.New(rand.NewPCG(23, 23))
	const d = 16
	var names []string
	for j := range d {
		names = append(names, fmt.Sprintf("x%d", j+1))
	}
	header := strings.Join(names, ",")
	draw := func() []float64 {
		x := make([]float64, d)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		return x
	}
	var rows [][]float64
	for range 818 {
		x := draw()
		rows = append(rows, append(x, math.Sin(x[0])+math.Sin(x[1])+math.Sin(x[2])+0.1*rng.NormFloat64()))
	}
	f := fitCase(t, csvOf(t, t.TempDir(), "d.csv", header+",y", rows), "--method", "exact", "--max-steps", "15")
	// The rows repeat with a period that is no divisor of a block.
	var period [][]float64
	for range 997 {
		period = append(period, draw())
	}
	wanted, _, _ := f.predictAt(t, header, period)

	c, _ := command(t, "bbgp", "predict", f.model, "-", "--sd", "--quiet")
	feed, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	results, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	first := make(chan int)
	go func() {
		w := bufio.NewWriter(feed)
		fmt.Fprintln(w, header)
		for k := range n {
			if k == n/2 { // the rest waits for the first results
				w.Flush()
				<-first
			}
			for j, v := range period[k%len(period)] {
				if j > 0 {
					w.WriteByte(',')
				}
				w.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
			}
			w.WriteByte('\n')
		}
		w.Flush()
		feed.Close()
	}()
	sc, got := bufio.NewScanner(results), 0
	early, late := int64(0), int64(0)
	for sc.Scan() {
		if strings.HasPrefix(sc.Text(), "mean") {
			continue
		}
		var mean, sd, obs float64
		if k, err := fmt.Sscanf(sc.Text(), "%g,%g,%g", &mean, &sd, &obs); k != 3 || !(sd >= 0) || !(obs >= sd) ||
			mean != wanted[got%len(period)] {
			t.Fatalf("row %d: %s, not %v: %v", got, sc.Text(), wanted[got%len(period)], err)
		}
		if got++; got == 1 {
			close(first)
		}
		if got%blockRows == 0 && got < n {
			late = max(late, peakOf(c.Process.Pid)) // 0 once the process has ended
			if got == 2*blockRows {
				early = late
			}
		}
	}
	if err := c.Wait(); err != nil || got != n {
		t.Fatalf("%v, %d rows of %d", err, got, n)
	}
	t.Logf("peak of the process: %d bytes after two blocks, %d at the end", early, late)
	if late > 300<<20 || late > early+50<<20 {
		t.Errorf("the process took %d bytes after two blocks, %d at the end", early, late)
	}
}

// peakOf is the most memory that a process had at a time, 0 where the system does
// not tell.
func peakOf(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	var kib int64
	for line := range strings.Lines(string(b)) {
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

func TestCase27Outliers(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 27))
	// N(0,1)/√(χ²/1.5) with χ² below 2 only: the tail of Student's t with 1.5
	// degrees of freedom. χ²/2 is a gamma of shape 0.75, by rejection.
	heavy := func() float64 {
		for {
			u, v := rng.Float64(), rng.ExpFloat64()
			x := math.Pow(u, 1/0.75)
			if v > x {
				return rng.NormFloat64() / math.Sqrt(2*x/1.5)
			}
		}
	}
	var rows [][]float64
	bad := map[int]bool{}
	for i := range 300 {
		x := rng.Float64()
		y := math.Sin(4*math.Pi*x) + 0.3*rng.NormFloat64()
		if rng.Float64() < 0.05 {
			y += 5 * heavy()
			bad[i+1] = true
		}
		rows = append(rows, []float64{x, y})
	}
	dir := t.TempDir()
	var test [][]float64
	var truth []float64
	for i := range 200 {
		x := (float64(i) + 0.5) / 200
		test, truth = append(test, []float64{x}), append(truth, math.Sin(4*math.Pi*x))
	}
	order := rng.Perm(300)
	folds := 2
	if long() {
		folds = 5
	}
	for fold := range folds {
		var train [][]float64
		for k, i := range order {
			if k%5 != fold {
				train = append(train, rows[i])
			}
		}
		data := csvOf(t, dir, "d.csv", "x,y", train)
		f := fitCase(t, data)
		said := strings.Join(f.report.Warnings, "\n")
		mean, _, _ := f.predictAt(t, "x", test)
		// A line at the mean is 0.7 off. Likelier still may be a fit that follows single rows.
		flat := rmse(mean, truth) > 0.5 && slices.Max(mean)-slices.Min(mean) < 0.5
		if flat && !strings.Contains(said, "no structure found") {
			t.Errorf("fold %d: a silent collapse: %s", fold, said)
		}
		if !strings.Contains(said, "lie far off the fit") {
			t.Errorf("fold %d: outlying rows are not listed: %s", fold, said)
		}
		r := fitCase(t, data, "--robust")
		mean, _, _ = r.predictAt(t, "x", test)
		e := rmse(mean, truth)
		within(t, "squared error of the robust fit", e*e, 0, 0.05)
	}
	f := fitCase(t, csvOf(t, dir, "all.csv", "x,y", rows))
	for _, w := range f.report.Warnings {
		var row int
		if k, _ := fmt.Sscanf(w, "rows %d", &row); k == 1 && !bad[row] {
			t.Errorf("row %d is listed first and is none of the outliers", row)
		}
	}
}

func TestCase43MeanOnly(t *testing.T) {
	n, m := 1200, 400
	if long() {
		n, m = 5000, 10000
	}
	rng := rand.New(rand.NewPCG(43, 43))
	names := strings.Split("a,b,c,d,e,f,g,h,i,j", ",")
	draw := func(n int) (rows [][]float64) {
		for range n {
			x := make([]float64, 10)
			for j := range x {
				x[j] = rng.Float64()
			}
			rows = append(rows, append(x, math.Sin(5*x[0])+x[1]*x[2]+0.1*rng.NormFloat64()))
		}
		return rows
	}
	dir := t.TempDir()
	header := strings.Join(names, ",") + ",y"
	f := fitCase(t, csvOf(t, dir, "d.csv", header, draw(n)), "--method", "bbgp", "--max-steps", "12")
	test := csvOf(t, dir, "t.csv", header, draw(m))
	var means [2][]float64
	var seconds [2]float64
	for k, args := range [][]string{{}, {"--sd"}} {
		out := filepath.Join(dir, "p.csv")
		r := object(t, want(t, exitOK, append([]string{"predict",
			f.model, test, "--out", out, "--json"}, args...)...).out)
		means[k], seconds[k] = column(t, out, "mean"), r["seconds"].(float64)
	}
	t.Logf("mean only %.3f s, with sd %.3f s", seconds[0], seconds[1])
	for i, v := range means[0] {
		if v != means[1][i] {
			t.Fatalf("row %d: %v alone, %v with sd", i, v, means[1][i])
		}
	}
}

// A table of the shape of the airfoil set: blocks of a design in order, the last
// ones with thicker wakes than any before.
func TestCase45SortedBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("a fit of 1200 rows")
	}
	rng := rand.New(rand.NewPCG(45, 45))
	var rows [][]float64
	chords := []float64{0.3048, 0.2286, 0.1524, 0.1016, 0.0508, 0.0254}
	for block := range 107 {
		chord := chords[min(block/18, 5)]
		angle := []float64{0, 1.5, 3, 4, 7.2, 9.9, 12.6, 15.4, 17.4, 22.2}[min(block%18/2, 9)]
		speed := []float64{31.7, 39.6, 55.5, 71.3}[block%4]
		thick := 0.0004 + 0.003*angle/22*(0.3+float64(block)/70)
		for k := range 14 {
			freq := 200 * math.Pow(1.26, float64(k+block%5))
			peak := 1000 * speed / 40 * math.Pow(0.02/(thick+0.004), 0.5)
			l := math.Log2(freq / peak)
			y := 125 + 25*math.Log10(speed/55) - 2.2*l*l + 40*chord*math.Sin(l) + 0.8*rng.NormFloat64()
			rows = append(rows, []float64{freq, angle, chord, speed, thick, y})
		}
	}
	rows = rows[:1498]
	cut := len(rows) * 4 / 5
	dir := t.TempDir()
	header := "frequency,angle,chord,speed,thickness,y"
	test := csvOf(t, dir, "t.csv", header, rows[cut:])
	f := fitCase(t, csvOf(t, dir, "d.csv", header, rows[:cut]), "--method", "bbgp", "--precision", "f32", "--rank",
		"100", "--neighbours", "0", "--holdout", test)
	if h := f.report.Holdout; h == nil || !(h.R2 > 1-0.6*0.6) {
		t.Errorf("holdout %+v", h)
	}
	if !strings.Contains(f.words, "outside the range of the training rows") {
		t.Error(f.words)
	}
	if r := want(t, exitOK, "predict", f.model, test, "--out", filepath.Join(dir, "p.csv")); !strings.Contains(r.err,
		"outside the range of the training rows") {
		t.Error(r.err)
	}
}

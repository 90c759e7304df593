package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// noisyTable returns rows x, v, w, y of a sine whose noise has the variance v/w.
func noisyTable(n int, seed uint64) [][]float64 {
	rng := rand.New(rand.NewPCG(seed, 4))
	var rows [][]float64
	for i := range n {
		x, v, w := rng.Float64(), 0.01+0.24*float64(i%2), 1+9*float64(i/2%2)
		rows = append(rows, []float64{x, v, w, math.Sin(6*x) + math.Sqrt(v/w)*rng.NormFloat64()})
	}
	return rows
}

// What is known of the noise of a row counts in the score of a fit, in predictions
// and their score, and in both kinds of cross-validation; where a table does not
// tell, that is said once.
func TestKnownNoiseIsScored(t *testing.T) {
	for _, c := range []struct {
		name, header string
		args         []string
		pick         func(r []float64) []float64
		unit         float64 // sd of y
	}{
		{"variance", "x,v,y", []string{"--noise-var", "v"},
			func(r []float64) []float64 { return []float64{r[0], r[1] / r[2], r[3]} }, 1},
		{"weight", "x,w,y", []string{"--weight", "w"}, func(r []float64) []float64 {
			return []float64{r[0], r[2] / r[1],
				r[3]}
		}, 1},
		{"both, other units", "x,v,w,y", []string{"--noise-var", "v", "--weight", "w"},
			func(r []float64) []float64 {
				return []float64{r[0], 1e6 * r[1] / r[2] / 2, 2 * r[2] / r[1], 1e3 * r[3]}
			}, 1e3},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := func(rows [][]float64) (out [][]float64) {
				for _, r := range rows {
					out = append(out, c.pick(r))
				}
				return out
			}
			dir := t.TempDir()
			test := csvOf(t, dir, "t.csv", c.header, table(noisyTable(400, 2)))
			f := fitCase(t, csvOf(t, dir, "d.csv", c.header, table(noisyTable(300, 1))),
				append(c.args, "--holdout", test)...)
			good := func(what string, nlpd, coverage any) {
				t.Helper()
				within(t, what+": coverage", coverage.(float64), 0.91, 0.985)
				// The mean log density of the true law is about -.55 here.
				within(t, what+": NLPD", nlpd.(float64)-math.Log(c.unit), -1.2, 0)
			}
			good("holdout", f.report.Holdout.NLPD, f.report.Holdout.Coverage95)
			r := want(t, exitOK, "predict", f.model, test, "--interval",
				"0.95", "--out", filepath.Join(dir, "p.csv"), "--json")
			s := object(t, r.out)["score"].(map[string]any)
			good("predict", s["nlpd"], s["coverage95"])
			if notes := fmt.Sprint(object(t, r.out)["notes"]); strings.Contains(notes, "noise") {
				t.Error(notes)
			}
			for _, args := range [][]string{{"--loo"}, {"--folds", "3"}} {
				m := object(t, want(t, exitOK, append(append([]string{"cv", filepath.Join(dir, "d.csv"), "--target",
					"y", "--json", "-q"}, c.args...), args...)...).out)
				all := m["all"].(map[string]any)
				good("cv "+args[0], all["nlpd"], all["coverage95"])
			}
			// A table that does not tell.
			bare := write(t, dir, "bare.csv", "x,y\n0.5,0.1\n0.6,0.2\n")
			words := "sd_obs, intervals and scores"
			if r := want(t, exitOK, "predict", f.model, bare, "--sd"); strings.Count(r.err, words) != len(c.args)/2 {
				t.Error(r.err)
			}
			if r := want(t, exitOK, "predict", f.model, bare); strings.Contains(r.err, words) {
				t.Error("means need no noise: " + r.err)
			}
			// A cell that is no variance or weight.
			bad := write(t, dir, "bad.csv",
				strings.TrimSuffix(c.header, ",y")+"\n0.5"+strings.Repeat(",-1", len(c.args)/2)+"\n")
			if r := want(t, exitData, "predict", f.model, bad, "--sd"); !strings.Contains(r.err,
				"row 1 (line 2), column ") {
				t.Error(r.err)
			}
		})
	}
}

// Student's t noise: intervals of a robust fit hold what they say, on the clean rows
// and on the wild ones, and scores are by its density.
func TestRobustIntervals(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 13))
	draw := func(n int) (rows [][]float64) {
		for range n {
			x, chi := rng.Float64(), 0.0
			for range 4 {
				z := rng.NormFloat64()
				chi += z * z
			}
			rows = append(rows, []float64{x, 50 + 10*math.Sin(6*x) + 2*rng.NormFloat64()/math.Sqrt(chi/4)})
		}
		return rows
	}
	dir := t.TempDir()
	test := csvOf(t, dir, "t.csv", "x,y", draw(1000))
	f := fitCase(t, csvOf(t, dir, "d.csv", "x,y", draw(400)), "--robust", "--holdout", test)
	within(t, "coverage", f.report.Holdout.Coverage95, 0.935, 0.965)
	// The mean negative log density of t with 4 degrees of freedom and scale 2: 1.681 + log 2.
	within(t, "NLPD", f.report.Holdout.NLPD, 2.25, 2.55)
	out := filepath.Join(dir, "p.csv")
	want(t, exitOK, "predict", f.model, test, "--interval", "0.99", "--out", out)
	lo, hi, y := column(t, out, "lower"), column(t, out, "upper"), column(t, test, "y")
	inside := 0.0
	for i, v := range y {
		if lo[i] <= v && v <= hi[i] {
			inside++
		}
	}
	within(t, "coverage of the 99 % interval", inside/1000, 0.98, 0.998)
	within(t, "sd_obs", column(t, out, "sd_obs")[0], 2*1.2, 2*1.7)
}

// A text that training had not seen has the deviation of an unknown level: more
// than that of any known one where levels matter, and no more where they do not.
func TestUnseenLevel(t *testing.T) {
	for _, c := range []struct {
		name    string
		step    float64 // between levels
		seen    int
		missing int
	}{{"two known, the last missing", 10, 3, 2}, {"two known, the first missing", 10, 3, 0}, {"five known", 3, 6, 5},
		{"no influence", 0, 4, 1}} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(11, 11))
			var train, test strings.Builder
			train.WriteString("x,c,y\n")
			test.WriteString("x,c,y\n")
			for i := range 60 * c.seen {
				x, level := rng.Float64(), i%c.seen
				y := math.Sin(6*x) + c.step*float64(level) + 0.2*rng.NormFloat64()
				to := &train
				if level == c.missing {
					to = &test
				}
				fmt.Fprintf(to, "%v,L%d,%v\n", x, level, y)
			}
			dir := t.TempDir()
			held := write(t, dir, "t.csv", test.String())
			f := fitCase(t, write(t, dir, "d.csv", train.String()), "--holdout", held)
			within(t, "coverage", f.report.Holdout.Coverage95, 0.85, 1)
			if !strings.Contains(f.words, "60 rows with a text that training had not seen") {
				t.Error(f.words)
			}
			out := filepath.Join(dir, "p.csv")
			r := want(t, exitOK, "predict", f.model, held, "--sd", "--out", out)
			if !strings.Contains(r.err, fmt.Sprintf("the mean over the %d known texts", c.seen-1)) {
				t.Error(r.err)
			}
			sd := column(t, out, "sd")
			want(t, exitOK, "predict", f.model, filepath.Join(dir, "d.csv"), "--sd", "--out", out)
			ratio := sd[0] / column(t, out, "sd")[0]
			if c.step > 0 {
				within(t, "sd over that of a known level", ratio, 10, 1e4)
			} else {
				within(t, "sd over that of a known level", ratio, 0.3, 3)
			}
		})
	}
}

// What is known of the function of an unseen text is no less than what is known of an observation: without noise, too.
func TestUnseenWithoutNoise(t *testing.T) {
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("x,c,y\n")
	for i := range 24 {
		x := float64(i) / 5
		fmt.Fprintf(&rows, "%v,%c,%v\n", x, 'A'+i%3, math.Sin(x)+float64(i%3))
	}
	f := fitCase(t, write(t, dir, "d.csv", rows.String()))
	out := filepath.Join(dir, "p.csv")
	want(t, exitOK, "predict", f.model, write(t, dir, "new.csv", "x,c\n5.1,D\n6,E\n"), "--sd", "--bounds", "--out", out)
	obs, low, high := column(t, out, "sd_obs"), column(t, out, "sd_lower"), column(t, out, "sd_upper")
	for i, sd := range column(t, out, "sd") {
		if !(low[i] <= sd && sd <= high[i]) || sd > obs[i] {
			t.Errorf("row %d: sd %v in [%v, %v], of an observation %v", i, sd, low[i], high[i], obs[i])
		}
	}
}

// One text in all training rows tells nothing of another.
func TestUnseenOfOne(t *testing.T) {
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("x,c,y\n")
	for i := range 30 {
		fmt.Fprintf(&rows, "%d,A,%v\n", i, math.Sin(float64(i)/5))
	}
	f := fitCase(t, write(t, dir, "d.csv", rows.String()))
	r := bbgpRun(t, "x,c\n3.5,A\n3.5,B\n", "predict", f.model, "-", "--interval", "0.9")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if r.code != exitOK || !strings.HasSuffix(lines[2], ",,,,") || strings.HasSuffix(lines[1], ",") ||
		!strings.Contains(r.err, "what another does is not known") {
		t.Error(r.code, r.out, r.err)
	}
}

// Rows with missing inputs are not counted as outside the range.
func TestMissingIsNotOutside(t *testing.T) {
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("x,z,y\n")
	for i := range 40 {
		z := fmt.Sprint(100 + i%7)
		if i%10 == 0 {
			z = "NA"
		}
		fmt.Fprintf(&rows, "%d,%s,%v\n", i, z, math.Sin(float64(i)/5))
	}
	data := write(t, dir, "d.csv", rows.String())
	for _, rule := range []string{"drop", "indicator"} {
		f := fitCase(t, data, "--missing", rule, "--holdout", data)
		if r := want(t, exitOK, "predict", f.model, data); strings.Contains(f.words+r.err, "outside") {
			t.Errorf("%s: %s%s", rule, f.words, r.err)
		}
		r := bbgpRun(t, "x,z\n3,NA\n400,NA\n3,50\n3,102\n", "predict", f.model, "-")
		if want := map[string]string{"drop": "1 row outside",
			"indicator": "2 rows outside"}[rule]; !strings.Contains(r.err, want) {
			t.Errorf("%s: %s", rule, r.err)
		}
	}
}

// Farads, nanometres: the units of a table make no difference, but by the paper's rule.
func TestUnitsOfTables(t *testing.T) {
	table := func(ux, uy float64) string {
		rng := rand.New(rand.NewPCG(14, 15))
		var rows [][]float64
		for range 150 {
			x := rng.Float64()
			rows = append(rows, []float64{ux * x, uy * (math.Sin(8*x) + 0.1*rng.NormFloat64())})
		}
		return csvOf(t, t.TempDir(), "d.csv", "x,y", rows)
	}
	lml := fitCase(t, table(1, 1)).report.LML
	for _, u := range [][2]float64{{1, 1e-10}, {1e-9, 1}, {1e12, 1e-12}} {
		if got := fitCase(t, table(u[0], u[1])).report.LML; math.Abs(got-lml) > 1e-9*math.Abs(lml) {
			t.Errorf("units %v: LML %v, not %v", u, got, lml)
		}
	}
	if got := fitCase(t, table(1, 1e-8), "--scale-floor", "1e-6").report.LML; math.Abs(got-lml) < 1 {
		t.Errorf("the paper's rule gives LML %v in small units", got)
	}
	want(t, exitUsage, "fit", table(1, 1), "--target", "y", "--scale-floor", "-1")
}

// A robust fit takes weights by their ratios, and a target in any units.
func TestRobustWeightsInUnits(t *testing.T) {
	table := func(uy, uw float64) string {
		rng := rand.New(rand.NewPCG(14, 16))
		var rows [][]float64
		for i := range 50 {
			x, w := rng.Float64(), math.Pow(10, 2*rng.Float64()-1)
			y := math.Sin(6*x) + 0.1*rng.NormFloat64()/math.Sqrt(w)
			if i%12 == 5 {
				y += 4
			}
			rows = append(rows, []float64{x, uy * y, uw * w})
		}
		return csvOf(t, t.TempDir(), "d.csv", "x,y,w", rows)
	}
	one := fitCase(t, table(1, 1), "--robust", "--weight", "w").report
	for _, u := range [][2]float64{{1e-9, 1e18}, {1, 1e-6}} {
		got := fitCase(t, table(u[0], u[1]), "--robust", "--weight", "w").report
		noise := got.Parameters.Noise / u[1]
		if math.Abs(got.LML-one.LML) > 1e-9*math.Abs(one.LML) ||
			math.Abs(noise/one.Parameters.Noise-1) > 1e-7 {
			t.Errorf("units %v: LML %v and noise %v, not %v and %v", u, got.LML, noise, one.LML, one.Parameters.Noise)
		}
	}
}

// Wrong targets that a fit goes through are named, and are not called free of noise;
// functions that are smooth or noisy raise no alarm.
func TestOutliersAreNamed(t *testing.T) {
	for _, c := range []struct {
		name     string
		n, d     int
		noise    float64
		wrong    []int // rows, from 1
		size     float64
		mustName bool
	}{
		{"one input", 150, 1, 0.05, []int{20, 77, 130}, 30, true},
		{"two inputs", 150, 2, 0.02, []int{5, 60, 61, 140}, -20, true},
		{"small numbers", 120, 1, 0, []int{33}, 10, true},
		{"smooth", 150, 2, 0, nil, 0, false},
		{"noisy", 200, 1, 0.3, nil, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(13, uint64(c.n)))
			var rows [][]float64
			for i := range c.n {
				r, y := make([]float64, c.d+1), 0.0
				for j := range c.d {
					r[j] = rng.Float64()
					y += math.Sin(float64(6-2*j) * r[j])
				}
				r[c.d] = y + c.noise*rng.NormFloat64()
				if slices.Contains(c.wrong, i+1) {
					r[c.d] += c.size
				}
				rows = append(rows, r)
			}
			said := strings.Join(fitCase(t, csvOf(t, t.TempDir(), "d.csv", []string{"", "x,y", "x,z,y"}[c.d],
				rows)).report.Warnings, "\n")
			if named := strings.Contains(said, " far off "); named != c.mustName {
				t.Error(said)
			}
			if !c.mustName {
				return
			}
			for _, i := range c.wrong {
				if !regexp.MustCompile(fmt.Sprintf(`\b%d\b.* far off`, i)).MatchString(said) {
					t.Errorf("row %d is not named: %s", i, said)
				}
			}
			if strings.Contains(said, "noise-free") || !strings.Contains(said, "--robust") {
				t.Error(said)
			}
		})
	}
}

// Codes for missing cells are named by check and fit, with a flag that works.
func TestSentinelsAreNamed(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 13))
	var rows [][]float64
	for i := range 200 {
		x, z := rng.Float64(), rng.NormFloat64()
		y := math.Sin(6*x) + 0.1*z
		if i%50 == 3 {
			x = 999999
		}
		if i%20 == 4 {
			y = -9999
		}
		rows = append(rows, []float64{x, z, y})
	}
	data := csvOf(t, t.TempDir(), "d.csv", "x,z,y", rows)
	for _, r := range []result{want(t, exitOK, "check", data, "--target", "y"),
		want(t, exitOK, "fit", data, "--target", "y", "--max-steps", "3")} {
		for _, words := range []string{"column x has 999999 in 4 rows",
			"--na=999999", "column y has -9999 in 10 rows", "--na=-9999"} {
			if !strings.Contains(r.out+r.err, words) {
				t.Errorf("%q is not in %s%s", words, r.out, r.err)
			}
		}
	}
	f := fitCase(t, data, "--na=999999", "--na=-9999", "--missing", "drop")
	if f.report.N != 186 || strings.Contains(f.words, "far from") {
		t.Errorf("%d rows: %s", f.report.N, f.words)
	}
}

// Draws of observations have the noise of their rows.
func TestSampleKnownNoise(t *testing.T) {
	dir := t.TempDir()
	var rows [][]float64
	for _, r := range noisyTable(200, 3) {
		rows = append(rows, []float64{r[0], r[1], r[3]})
	}
	f := fitCase(t, csvOf(t, dir, "d.csv", "x,v,y", rows), "--noise-var", "v")
	out := filepath.Join(dir, "s.csv")
	spread := func(header, cells string) float64 {
		want(t, exitOK, "sample", f.model, write(t, dir, "n.csv", header+"\n"+cells+"\n"),
			"--noise", "--draws", "400", "--out", out)
		mean, square := 0.0, 0.0
		for c := range 400 {
			v := column(t, out, fmt.Sprintf("draw%d", c+1))[0]
			mean, square = mean+v/400, square+v*v/400
		}
		return math.Sqrt(square - mean*mean)
	}
	within(t, "sd of draws of noise variance 4", spread("x,v", "0.5,4"), 1.8, 2.2)
	if r := want(t, exitOK, "sample", f.model, write(t, dir, "n.csv", "x\n0.5\n"), "--noise", "--out",
		out); !strings.Contains(r.err, "known (column v)") {
		t.Error(r.err)
	}
}

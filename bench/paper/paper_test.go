package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bbgp.dev/bbgp"
)

func TestMethods(t *testing.T) {
	for _, name := range append([]string{"iterative", "sgpr-4000"}, order...) {
		if _, err := parseMethod(name, 10000); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "cglb", "cglb-", "cglb-x", "cglb-0", "bbgp-2", "adam", "adam-e1", "adam-e0-s1",
		"adam-e1-s0", "exact-1", "gp", "bbgp+", "bbgp+more"} {
		if _, err := parseMethod(name, 10000); err == nil {
			t.Errorf("%q was taken for a method", name)
		}
	}
	m, err := parseMethod("cglb-4000", 2000)
	if err != nil || m.opt.Rank != 500 || m.opt.PrefitRows != -1 || m.opt.Method != "cglb" {
		t.Errorf("cglb-4000 on 2000 rows is %+v, %v", m.opt, err)
	}
	for name, rows := range map[string]int{"cglb-1000": -1, "cglb-1000+prefit": 0, "bbgp": 0, "bbgp+ones": -1,
		"cglb-1000+long": -1} {
		if m, err := parseMethod(name, 9000); err != nil || m.opt.PrefitRows != rows || m.name != name {
			t.Errorf("%s is %+v, %v", name, m, err)
		}
	}
	if a, b := capOf("exact", 7), capOf("exact+long", 7); a != 7 || b != 7*longFactor {
		t.Errorf("caps are %v and %v", a, b)
	}
	m, err = parseMethod("adam-e10-s3", 9000)
	if err != nil || m.opt.Eps != 10 || m.opt.Probes != 3 || m.opt.Optimizer != "adam" || m.opt.Neighbours != -1 ||
		m.opt.Rank != paperRank {
		t.Errorf("adam-e10-s3 is %+v, %v", m.opt, err)
	}
}

// example is a record of three rows, one of them without a value.
func example() *record {
	r := &record{Head: head{Set: "pol", Split: 2, N: 100, Method: "bbgp", Title: "BBGP (our defaults)",
		Stopped: "cpu-cap", CPUCap: 7, Commit: "abc"}}
	p := bbgp.DefaultParams("", 2)
	p.Lengthscales[1] = math.Inf(1)
	p.Noise = 1.0 / 3
	r.add(bbgp.Step{Phase: "prefit", Accepted: true, LML: 1, Parameters: p})
	r.add(bbgp.Step{Phase: "train", Accepted: true, LML: -10, Lower: -11, Upper: math.Inf(1), Evaluations: 1, Passes: 5,
		CPUSeconds: 1, Parameters: p})
	r.add(bbgp.Step{Phase: "train", Rejected: true, Upper: -12, Lower: math.Inf(-1), Evaluations: 2, Passes: 8,
		CPUSeconds: 2, Parameters: p})
	r.add(bbgp.Step{Phase: "final", Accepted: true, LML: -5, Lower: -5, Upper: -4.5, Evaluations: 4, Passes: 20,
		CPUSeconds: 4, Parameters: p})
	return r
}

func TestRecordSurvivesItsFile(t *testing.T) {
	r := example()
	if len(r.Rows) != 3 {
		t.Fatalf("%d rows, the pre-fit is not one", len(r.Rows))
	}
	path := filepath.Join(t.TempDir(), "a", "b.csv")
	if none, err := load(path); none != nil || err != nil {
		t.Fatalf("a file that is not there: %v, %v", none, err)
	}
	if err := r.save(path); err != nil {
		t.Fatal(err)
	}
	got, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Head != r.Head {
		t.Errorf("the head became %+v", got.Head)
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := got.save(path); err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("%v; the second file differs:\n%s\n%s", err, first, second)
	}
	if w := got.Rows[1]; !math.IsNaN(w.Objective) || w.Upper != -12 || w.Params != "" || !math.IsNaN(w.Lower) {
		t.Errorf("a trial ended by its bound became %+v", w)
	}
	p, err := got.Rows[0].params()
	if err != nil || p.Noise != 0.33333333 || !math.IsInf(p.Lengthscales[1], 1) {
		t.Errorf("the parameters became %+v, %v", p, err)
	}
	if !slices.Equal(got.way(), []int{0, 2}) || got.last().Objective != -5 {
		t.Errorf("the way is %v", got.way())
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".part-*")); len(left) > 0 {
		t.Errorf("parts are left behind: %v", left)
	}
}

func TestDamagedFilesAreErrors(t *testing.T) {
	for _, text := range []string{"", "# {\n", "# {}\na,b\n1,2\n",
		"# {}\n" + strings.Repeat("x,", 16) + "x\n" + strings.Repeat("?,", 16) + "?\n"} {
		path := filepath.Join(t.TempDir(), "x.csv")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := load(path); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		n, k int
		want []int
	}{{0, 4, nil}, {1, 4, []int{0}}, {2, 1, []int{0, 1}}, {64, 4, []int{0, 3, 15, 63}}, {3, 5, []int{0, 1, 2}}} {
		if got := spread(c.n, c.k); !slices.Equal(got, c.want) {
			t.Errorf("spread(%d, %d) = %v, want %v", c.n, c.k, got, c.want)
		}
	}
}

func TestBands(t *testing.T) {
	if q := quantile([]float64{4, 1, 3, 2}, 0.25); q != 1.75 {
		t.Errorf("the quartile of 1 to 4 is %v", q)
	}
	if q := quantile(nil, 0.5); !math.IsNaN(q) {
		t.Errorf("the median of nothing is %v", q)
	}
	s := series{x: []float64{1, 10, 10, 100}, y: []float64{5, 6, 7, 9}, ended: true}
	for _, c := range []struct{ x, want float64 }{{0.5, math.NaN()},
		{1, 5}, {9, 5}, {10, 7}, {math.Sqrt(1000), 7}, {1e4, 9}} {
		if got := s.at(c.x); math.Abs(got-c.want) > 1e-12 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("at(%v) = %v, want %v", c.x, got, c.want)
		}
	}
	s.ended = false
	if !math.IsNaN(s.at(101)) {
		t.Error("a run that a cap ended goes on")
	}
	if q := quantile([]float64{1, math.Inf(1), 2}, 0.5); q != 2 {
		t.Errorf("the median of 1, 2 and never is %v", q)
	}
	b := bandOf([]series{{x: []float64{1, 4}, y: []float64{0, 2}},
		{x: []float64{1, 2}, y: []float64{4, 8}, ended: true}, {}, {}, {}})
	last := len(b.x) - 1
	if b.x[0] != 1 || b.x[last] != 4 || b.mid[0] != 2 || b.mid[last] != 5 || b.low[last] != 3.5 || b.high[last] != 6.5 {
		t.Errorf("the band is %+v", b)
	}
	if e := bandOf(nil); len(e.x) != 0 {
		t.Errorf("the band of nothing is %v", e)
	}
}

func TestPassesOfEvaluations(t *testing.T) {
	s := example().passes()
	if !slices.Equal(s.x, []float64{1, 2}) || !slices.Equal(s.y, []float64{5, 3}) {
		t.Errorf("passes are %v at %v", s.y, s.x)
	}
}

// A level is reached at the first row of the way that is at or above it.
func TestReach(t *testing.T) {
	r := &record{}
	for i, v := range []float64{-9, -5, -4, -1} {
		r.Rows = append(r.Rows, row{CPU: float64(10 * (i + 1)), LML: v, Params: "{}"})
	}
	r.Rows = append(r.Rows, row{CPU: 50, LML: -8, Params: "{}"}) // a likelihood that falls again
	m := &meter{data: &bbgp.Data{}}
	for _, c := range []struct{ level, want float64 }{{-10, 10}, {-5, 20}, {-4.5, 30}, {-1, 40}, {0, math.NaN()}} {
		got, err := m.reach(r, c.level)
		if err != nil || got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("level %v is reached at %v, %v; want %v", c.level, got, err, c.want)
		}
	}
}

// What was measured at the same parameters of the same data is not measured again.
func TestBorrow(t *testing.T) {
	nan := math.NaN()
	at := func(params string, lml, stderr, rmse, nlpd float64) row {
		return row{Params: params, LML: lml, LMLErr: stderr, RMSE: rmse, NLPD: nlpd}
	}
	r := &record{Head: head{Set: "pol"}, Rows: []row{at("a", nan, nan, nan, nan), at("", nan, nan, nan, nan),
		at("b", -2, 3, 0.5, nan), at("c", nan, nan, nan, nan)}}
	r.borrow([]*record{{Head: head{Set: "pol"}, Rows: []row{at("a", -1, 2, 0.25, nan), at("", -9, 0, 9, 9),
		at("b", -2.5, 0, 0.5, 1)}},
		{Head: head{Set: "pol", Split: 1}, Rows: []row{at("c", -7, 0, 7, 7)}}})
	want := []row{at("a", -1, 2, 0.25, nan), at("", nan, nan, nan, nan), at("b", -2.5, 0, 0.5, 1),
		at("c", nan, nan, nan, nan)}
	if got := fmt.Sprint(r.Rows); got != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The table and its verdict say how soon each method came, and who came before BBGP.
func TestVerdict(t *testing.T) {
	nan := math.NaN()
	name := levels[1].name
	all := []arrival{{"bike", 0, "bbgp", name, 5, 2}, {"bike", 0, rival, name, 5, 8}, {"bike", 1, "bbgp", name, 5, 900},
		{"pol", 0, "bbgp", name, 5, nan}, {"pol", 0, rival, name, 5, 8}, {"pol", 0, "exact", name, 5, nan},
		{"elevators", 0, "bbgp", name, 5, 9}, {"elevators", 0, rival, name, 5, 3},
		{"elevators", 0, "exact", name, 5, 10}}
	titles := map[string]string{"bbgp": "BBGP", rival: "CGLB", "exact": "dense"}
	got := verdict(all, titles)
	for _, want := range []string{"bike: BBGP reached CGLB's end less 1 nat 4.0 times sooner",
		"elevators: BBGP reached CGLB's end less 1 nat 3.0 times later",
		"pol: BBGP did not reach CGLB's end less 1 nat, CGLB did after 8.0",
		"not the first there:\n  - elevators, CGLB's end less 1 nat: CGLB after 3.0 CPU s, BBGP after 9.0",
		"pol, CGLB's end less 1 nat: CGLB after 8.0 CPU s, BBGP never"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.Contains(got, "dense") {
		t.Errorf("dense came before nobody: %q", got)
	}
	if got := verdict(all[:2], titles); !strings.Contains(got, "No method reached any") {
		t.Errorf("%q", got)
	}
	if text := arrivalTable(all, titles); !strings.Contains(text, "| bike | BBGP | 0 1 | 451.0 (2.0 to 900.0) |") ||
		!strings.Contains(text, "| pol | dense | 0 | never |") {
		t.Errorf("the table is\n%s", text)
	}
}

// The page is written, with figures, from whatever is there.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	s, err := parse([]string{"-quick", "-dir", filepath.Join(dir, "r"), "-page", filepath.Join(dir, "p")})
	if err != nil {
		t.Fatal(err)
	}
	for pass := range 3 { // nothing, a run, a run that was measured
		if pass > 0 {
			r := example()
			for i := range r.Rows[:3*(pass-1)] {
				r.Rows[i].LML, r.Rows[i].RMSE = -6, 0.5
			}
			if err := r.save(filepath.Join(s.dir, "full", fileOf("pol", 2, "bbgp"))); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.writePage(); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(filepath.Join(s.page, "RESULTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"All training rows", "results/full-pol.png", "cap of 7 CPU s",
		"Nothing has been run yet.", "Not run at this size: CGLB, m = 25; SGPR, m = 25; BBGP of the paper"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, name := range []string{"full-pol.png", "full-pol.svg", "studies.png"} {
		if info, err := os.Stat(filepath.Join(s.page, "results", name)); err != nil || info.Size() < 2000 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{{"-splits", "a"}, {"more"}, {"-n", "x"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
	if err := run([]string{"-do", "nothing"}); err == nil {
		t.Error("-do nothing was taken")
	}
	j := &job{set: "bike", method: "iterative", steps: 60}
	if j.quick() {
		t.Error("the quick run has Iterative GP on pol alone")
	}
}

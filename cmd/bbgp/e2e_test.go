package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bbgp.dev/bbgp/score"
)

// sample writes n rows of y = sin(6 a) + b + noise, c irrelevant, and returns
// the path.
func sample(t *testing.T, dir, name string, n int, seed uint64) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString("a,b,c,y\n")
	for range n {
		x := [3]float64{rng.Float64(), rng.Float64(), rng.Float64()}
		fmt.Fprintf(&b, "%.6f,%.6f,%.6f,%.6f\n", x[0], x[1], x[2], 100+10*(math.Sin(6*x[0])+x[1]+0.1*rng.NormFloat64()))
	}
	return write(t, dir, name, b.String())
}

// object decodes a report.
func object(t *testing.T, s string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		t.Fatalf("no JSON: %v\n%s", err, s)
	}
	return m
}

func hasKeys(t *testing.T, m map[string]any, keys string) {
	t.Helper()
	for _, k := range strings.Fields(keys) {
		if _, ok := m[k]; !ok {
			t.Errorf("the report has no %q", k)
		}
	}
}

// column reads a column of a CSV file as numbers.
func column(t *testing.T, path, name string) []float64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for j, h := range rows[0] {
		if h == name {
			var v []float64
			for _, r := range rows[1:] {
				x, err := strconv.ParseFloat(r[j], 64)
				if err != nil {
					t.Fatal(err)
				}
				v = append(v, x)
			}
			return v
		}
	}
	t.Fatalf("%s has no column %s", path, name)
	return nil
}

const (
	fitKeys = "parameters scaling lml lower upper stderr lml_interval95 lml_interval999 evaluations passes " +
		"seconds cpu_seconds peak_bytes method precision rank probes isa warnings"
	lmlKeys = "lml lower upper stderr lml_interval95 lml_interval999 gradient passes rank probes seconds method " +
		"precision isa peak_bytes"
	holdoutKeys = "n rmse nlpd coverage95 rmse_std nlpd_std"
)

func TestFitPredictLML(t *testing.T) {
	for _, method := range []string{"exact", "bbgp"} {
		t.Run(method, func(t *testing.T) {
			dir := t.TempDir()
			train, test := sample(t, dir, "train.csv", 300, 1), sample(t, dir, "test.csv", 200, 2)
			model, pred := filepath.Join(dir, "m.bbgp"), filepath.Join(dir, "p.csv")
			r := want(t, exitOK, "fit", train, "--target", "y", "--out", model, "--holdout", test, "--method", method,
				"--seed", "3", "--json")
			fit := object(t, r.out)
			hasKeys(t, fit, fitKeys)
			h := fit["holdout"].(map[string]any)
			hasKeys(t, h, holdoutKeys)
			if fit["method"] != method || h["n"] != 200.0 {
				t.Errorf("method %v, n %v", fit["method"], h["n"])
			}
			// The noise has sd 1 in units of y, whose own sd is about 7.
			if rmse := h["rmse"].(float64); rmse < 0.9 || rmse > 1.2 {
				t.Errorf("RMSE %v", rmse)
			}
			if cover := h["coverage95"].(float64); cover < 0.88 {
				t.Errorf("coverage %v", cover)
			}
			par := fit["parameters"].(map[string]any)
			hasKeys(t, par, "kernel mean variance noise lengthscales")

			want(t, exitOK, "predict", model, test, "--sd", "--out", pred)
			y, mean, sd := column(t, test, "y"), column(t, pred, "mean"), column(t, pred, "sd_obs")
			var s score.Sum
			for i := range y {
				s.Add(y[i], score.Normal(mean[i], sd[i]))
			}
			if got, want := s.Score(1).RMSE, h["rmse"].(float64); math.Abs(got-want) > 1e-3*want {
				t.Errorf("RMSE of predict %v, of the holdout %v", got, want)
			}
			bounds := filepath.Join(dir, "b.csv")
			want(t, exitOK, "predict", model, test, "--bounds", "--out", bounds)
			lo, hi, mid := column(t, bounds, "sd_lower"), column(t, bounds, "sd_upper"), column(t, bounds, "sd")
			for i := range lo {
				if !(0 <= lo[i] && lo[i] <= mid[i] && mid[i] <= hi[i]) {
					t.Fatalf("row %d: sd %v not in [%v, %v]", i, mid[i], lo[i], hi[i])
				}
			}

			params := write(t, dir, "fit.json", r.out)
			lml := object(t, want(t, exitOK, "lml", train, "--target", "y",
				"--params", params, "--method", "exact", "--json").out)
			hasKeys(t, lml, lmlKeys)
			hasKeys(t, lml["gradient"].(map[string]any), "mean lengthscales variance noise")
			off := math.Abs(lml["lml"].(float64) - fit["lml"].(float64))
			if slack := 5*fit["stderr"].(float64) + fit["upper"].(float64) - fit["lower"].(float64); off > slack+1e-6 {
				t.Errorf("the LML of the fit is off by %v, more than %v", off, slack)
			}
			info := object(t, want(t, exitOK, "info", model, "--json").out)
			hasKeys(t, info, "parameters scaling target inputs")
			if s := want(t, exitOK, "info", model).out; !strings.Contains(s, "noise sd") {
				t.Error(s)
			}
		})
	}
}

// The same bits from a pipe, with other threads, and when columns move.
func TestPredictSameBits(t *testing.T) {
	dir := t.TempDir()
	train, test := sample(t, dir, "train.csv", 200, 1), sample(t, dir, "test.csv", 50, 2)
	model := filepath.Join(dir, "m.bbgp")
	want(t, exitOK, "fit", train, "--target", "y", "--out", model, "--method", "bbgp", "--max-steps", "8", "--quiet")
	first := want(t, exitOK, "predict", model, test, "--sd", "--threads", "1")
	if n := strings.Count(first.out, "\n"); n != 51 || !strings.HasPrefix(first.out, "mean,sd,sd_obs\n") {
		t.Errorf("%d lines", n)
	}
	content, err := os.ReadFile(test)
	if err != nil {
		t.Fatal(err)
	}
	if r := bbgpRun(t, string(content), "predict", model, "-", "--sd",
		"--threads", "3"); r.code != 0 || r.out != first.out {
		t.Errorf("exit %d; a pipe gives other predictions", r.code)
	}
	var moved strings.Builder
	moved.WriteString("extra;c;a;b\n")
	for i, line := range strings.Split(strings.TrimSpace(string(content)), "\n")[1:] {
		f := strings.Split(line, ",")
		fmt.Fprintf(&moved, "%d;%s;%s;%s\n", i, f[2], f[0], f[1])
	}
	r := bbgpRun(t, moved.String(), "predict", model, "-", "--sd")
	if r.code != 0 || r.out != first.out || !strings.Contains(r.err, "columns extra are not used") {
		t.Errorf("exit %d, %s; columns in another order give other predictions", r.code, r.err)
	}
	r = bbgpRun(t, "a,c\n1,2\n", "predict", model, "-")
	if r.code != exitData || r.err != "bbgp: standard input: column b: the model needs this column and the table "+
		"does not have it\n" {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if r = bbgpRun(t, "a,b,c\n", "predict", model, "-"); r.code != exitData {
		t.Errorf("no rows: exit %d", r.code)
	}
}

func TestFitSameBitsForThreads(t *testing.T) {
	dir := t.TempDir()
	train := sample(t, dir, "train.csv", 250, 1)
	var last map[string]any
	for _, threads := range []string{"1", "2", "5"} {
		m := object(t, want(t, exitOK, "fit", train, "--target", "y", "--method", "bbgp", "--max-steps", "6",
			"--threads", threads, "--json", "--quiet").out)
		if last != nil && (fmt.Sprint(m["parameters"]) != fmt.Sprint(last["parameters"]) || m["lml"] != last["lml"]) {
			t.Errorf("%s threads: %v, before: %v", threads, m["parameters"], last["parameters"])
		}
		last = m
	}
}

// Budgets and interrupts have their codes, and leave no part of a file.
func TestEnds(t *testing.T) {
	dir := t.TempDir()
	train := sample(t, dir, "train.csv", 1500, 1)
	model := filepath.Join(dir, "m.bbgp")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	<-ctx.Done()
	var out, errw bytes.Buffer
	if code := run(stopped, []string{"fit", train, "--target", "y", "--out", model, "--method", "bbgp"}, nil, &out,
		&errw); code != exitInterrupted || !strings.HasSuffix(errw.String(), "bbgp: interrupted\n") {
		t.Errorf("interrupted: exit %d: %s", code, errw.String())
	}
	r := want(t, exitRefused, "fit", train, "--target", "y", "--out", model, "--memory", "1MB")
	if !strings.Contains(r.err, "memory") || strings.Count(r.err, "\n") != 1 {
		t.Error(r.err)
	}
	want(t, exitBudget, "fit", train, "--target", "y", "--out", model, "--method", "bbgp", "--time", "1ms", "--quiet")
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if f.Name() != "train.csv" && f.Name() != "m.bbgp" {
			t.Errorf("%s is left", f.Name())
		}
	}
}

func TestDemo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	r := want(t, exitOK, "demo", "--n", "240", "--dir", dir, "--json")
	m := object(t, r.out)
	hasKeys(t, m, fitKeys+" holdout noise_sd_true noise_sd_found rmse_noiseless files")
	files := m["files"].([]any)
	if len(files) != 8 {
		t.Errorf("files %v", files)
	}
	for _, f := range files {
		if st, err := os.Stat(f.(string)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	if found := m["noise_sd_found"].(float64); found < 0.05 || found > 0.2 {
		t.Errorf("noise %v", found)
	}
	if r := want(t, exitOK, "demo", "--n", "150", "--dir", dir, "--quiet"); r.err != "" ||
		!strings.Contains(r.out, "held-out rows   50: RMSE") {
		t.Errorf("%s%s", r.err, r.out)
	}
}

func TestReportAndCV(t *testing.T) {
	dir := t.TempDir()
	train, test := sample(t, dir, "train.csv", 90, 1), sample(t, dir, "test.csv", 60, 2)
	model, out := filepath.Join(dir, "m.bbgp"), filepath.Join(dir, "r.html")
	want(t, exitOK, "fit", train, "--target", "y", "--out", model, "--method", "bbgp", "--max-steps", "5", "--quiet")
	want(t, exitOK, "report", model, "--data", test, "--out", out)
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"Model of y", "What the inputs do",
		"rows of --data", "Effects of single inputs", "</html>"} {
		if !bytes.Contains(b, []byte(s)) {
			t.Errorf("the page has no %q", s)
		}
	}
	if n := bytes.Count(b, []byte("<svg")); n < 6 || bytes.Contains(b, []byte("http-equiv")) ||
		bytes.Contains(b, []byte("src=")) {
		t.Errorf("%d pictures, or something from outside", n)
	}
	m := object(t, want(t, exitOK, "cv", train, "--target", "y", "--folds",
		"3", "--max-steps", "5", "--json", "--quiet").out)
	all := m["all"].(map[string]any)
	if folds := m["folds"].([]any); len(folds) != 3 || all["n"] != 90.0 {
		t.Errorf("%d folds, %v rows", len(folds), all["n"])
	}
	if rmse := all["rmse"].(float64); rmse < 0.7 || rmse > 2 {
		t.Errorf("RMSE %v", rmse)
	}
	want(t, exitUsage, "cv", train, "--target", "y", "--folds", "1")
}

// A failing write leaves nothing behind.
func TestWriteFileIsAtomic(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "out.csv", "old")
	err := writeFile(path, nil, func(w *rowWriter) error { w.header("a"); return io.ErrUnexpectedEOF })
	if err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "old" {
		t.Errorf("%q, %v", b, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d files are left", len(left))
	}
	if r := want(t, exitUsage, "fit", sample(t, dir, "d.csv", 20, 1), "--target", "y", "--blanks",
		filepath.Join(dir, "no", "x.csv"), "--out", filepath.Join(dir, "no", "m.bbgp")); !strings.Contains(r.err,
		"cannot be written") {
		t.Error(r.err)
	}
}

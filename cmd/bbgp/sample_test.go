package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// lineModel fits y = sin x on a few rows and returns the path of the model.
func lineModel(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("x,y\n")
	for i := range 80 {
		x := float64(i) / 8
		fmt.Fprintf(&b, "%v,%v\n", x, math.Sin(x)+0.1*math.Cos(float64(i*i)))
	}
	model := filepath.Join(dir, "m.bbgp")
	want(t, exitOK, "fit", write(t, dir, "t.csv", b.String()), "--target", "y", "--out", model, "--progress", "none")
	return model
}

func TestSample(t *testing.T) {
	model, dir := lineModel(t), t.TempDir()
	rows := write(t, dir, "r.csv", "x\n1\n\n5\n1\n")
	r := want(t, exitOK, "sample", model, rows, "--draws", "2", "--seed", "4", "--quiet")
	lines := strings.Split(strings.TrimRight(r.out, "\n"), "\n")
	if lines[0] != "draw1,draw2" || lines[1] != lines[len(lines)-1] {
		t.Errorf("draws at one place differ, or the header is wrong:\n%s", r.out)
	}
	if again := want(t, exitOK, "sample", model, rows, "--draws", "2", "--seed", "4", "--quiet"); again.out != r.out {
		t.Error("the seed does not decide the draws")
	}
	out := filepath.Join(dir, "d.csv")
	m := object(t, want(t, exitOK, "sample", model, rows, "--draws", "400", "--out", out, "--json").out)
	if m["exact"] != true || m["draws"] != 400.0 || m["covariance_max"] != 0.0 {
		t.Errorf("report %v", m)
	}
	// Draws of the prior are as wide as the prior, those of the posterior are not.
	spread := func(args ...string) float64 {
		r := want(t, exitOK, append([]string{"sample", model, write(t, dir, "one.csv", "x\n5\n"), "--draws", "400",
			"--quiet"}, args...)...)
		sum, square := 0.0, 0.0
		for _, cell := range strings.Split(strings.Split(r.out, "\n")[1], ",") {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += v / 400
			square += v * v / 400
		}
		return math.Sqrt(square - sum*sum)
	}
	post, prior, noisy := spread(), spread("--prior"), spread("--noise")
	if !(post < noisy && noisy < prior) || prior < 0.4 || post > 0.1 {
		t.Errorf("spread: posterior %v, of observations %v, prior %v", post, noisy, prior)
	}
	want(t, exitUsage, "sample", model, rows, "--draws", "0")
	want(t, exitUsage, "sample", model, rows, "--json")
	want(t, exitData, "sample", model, write(t, dir, "bad.csv", "z\n1\n"))
}

func TestPredictInterval(t *testing.T) {
	model, dir := lineModel(t), t.TempDir()
	r := want(t, exitOK, "predict", model, write(t, dir, "r.csv", "x\n1\n5\n"), "--interval", "0.95", "--quiet")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if lines[0] != "mean,sd,sd_obs,lower,upper" {
		t.Fatalf("header %q", lines[0])
	}
	for _, line := range lines[1:] {
		var v [5]float64
		for i, cell := range strings.Split(line, ",") {
			v[i], _ = strconv.ParseFloat(cell, 64)
		}
		if math.Abs(v[4]-v[0]-1.959963984540054*v[2]) > 1e-12 || math.Abs(v[0]-v[3]-1.959963984540054*v[2]) > 1e-12 {
			t.Errorf("interval of %v", v)
		}
	}
	want(t, exitUsage, "predict", model, "r.csv", "--interval", "1")
	want(t, exitUsage, "predict", model, "r.csv", "--interval", "-0.5")
}

// A rowSource makes up a table of n rows as it is read.
type rowSource struct {
	n, i int
	left []byte
}

func (s *rowSource) Read(p []byte) (int, error) {
	if len(s.left) == 0 {
		if s.i == s.n {
			return 0, io.EOF
		}
		if s.i == 0 {
			s.left = append(s.left, "x\n"...)
		}
		for k := 0; k < 500 && s.i < s.n; k++ {
			s.left = fmt.Appendf(s.left, "%v\n", float64(s.i%1000)/100)
			s.i++
		}
	}
	n := copy(p, s.left)
	s.left = s.left[n:]
	return n, nil
}

// A rowSink checks that rows come in order, and what memory is in use meanwhile.
type rowSink struct {
	t           *testing.T
	text        []byte
	rows        int
	first       []string // of the first period
	early, late uint64
}

func (s *rowSink) Write(p []byte) (int, error) {
	s.text = append(s.text, p...)
	for {
		k := strings.IndexByte(string(s.text), '\n')
		if k < 0 {
			return len(p), nil
		}
		line := string(s.text[:k])
		s.text = s.text[k+1:]
		switch {
		case s.rows == 0: // header
		case s.rows <= 1000:
			s.first = append(s.first, line)
		case line != s.first[(s.rows-1)%1000]:
			s.t.Errorf("row %d is %s, where %s was predicted before", s.rows, line, s.first[(s.rows-1)%1000])
		}
		if s.rows++; s.rows%20000 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			s.late = max(s.late, m.HeapAlloc)
			if s.early == 0 {
				s.early = m.HeapAlloc
			}
		}
	}
}

// TestPredictStream: many rows, in order, in memory that does not grow.
func TestPredictStream(t *testing.T) {
	const rows = 50000
	sink := &rowSink{t: t}
	if code := run(t.Context(), []string{"predict", lineModel(t), "-", "--quiet"}, &rowSource{n: rows}, sink,
		io.Discard); code != exitOK {
		t.Fatalf("exit %d", code)
	}
	if sink.rows != rows+1 {
		t.Errorf("%d lines", sink.rows)
	}
	if sink.late > sink.early+4<<20 {
		t.Errorf("memory grows from %d to %d bytes", sink.early, sink.late)
	}
}

// TestDemoCoverage: 95 % intervals hold about 95 % of the 334 rows kept back.
func TestDemoCoverage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	m := object(t, want(t, exitOK, "demo", "--n", "1000", "--dir", dir, "--json", "--quiet").out)
	h := m["holdout"].(map[string]any)
	if c := h["coverage95"].(float64); h["n"] != 334.0 || c < 0.93 || c > 0.97 {
		t.Errorf("%v of %v rows are inside", c, h["n"])
	}
}

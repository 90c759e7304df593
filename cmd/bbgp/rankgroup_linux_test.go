package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bbgp.dev/internal/comm"
	"bbgp.dev/internal/comm/commtest"
)

// onGroup runs a command line on n ranks of this process and returns what rank 0 says; the others print nothing.
func onGroup(t *testing.T, n int, in string, args ...string) (first said) {
	t.Helper()
	err := commtest.Run(n, func(c comm.Comm) error {
		var out, errw bytes.Buffer
		a := newApp(strings.NewReader(in), &out, &errw)
		a.ranks = &team{comm: comm.NewAgreed(c), signalled: context.Background()}
		if c.Rank() > 0 {
			a.in, a.errw = strings.NewReader(""), &a.ranks.said
			a.out = &resultWriter{w: io.Discard}
		}
		ctx, _ := a.ranks.comm.Context(context.Background())
		code := a.run(ctx, slices.Clone(args))
		for _, f := range a.ranks.private {
			f.Close()
		}
		if c.Rank() == 0 {
			first = said{code, out.String(), errw.String()}
		} else if code != exitOK && a.ranks.said.last() == "" {
			return fmt.Errorf("code %d without a word", code)
		}
		return nil
	})
	if err != nil {
		t.Errorf("%v: %v", args, err)
	}
	return first
}

// waves is a table of n rows.
func waves(n int) string {
	var b strings.Builder
	b.WriteString("a,b,y\n")
	for i := range n {
		x, z := float64(i%13)/13, float64(i*7%31)/31
		fmt.Fprintf(&b, "%.4f,%.4f,%.4f\n", x, z, math.Sin(6*x)+z*z+0.1*math.Sin(float64(37*i)))
	}
	return b.String()
}

// Commands on ranks answer as one process does, from files and from standard input; rank 0 alone writes.
func TestCommandsOnRanks(t *testing.T) {
	if testing.Short() {
		t.Skip("each command runs on three ranks and alone")
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	text := waves(90)
	if err := os.WriteFile(in("t.csv"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	params := `{"variance":1,"noise":0.05,"lengthscales":[0.5,0.7]}`
	if err := os.WriteFile(in("p.json"), []byte(params), 0o600); err != nil {
		t.Fatal(err)
	}
	fit := []string{"fit", in("t.csv"), "-t", "y", "--method", "bbgp", "--max-steps", "2", "--json", "-q",
		"--threads", "1"}
	one := alone("", append(fit, "-o", in("one.bbgp"))...)
	two := onGroup(t, 2, "", append(fit, "-o", in("two.bbgp"), "--checkpoint", in("c"))...)
	if one.code != exitOK || two.code != exitOK {
		t.Fatalf("%+v\n%+v", one, two)
	}
	value := func(s said) (r struct {
		LML        float64 `json:"lml"`
		Parameters any     `json:"parameters"`
	}) {
		if err := json.Unmarshal([]byte(s.out), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if a, b := fmt.Sprint(value(one)), fmt.Sprint(value(two)); a != b {
		t.Errorf("alone %s, on two ranks %s", a, b)
	}
	again := onGroup(t, 3, "", append(fit, "-o", in("three.bbgp"), "--checkpoint", in("c"), "--resume")...)
	if a, b := fmt.Sprint(value(one)), fmt.Sprint(value(again)); a != b {
		t.Errorf("alone %s, resumed on three ranks %s", a, b)
	}
	model := in("one.bbgp")
	for _, args := range [][]string{
		{"predict", in("two.bbgp"), in("t.csv"), "--sd", "-q"},
		{"predict", model, "-", "--sd", "-q"},
		{"sample", model, in("t.csv"), "--draws", "2", "-q"},
		{"cv", in("t.csv"), "-t", "y", "--folds", "2", "--max-steps", "1", "-q", "--out", in("folds.csv")},
		{"lml", in("t.csv"), "-t", "y", "--params", in("p.json"), "-q"},
		{"predict", in("none.bbgp"), in("t.csv"), "-q"},
		{"predict", model, dir, "-q"},
		{"fit", in("t.csv"), "-t", "y", "--costs", "measured", "-q"},
		{"check", in("t.csv"), "-t", "y"},
	} {
		want, got := alone(text, args...), onGroup(t, 3, text, args...)
		switch args[0] {
		case "fit": // which several ranks refuse
			if got.code != exitUsage || !strings.Contains(got.errw, "--costs costs.json") {
				t.Errorf("%v: %+v", args, got)
			}
			continue
		case "lml", "cv": // tell times
			want.out, got.out = firstNumber(want.out), firstNumber(got.out)
		}
		if got.code != want.code || got.out != want.out {
			t.Errorf("%v: code %d on ranks, %d alone\n%s\nwant\n%s\n%s", args, got.code, want.code, got.out, want.out,
				got.errw)
		}
	}
}

// firstNumber is the first line of a report that has a number.
func firstNumber(report string) string {
	for line := range strings.Lines(report) {
		if strings.ContainsAny(line, "0123456789") && !strings.Contains(line, "s,") {
			return line
		}
	}
	return report
}

// The last words of a rank are kept, however much it says.
func TestTail(t *testing.T) {
	var s tail
	for i := range 5000 {
		fmt.Fprintf(&s, "line %d\n", i)
	}
	if s.last() != "line 4999" || len(s.text) > tailBytes {
		t.Errorf("%q of %d bytes", s.last(), len(s.text))
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// said is what a command ended with and printed.
type said struct {
	code      int
	out, errw string
}

// alone runs a command line as users do.
func alone(in string, args ...string) said {
	var out, errw bytes.Buffer
	code := run(context.Background(), args, strings.NewReader(in), &out, &errw)
	return said{code, out.String(), errw.String()}
}

// A flag that means nothing ends the command before it computes, with code 2 and a line that names it and what it
// takes.
func TestWrongFlagValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	text := "a,b,y\n" + strings.Repeat("1,2,3\n2,5,1\n4,1,2\n", 4)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	fit := func(flags ...string) []string { return append([]string{"fit", path, "-t", "y", "-q"}, flags...) }
	for _, c := range []struct {
		args []string
		says []string
	}{
		{fit("--delimiter", "ab"), []string{"--delimiter", "one character"}},
		{fit("--decimal", "semicolon"), []string{"--decimal", "point or comma"}},
		{fit("--header", "maybe"), []string{"--header", "yes, no or auto"}},
		{fit("--units", "maybe"), []string{"--units", "yes, no or auto"}},
		{fit("--ragged", "keep"), []string{"--ragged", "stop or drop"}},
		{fit("--skip", "-1"), []string{"--skip", "negative"}},
		{fit("--missing", "guess"), []string{"--missing", "stop"}},
		{fit("--levels", "0"), []string{"--levels", "1 and 1000"}},
		{fit("--eps", "0"), []string{"--eps", "positive"}},
		{fit("--scale-floor", "-1"), []string{"--scale-floor"}},
		{fit("--lml-se", "-1"), []string{"--lml-se", "positive"}},
		{fit("--time", "-1s"), []string{"--time", "negative"}},
		{fit("--time", "0"), []string{"--time", "no end"}},
		{fit("--time", "0m"), []string{"--time", "no end"}},
		{fit("--time", "1e-12"), []string{"--time", "no end"}},
		{fit("--method", "exact", "--rank", "20"), []string{"--rank", "method exact"}},
		{fit("--method", "exact", "--neighbours", "0"), []string{"--neighbours", "method exact"}},
		{fit("--method", "exact", "--precision", "f32"), []string{"--precision", "method exact"}},
		{fit("--method", "sgpr", "--probes", "7"), []string{"--probes", "method sgpr"}},
		{fit("--method", "cglb", "--rank", "0"), []string{"--rank", "inducing rows"}},
		{fit("--method", "iterative", "--product", "h2"), []string{"--product", "method iterative"}},
		{fit("--method", "rr", "--tolerance", ".001"), []string{"--tolerance", "method rr"}},
		{fit("--product", "dense", "--tolerance", ".001"), []string{"--tolerance", "product dense"}},
		{[]string{"plan", path, "-t", "y", "--method", "exact", "--lml-se", ".1"}, []string{"--lml-se", "exact"}},
		{[]string{"lml", path, "-t", "y", "--params", "p", "--lml-se", ".1"}, []string{"--lml-se"}},
		{fit("--rank", "many"), []string{"--rank", "auto"}},
		{fit("--memory", "12"), []string{"--memory", "unit"}},
		{fit("--memory", "a lot"), []string{"--memory", "2GiB"}},
		{fit("--threads", "-2"), []string{"--threads", "4096"}},
		{fit("--isa", "abacus"), []string{"--isa", "abacus"}},
		{fit("--max-steps", "0"), []string{"--max-steps", "less than 1"}},
		{fit("--out", "-"), []string{"--out", "name a file"}},
		{fit("--date", "a:weekly"), []string{"--date", "weekly"}},
		{fit("--robust", "--checkpoint", path+".c"), []string{"--robust", "--checkpoint"}},
		{[]string{"fit", path, "-q"}, []string{"--target is missing"}},
		{[]string{"fit"}, []string{"fit takes"}},
		{[]string{"predict", path}, []string{"predict takes", "alone"}},
		{[]string{"version", "x"}, []string{"version takes no arguments"}},
		{[]string{"bench", "product", "--kernel", "cosine"}, []string{"--kernel"}},
		{[]string{"bench", "product", "--precision", "f16"}, []string{"--precision", "f32 or f64"}},
		{[]string{"bench", "product", "--n", "0"}, []string{"--n"}},
		{[]string{"bench", "dense", "--ops", "gemm,guess"}, []string{"--ops guess", "gemm"}},
		{[]string{"bench", "dense", "--scale", "0"}, []string{"--scale"}},
	} {
		got := alone("", c.args...)
		if got.code != exitUsage || got.out != "" || strings.Count(strings.TrimSpace(got.errw), "\n") != 0 {
			t.Errorf("%v: code %d, %q, %q", c.args[1:], got.code, got.out, got.errw)
		}
		for _, word := range c.says {
			if !strings.Contains(got.errw, word) {
				t.Errorf("%v: %q does not say %q", c.args, got.errw, word)
			}
		}
	}
}

// Small measurements say what they measured, in words and in JSON.
func TestBenchSmall(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"bench product --n 300 --d 2 --time 1ms --precision f32 --threads 1", "n 300, D 2"},
		{"bench gradient --n 300 --d 2 --time 1ms --threads 1", "n 300, D 2"},
		{"bench dense --ops gemm --scale 0.05 --time 1ms --threads 1", "gemm"},
	} {
		args := strings.Fields(c.args)
		got := alone("", args...)
		if got.code != exitOK || !strings.Contains(got.out, c.says) {
			t.Errorf("%s: %+v", c.args, got)
		}
		if got := alone("", append(args, "--json")...); got.code != exitOK || !json.Valid([]byte(got.out)) {
			t.Errorf("%s --json: %+v", c.args, got)
		}
	}
}

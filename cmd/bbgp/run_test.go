package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A result is what a command line did.
type result struct {
	code     int
	out, err string
}

func bbgpRun(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, errw bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(stdin), &out, &errw)
	if strings.Contains(errw.String(), "goroutine ") {
		t.Errorf("%q: a panic trace:\n%s", args, errw.String())
	}
	return result{code, out.String(), errw.String()}
}

// want runs a command line and demands its exit code.
func want(t *testing.T, code int, args ...string) result {
	t.Helper()
	r := bbgpRun(t, "", args...)
	if r.code != code {
		t.Fatalf("bbgp %s: exit %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	return r
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// Each fault of the data is one line that names file, row and column.
func TestBadData(t *testing.T) {
	dir := t.TempDir()
	good := "x1,x2,y\n1,2,3\n2,1,4\n3,5,1\n4,4,2\n"
	goodPath := write(t, dir, "good.csv", good)
	for _, tc := range []struct {
		name, content, target string
		args                  []string
		want                  string // after the path of the file
	}{
		{"empty", "", "y", nil, ": is empty; a header line and rows of numbers are expected"},
		{"header", "x1,y\n", "y", nil, ": has a header and no rows"},
		{"held", "x1,y\n1,2\n2,4\n", "y", []string{"--holdout", "none.csv"}, ""},
		{"target", "x1,price\n1,2\n", "prize", nil, ": column prize: there is no such column; did you mean price?"},
		{"text", "x1,y\n1,2\n2,3\nabc,4\n", "y", nil,
			`: row 3 (line 4), column x1: "abc" is no number, while 2 cells of the column are; mend it, or --na abc ` +
				`takes it for missing, or use --text x1 or --ignore x1`},
		{"text target", "x1,y\n1,2\n2,low\n", "y", nil,
			`: row 2 (line 3), column y: "low" is no number; mend it, or --na low takes it for a row without a target`},
		{"nan", "x1,y\n1,2\nNaN,3\nNA,3\n", "y", nil,
			`: row 2 (line 3), column x1: the cell is missing (NA, NaN), as are 2 of 3 in the column; choose ` +
				`--missing drop or --missing indicator, or --ignore x1`},
		{"inf", "x1,y\n1,2\n-inf,3\n", "y", nil, `: row 2 (line 3), column x1: "-inf" is not finite; ` +
			"mend it, or --na -inf takes it for missing"},
		{"inf target", "x1,y\n1,2\n2,1e999\n", "y", nil, `: row 2 (line 3), column y: "1e999" is not finite; ` +
			"mend it, or --na 1e999 takes it for missing"},
		{"few cells", "x1,x2,y\n1,2,3\n1,2\n", "y", nil,
			`: row 2 (line 3), column y: the row has 2 of 3 cells; fill the missing ones or leave them empty ` +
				`between delimiters`},
		{"many cells", "x1,y\n1,2\n1,2,3\n", "y", nil,
			`: row 2 (line 3): the row has 3 cells, the header 2; name all columns in the header, or delete the ` +
				`cells that are too many`},
		{"no target left", "x1,y\n1,\n2,\n", "y", nil, `: no row is left: 2 without a target, 0 with a missing input`},
		{"no input", "y\n1\n2\n", "y", nil, `: no column is left as an input`},
		{"negative noise", "x1,v,y\n1,-1,2\n2,1,3\n", "y", []string{"--noise-var", "v"},
			`: row 1 (line 2), column v: -1 is no variance; variances are at least 0`},
		{"zero weight", "x1,w,y\n1,1,2\n2,0,3\n", "y", []string{"--weight", "w"},
			`: row 2 (line 3), column w: 0 is no weight; weights are positive`},
		{"many texts", "name,y\na,1\nb,2\nc,3\n", "y", []string{"--levels", "2"},
			`: row 1 (line 2), column name: 3 or more different texts, such as "a", "b", "c", are too many for one ` +
				`input each (at most 2); leave it out with --ignore name or allow more with --levels`},
		{"ignored", "x1,y\n1,2\n2,3\n", "y", []string{"--ignore", "x9"},
			`: column x9: there is no such column; did you mean x1?`},
		{"binary", "x1,y\n\x00,2\n", "y", nil,
			`: row 1 (line 2): holds zero bytes, which no text has: a copy that was cut short, or no text file; tr ` +
				`-d '\000' takes them out`},
		{"parquet", "PAR1\x00\x00", "y", nil, `: damaged Parquet data: cut short`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := write(t, dir, "bad.csv", tc.content)
			r := want(t, exitData, append([]string{"fit", path, "--target", tc.target}, tc.args...)...)
			if tc.want == "" { // another file is at fault, before the fit begins
				tc.want, path = ": no such file", "none.csv"
			}
			if line := "bbgp: " + path + tc.want + "\n"; r.err != line || r.out != "" {
				t.Errorf("got  %swant %s", r.err, line)
			}
		})
	}
	missing := filepath.Join(dir, "none.csv")
	if r := want(t, exitData, "fit", missing, "--target", "y"); r.err != "bbgp: "+missing+": no such file\n" {
		t.Error(r.err)
	}
	if r := want(t, exitData, "fit", dir, "--target", "y"); !strings.Contains(r.err, "is a folder") {
		t.Error(r.err)
	}
	if r := want(t, exitData, "predict", goodPath, goodPath); strings.Count(r.err, "\n") != 1 ||
		!strings.Contains(r.err, goodPath) {
		t.Errorf("a table in place of a model: %s", r.err)
	}
}

// Each fault of the parameters is one line that names the file and the key.
func TestBadParameters(t *testing.T) {
	dir := t.TempDir()
	data := write(t, dir, "d.csv", "x1,x2,y\n1,2,3\n2,1,4\n3,5,1\n4,4,2\n")
	for name, tc := range map[string]struct{ params, want string }{
		"negative noise": {`{"kernel":"matern32","mean":0,"variance":1,"noise":-1,"lengthscales":[1,1]}`,
			`"noise": -1`},
		"negative length": {`{"kernel":"matern32","mean":0,"variance":1,"noise":1,"lengthscales":[1,-2]}`,
			`"lengthscales[1]": -2`},
		"zero variance": {`{"kernel":"matern32","mean":0,"variance":0,"noise":1,"lengthscales":[1,1]}`,
			`"variance": 0`},
		"kernel": {`{"kernel":"cubic","mean":0,"variance":1,"noise":1,"lengthscales":[1,1]}`,
			`"kernel": "cubic"`},
		"missing": {`{"kernel":"matern32","noise":1,"lengthscales":[1,1]}`, `"variance": missing`},
		"too few": {`{"kernel":"matern32","mean":0,"variance":1,"noise":1,"lengthscales":[1]}`,
			`has 1 lengthscales, the table 2 inputs: x1, x2`},
		"unknown": {`{"kernel":"matern32","mean":0,"variance":1,"noise":1,"lengthscales":[1,1],"nose":2}`,
			`nose`},
		"no JSON": {`noise=1`, `holds no parameters`},
	} {
		t.Run(name, func(t *testing.T) {
			p := write(t, dir, "p.json", tc.params)
			r := want(t, exitData, "lml", data, "--target", "y", "--params", p)
			if !strings.Contains(r.err, tc.want) || !strings.HasPrefix(r.err, "bbgp: "+p) ||
				strings.Count(r.err, "\n") != 1 {
				t.Errorf("%s: %s", tc.params, r.err)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	data := write(t, dir, "d.csv", "x1,y\n1,2\n2,3\n3,5\n")
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"fti"}, `unknown command "fti"; did you mean fit?`},
		{[]string{"frobnicate"}, "unknown command"},
		{[]string{"fit"}, "fit takes DATA.csv, not 0 arguments"},
		{[]string{"fit", data}, "--target is missing"},
		{[]string{"fit", data, "--traget", "y"}, "unknown flag --traget; did you mean --target?"},
		{[]string{"fit", data, "--target", "y", "--eps", "-1"}, "--eps -1"},
		{[]string{"fit", data, "--target", "y", "--eps", "x"}, "eps"},
		{[]string{"fit", data, "--target", "y", "--probes", "0"}, "--probes 0"},
		{[]string{"fit", data, "--target", "y", "--probes", "64"}, "64"},
		{[]string{"fit", data, "--target", "y", "--kernel", "cubic"}, "cubic"},
		{[]string{"fit", data, "--target", "y", "--method", "guess"}, "guess"},
		{[]string{"fit", data, "--target", "y", "--optimizer", "sgd"}, "sgd"},
		{[]string{"fit", data, "--target", "y", "--precision", "f16"}, "f16"},
		{[]string{"fit", data, "--target", "y", "--isa", "avx9"}, "avx9"},
		{[]string{"fit", data, "--target", "y", "--threads", "-1"}, "--threads -1"},
		{[]string{"fit", data, "--target", "y", "--rank", "many"}, `--rank "many"`},
		{[]string{"fit", data, "--target", "y", "--memory", "lots"}, `--memory "lots"`},
		{[]string{"fit", data, "--target", "y", "--max-steps", "0"}, "--max-steps 0"},
		{[]string{"fit", data, "--target", "y", "--missing", "guess"}, "--missing"},
		{[]string{"fit", data, "--target", "y", "--delimiter", "ab"}, "--delimiter"},
		{[]string{"fit", data, "--target", "y", "--header", "maybe"}, "--header"},
		{[]string{"fit", data, "--target", "y", "--progress", "loud"}, "--progress"},
		{[]string{"lml", data, "--target", "y"}, "--params is missing"},
		{[]string{"predict", data}, "predict takes MODEL NEW.csv, not "},
		{[]string{"predict", data, data, "--json"}, "--json needs --out"},
		{[]string{"demo", "--n", "1"}, "--n"},
		{[]string{"info", "a", "b"}, "info takes"},
		{[]string{"bench", "product", "--kernel", "cubic"}, "--kernel"},
		{[]string{"bench", "gradient", "--precision", "f16"}, "--precision"},
		{[]string{"bench", "product", "--p", "65"}, "--p 1 to 64"},
		{[]string{"bench", "dense", "--ops", "fft"}, "fft"},
		{[]string{"bench", "prodct"}, `unknown command "prodct"; did you mean product?`},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			r := want(t, exitUsage, tc.args...)
			if !strings.Contains(r.err, tc.want) || strings.Count(r.err, "\n") != 1 || r.out != "" {
				t.Errorf("out %q, err %q, want %q", r.out, r.err, tc.want)
			}
		})
	}
}

func TestHelpAndInfo(t *testing.T) {
	for _, name := range []string{"fit", "predict", "lml", "check", "info", "demo"} {
		if r := want(t, exitOK, "help", name); strings.Count(r.out, "bbgp "+name) < 3 {
			t.Errorf("help of %s has no two examples:\n%s", name, r.out)
		}
	}
	r := want(t, exitOK, "info", "--isa", "generic", "--threads", "3", "--json")
	for _, s := range []string{`"isa": "generic"`, `"threads": 3`, `"version"`, `"cpu"`, `"go"`} {
		if !strings.Contains(r.out, s) {
			t.Errorf("info has no %s:\n%s", s, r.out)
		}
	}
}

func TestConfig(t *testing.T) {
	dir := t.TempDir()
	data := write(t, dir, "d.csv", "x1,x2,y\n1,2,3\n2,1,4\n3,5,1\n")
	config := write(t, dir, "c.txt", "# a comment\ntarget = y # to predict\n\nignore = x2\neps = 0.5\nquiet = true\n")
	r := want(t, exitOK, "fit", data, "--config", config, "--eps", "2", "--print-config")
	for _, line := range []string{"target = y\n", "ignore = x2\n", "eps = 2\n", "quiet = true\n", "probes = auto\n"} {
		if !strings.Contains(r.out, line) {
			t.Errorf("no %q in\n%s", line, r.out)
		}
	}
	again := write(t, dir, "again.txt", r.out)
	if s := want(t, exitOK, "fit", data, "--config", again, "--print-config"); s.out != r.out {
		t.Errorf("what is printed does not read back:\n%s", s.out)
	}
	for content, line := range map[string]string{
		"targt = y\n":       ": line 1: there is no flag targt; did you mean target?",
		"target = y\neps\n": ": line 2: \"eps\" is no `name = value`",
		"levels = many\n":   ": line 1: ",
	} {
		bad := write(t, dir, "bad.txt", content)
		if r := want(t, exitUsage, "fit", data, "--config", bad); !strings.HasPrefix(r.err, "bbgp: "+bad+line) ||
			strings.Count(r.err, "\n") != 1 {
			t.Error(r.err)
		}
	}
	want(t, exitUsage, "fit", data, "--config", filepath.Join(dir, "none"))
}

func TestBench(t *testing.T) {
	for _, args := range [][]string{{"product", "--p", "2"}, {"gradient", "--r", "3"}} {
		m := object(t, want(t, exitOK, append([]string{"bench", args[0], "--n", "300", "--d", "3", "--time", "1ms",
			"--json"}, args[1:]...)...).out)
		hasKeys(t, m,
			"n d p kernel precision threads isa seconds cpu_seconds pairs_per_s cycles_per_pair fma_share peak_gflops")
	}
}

func TestParseBytes(t *testing.T) {
	for s, n := range map[string]int64{"": 0, "5000000": 5e6, "2GiB": 2 << 30,
		"1.5g": 1.5e9, "10 MB": 1e7, "3kib": 3072} {
		if got, err := parseBytes(s); err != nil || got != n {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
	for _, s := range []string{"x", "-1", "2", "500", "1..2G", "9e9", "99999999TB"} {
		if _, err := parseBytes(s); err == nil {
			t.Errorf("%q is taken", s)
		}
	}
}

// A run that panics prints a line and exits with 1.
func TestPanicIsALine(t *testing.T) {
	var errw bytes.Buffer
	code := run(context.Background(), []string{"info", "--json"}, nil, panicWriter{}, &errw)
	if code != exitInternal || strings.Count(errw.String(), "\n") != 1 {
		t.Errorf("exit %d: %s", code, errw.String())
	}
}

type panicWriter struct{}

func (panicWriter) Write([]byte) (int, error) { panic(fmt.Sprintf("disk %d on fire", 7)) }

package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/linalg"
)

// splitOf is the division of a table into folds.
func splitOf(t *testing.T, text string, f foldFlags) ([][]int, error) {
	t.Helper()
	r, err := table.NewReader("t.csv", strings.NewReader(text), table.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tab, err := table.Load(r, table.Request{})
	if err != nil {
		t.Fatal(err)
	}
	ts := &trainingSet{table: tab, set: &inputs.Set{}, plan: new(inputs.Plan)}
	for i := range tab.Rows {
		ts.set.Rows = append(ts.set.Rows, i)
	}
	ts.set.X = linalg.NewMatrix(tab.Rows, 1)
	f.repeats = max(f.repeats, 1)
	return f.split(ts, 1)
}

// isPartition says whether each row is in one fold.
func isPartition(folds [][]int, n int) bool {
	all := slices.Concat(folds...)
	slices.Sort(all)
	for i, v := range all {
		if v != i {
			return false
		}
	}
	return len(all) == n
}

// Groups stay whole, blocks are apart from each other, draws are repeated: each row is left
// out once per draw.
func TestFolds(t *testing.T) {
	var b strings.Builder
	b.WriteString("site,lon,lat,day,y\n")
	for i := range 120 {
		fmt.Fprintf(&b, "s%d,%d.5,%d.25,2024-01-%02d,%d\n", i%11, i%10, i/10, 1+i/6, i)
	}
	for _, f := range []foldFlags{{folds: 5}, {folds: 5, group: "site"}, {folds: 11, group: "1"},
		{folds: 6, block: []string{"lon", "lat"}}, {folds: 4, block: []string{"day"}},
		{folds: 7, block: []string{"lon"}}} {
		folds, err := splitOf(t, b.String(), f)
		if err != nil || len(folds) != f.folds || !isPartition(folds, 120) {
			t.Errorf("%+v: %v, %v", f, folds, err)
		}
		for k, fold := range folds {
			for _, i := range fold {
				if f.group != "" && slices.ContainsFunc(slices.Concat(slices.Delete(slices.Clone(folds), k, k+1)...),
					func(j int) bool { return j%11 == i%11 }) {
					t.Errorf("%+v: a group is divided", f)
				}
			}
			if len(f.block) == 1 && f.block[0] == "day" && slices.Max(fold)-slices.Min(fold) != len(fold)-1 {
				t.Errorf("%+v: a block has gaps: %v", f, fold)
			}
			if len(fold) < 120/f.folds/2 || len(fold) > 2*120/f.folds+1 {
				t.Errorf("%+v: a fold of %d rows", f, len(fold))
			}
		}
	}
	folds, err := splitOf(t, b.String(), foldFlags{folds: 3, repeats: 2})
	if err != nil || len(folds) != 6 || !isPartition(folds[:3], 120) || !isPartition(folds[3:], 120) ||
		slices.Equal(folds[0], folds[3]) {
		t.Errorf("%v, %v", folds, err)
	}
	if folds, err = splitOf(t, b.String(), foldFlags{folds: 12, group: "site"}); err != nil || len(folds) != 11 {
		t.Errorf("%d folds of 11 groups by default, %v", len(folds), err)
	}
	for _, f := range []foldFlags{{folds: 12, group: "site", asked: true}, {folds: 3, group: "none"},
		{folds: 3, block: []string{"site"}}, {folds: 11, block: []string{"lon"}}, {folds: 1, asked: true},
		{folds: 121, asked: true}} {
		if _, err := splitOf(t, b.String(), f); err == nil {
			t.Errorf("%+v is taken", f)
		}
	}
	if _, err := splitOf(t, "g,y\n1,2\n,3\n2,4\n", foldFlags{folds: 2, group: "g"}); err == nil ||
		!strings.Contains(err.Error(), "row 2 (line 3), column g") {
		t.Error(err)
	}
}

// The flags of cv that divide the rows, and those that exclude each other.
func TestCVGroups(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("site,x,y\n")
	for i := range 40 {
		fmt.Fprintf(&b, "s%d,%d,%d\n", i%4, i, i*i%13)
	}
	data := write(t, dir, "d.csv", b.String())
	for kind, args := range map[string][]string{"groups": {"--group", "site", "--folds", "2"},
		"blocks": {"--block", "x", "--folds", "2"}, "folds": {"--folds", "2", "--repeats", "2"}} {
		o := object(t, want(t, exitOK, append([]string{"cv", data, "--target", "y", "--max-steps", "2", "--quiet",
			"--json"}, args...)...).out)
		rows := 40.0
		if kind == "folds" {
			rows = 80
		}
		if all := o["all"].(map[string]any); o["kind"] != kind || all["n"].(float64) != rows {
			t.Errorf("%s: %v, %v rows", kind, o["kind"], all["n"])
		}
	}
	for _, args := range [][]string{{"--loo", "--group", "site"}, {"--group", "site", "--block", "x"},
		{"--block", "x", "--repeats", "2"}, {"--repeats", "0"}} {
		want(t, exitUsage, append([]string{"cv", data, "--target", "y"}, args...)...)
	}
}

// Key columns are copied as they are, digits are as many as asked for; what people write
// for an interval, a time or a share is understood.
func TestPredictionsToUse(t *testing.T) {
	dir := t.TempDir()
	data := write(t, dir, "d.csv", "id,x,y\n\"a, 1\",1,2.5\n\"b \"\"q\"\"\",2,3\n003,3,5\n4,4,6\n5,5,7.25\n")
	model := filepath.Join(dir, "m.bbgp")
	want(t, exitOK, "fit", data, "--target", "y", "--features", "x", "--out", model, "--quiet", "--time", "60")
	r := want(t, exitOK, "predict", model, data, "--keep", "id,y", "--digits", "3", "--quiet")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if lines[0] != "id,y,mean" || len(lines) != 6 || !strings.HasPrefix(lines[1], `"a, 1",2.5,`) ||
		!strings.HasPrefix(lines[2], `"b ""q""",3,`) || !strings.HasPrefix(lines[3], "003,5,") {
		t.Error(r.out)
	}
	for _, l := range lines[1:] {
		mean := l[strings.LastIndexByte(l, ',')+1:]
		if v, err := strconv.ParseFloat(mean, 64); err != nil || strconv.FormatFloat(v, 'g', 3, 64) != mean {
			t.Errorf("%q has not three digits", mean)
		}
	}
	a := want(t, exitOK, "predict", model, data, "--interval", "95", "--quiet").out
	if b := want(t, exitOK, "predict", model, data, "--interval", "0.95", "--quiet").out; a != b {
		t.Errorf("95 is %s, 0.95 is %s", a, b)
	}
	for _, tc := range []struct {
		code int
		args []string
		want string
	}{
		{exitUsage, []string{"predict", model, data, "--interval", "100"}, "0.95, or 95 for 95 %"},
		{exitUsage, []string{"predict", model, data, "--digits", "40"}, "--digits 40"},
		{exitData, []string{"predict", model, data, "--keep", "idd"}, "did you mean id?"},
		{exitUsage, []string{"fit", data, "--target", "y", "--time", "soon"}, "a number with a unit, such as 90s"},
		{exitUsage, []string{"fit", data, "--target", "y", "--holdout", "20"}, "--holdout 20% keeps a share"},
		{exitOK, []string{"version"}, ""},
	} {
		if r := want(t, tc.code, tc.args...); !strings.Contains(r.err, tc.want) {
			t.Errorf("%q: %s", tc.args, r.err)
		}
	}
	if r := want(t, exitOK, "fit", data, "--target", "y", "--features", "x", "--holdout", "0.2", "--progress",
		"none"); !strings.Contains(r.err, "1 row, drawn at random: held out") {
		t.Error(r.err)
	}
	if v, w := want(t, exitOK, "version"), want(t, exitOK, "--version"); v.out != w.out {
		t.Errorf("%q, %q", v.out, w.out)
	}
}

// What --print-config writes reads back, whatever names have in them.
func TestConfigReadsBack(t *testing.T) {
	dir := t.TempDir()
	data := write(t, dir, "d.csv", "x,y\n1,2\n2,3\n")
	for _, target := range []string{"Druck [bar]", "[a]", "a #1", "#", "it's", "'q'", " a", "a=b", `"x"`, "a#b"} {
		r := want(t, exitOK, "fit", data, "--target", target, "--ignore",
			`"a,b","[c]"`, "--na", "<0,5,-999", "--print-config")
		config := write(t, dir, "c.txt", r.out)
		again := want(t, exitOK, "fit", data, "--config", config, "--print-config")
		if again.out != r.out || !strings.Contains(r.out, "ignore = \"a,b\",[c]\n") ||
			!strings.Contains(r.out, "na = <0,5,-999\n") {
			t.Errorf("%q: %s\n%s", target, r.out, again.out)
		}
		f := want(t, exitData, "fit", data, "--config", config)
		if !strings.Contains(f.err, "column "+target+":") && !strings.Contains(f.err, strconv.Quote(target)) {
			t.Errorf("%q: %s", target, f.err)
		}
	}
}

// Columns are offered after flags that take them, models where a model is expected; in a
// bash without the package bash-completion too.
func TestCompletionOfColumns(t *testing.T) {
	dir := t.TempDir()
	data := write(t, dir, "d.csv", "temp;Druck [bar];y\n1;2;3\n2;3;4\n")
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"fit", data, "--target", ""}, "temp\nDruck [bar]\ny\n:4"},
		{[]string{"fit", data, "--ignore", "temp,D"}, "temp,Druck [bar]\n:4"},
		{[]string{"cv", data, "--group", "t"}, "temp\n:4"},
		{[]string{"predict", "m.bbgp", data, "--keep", "y"}, "y\n:4"},
		{[]string{"predict", ""}, "bbgp\n:8"},
		{[]string{"fit", "none.csv", "--target", ""}, ":4"},
	} {
		if r := want(t, exitOK, append([]string{"__complete"}, tc.args...)...); !strings.HasPrefix(r.out, tc.want) {
			t.Errorf("%q: %q", tc.args, r.out)
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	var b bytes.Buffer
	if run(t.Context(), []string{"completion", "bash"}, nil, &b, &b) != exitOK {
		t.Fatal(b.String())
	}
	write(t, dir, "m.bbgp", "")
	write(t, dir, "m.txt", "")
	script := b.String() + `
compopt() { :; }
bbgp() { printf 'bbgp\n:8\n'; }
COMP_LINE="bbgp predict m"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; COMP_WORDS=(bbgp predict m); COMP_CWORD=2
__start_bbgp; echo "${COMPREPLY[@]}"
`
	cmd := exec.CommandContext(t.Context(), bash, "--norc", "--noprofile")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "m.bbgp\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// A line that is drawn anew is never longer than the terminal is wide.
func TestLiveLineIsCut(t *testing.T) {
	for _, width := range []int{20, 60, 200} {
		var b bytes.Buffer
		p := &teller{w: &b, live: true, width: width}
		for _, s := range stepsOf() {
			p.tell(s)
		}
		for _, line := range strings.FieldsFunc(b.String(), func(r rune) bool { return r == '\r' || r == '\n' }) {
			if n := len([]rune(strings.TrimSuffix(line, clearLine))); n >= width && strings.HasSuffix(line, clearLine) {
				t.Errorf("%d of %d columns: %q", n, width, line)
			}
		}
	}
	want(t, exitOK, "man", t.TempDir())
	if !strings.Contains(kernelText, "matern32   h(r) = (1 + a) exp(-a)") {
		t.Error(kernelText)
	}
}

// Of a text column no single text is called irrelevant; a column that does nothing is, by name.
func TestIrrelevantColumns(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(9, 9))
	table := "kind,a,none,y\n"
	for range 150 {
		k, a := r.IntN(3), r.Float64()
		table += fmt.Sprintf("%s,%.4f,%.4f,%.4f\n", []string{"low", "mid", "high"}[k], a, r.Float64(),
			float64(k)+math.Sin(6*a)+0.05*r.NormFloat64())
	}
	out := want(t, exitOK, "fit", write(t, dir, "d.csv", table), "--target", "y", "--quiet", "--json").out
	o := object(t, out)
	said := fmt.Sprint(o["warnings"])
	if strings.Contains(said, "kind=") || fmt.Sprint(o["irrelevant_inputs"]) == "[]" ||
		!strings.Contains(said, "1 of 3 columns was found irrelevant: none") {
		t.Errorf("%s, %v", said, o["irrelevant_inputs"])
	}
}

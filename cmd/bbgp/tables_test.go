package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bbgp.dev/cmd/bbgp/internal/table"
)

// messy are tables with several problems at once; the command that check prints fits each
// of them, with the columns that have odd names quoted for the shell.
var messy = map[string]struct {
	head, row string // of row i: %d, and %v for a number
	last      []string
	flags     []string
	want      []string // parts of the command
}{
	"words among numbers": {"a,b c,y\n", "%d,%v,%v\n", []string{"7,oops,1\n", "8,why not,2\n"}, nil,
		[]string{`--na 'oops,why not'`}},
	"missing":      {"a,b,y\n", "%d,%v,%v\n", []string{",1,2\n", "5,NA,3\n"}, nil, []string{"--missing drop"}},
	"empty column": {"a,Druck [bar],b,y\n", "%d,,%v,%v\n", nil, nil, []string{`--ignore 'Druck [bar]'`}},
	"infinite": {"a,b,y\n", "%d,%v,%v\n", []string{"1,inf,2\n"}, nil,
		[]string{"--na inf", "--missing drop"}},
	"names":          {"name,\"a, b\",y\n", "n%d,,%[2]v\n", nil, nil, []string{`--ignore '"a, b"'`}},
	"date in doubt":  {"day,b,y\n", "03/0%[4]d/2024,%[2]v,%[3]v\n", nil, nil, []string{"--date day:dd/mm/yyyy"}},
	"marks in doubt": {"a;b;y\n", "1,%[5]d;%[1]d;%[6]d\n", nil, nil, []string{"--decimal point"}},
	"ragged":         {"a,b,y\n", "%d,%v,%v\n", []string{"Source: own\n"}, nil, []string{"--ragged drop"}},
	"totals":         {"a,b,y\n", "%d,%v,%v\n", []string{"Total,99,99\n"}, nil, []string{"--comment Total"}},
	"a bad target":   {"a,b,y\n", "%d,%v,%v\n", []string{"1,2,n/k\n", "2,3,<5\n"}, nil, []string{"--na '<5,n/k'"}},
	"flags kept": {"a;b;y\n", "%d;%v;%v\n", []string{"5;x;3\n"},
		[]string{"--delimiter", ";", "--header", "yes"}, []string{"--delimiter ';'", "--header yes", "--na x"}},
}

func TestCheckListsAndMends(t *testing.T) {
	for name, m := range messy {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 7))
			var b strings.Builder
			b.WriteString(m.head)
			for i := range 40 {
				line := fmt.Sprintf(m.row, 10+i*i%17, rng.Float64(), rng.NormFloat64(), 1+i%9, 100+i*7, i%5)
				line, _, _ = strings.Cut(line, "%!(EXTRA")
				b.WriteString(strings.TrimRight(line, "\n") + "\n")
			}
			path := write(t, t.TempDir(), "t.csv", b.String()+strings.Join(m.last, ""))
			r := want(t, exitData, append([]string{"check", path, "--target", "y", "--json"}, m.flags...)...)
			o := object(t, r.out)
			command, _ := o["command"].(string)
			for _, w := range m.want {
				if !strings.Contains(command, w) {
					t.Errorf("%q has no %q", command, w)
				}
			}
			if len(o["problems"].([]any)) == 0 || command == "" {
				t.Fatal(r.out)
			}
			want(t, exitOK, append(shellWords(command)[1:], "--max-steps", "2", "--quiet")...)
		})
	}
}

// A table is predicted as it was trained: marks, dates and encodings of the new table are
// read from it, or as in the training where it does not tell.
func TestPredictReadsAsTrained(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("Tag;Größe;Menge;Art;y\n")
	for i := range 40 {
		fmt.Fprintf(&b, "%02d/%02d/2024;%d,%d;%d.%03d,5;caf%s;%d,25\n", 1+i%28, 1+i%12, i, i%10, 1+i%3, i*13%1000,
			[]string{"\xe9", "\xe8"}[i%2], i%7)
	}
	train := write(t, dir, "t.csv", strings.NewReplacer("ö", "\xf6", "ß", "\xdf").Replace(b.String()))
	model := filepath.Join(dir, "m.bbgp")
	r := want(t, exitOK, "fit", train, "--target", "y", "--out", model, "--na", "-1", "--missing", "indicator",
		"--max-steps", "5", "--progress", "none")
	for _, w := range []string{"Windows-1252", "day first", "thousands between points"} {
		if !strings.Contains(r.err, w) {
			t.Errorf("no %q in %s", w, r.err)
		}
	}
	predict := func(name, text string) string {
		t.Helper()
		return want(t, exitOK, "predict", model, write(t, dir, name, text), "--quiet").out
	}
	same := predict("a.csv", "Tag;Größe;Menge;Art\n05/03/2024;3,5;1.234;café\n-1;3,5;1.234,5;cafè\n")
	for name, text := range map[string]string{
		"latin.csv":  "Tag;Gr\xf6\xdfe;Menge;Art\n05/03/2024;3,5;1.234;caf\xe9\n-1;3,5;1.234,5;caf\xe8\n",
		"other.csv":  "Art,Größe,Menge,Tag\ncafé,3.5,1234,2024-03-05\ncafè,3.5,\"1,234.5\",-1\n",
		"spaces.csv": "Menge\tGröße\tTag\tArt\n1234\t3,5\t05/03/2024\tcafé\n1 234,5\t3,5\t\tcafè\n",
	} {
		if got := predict(name, text); got != same {
			t.Errorf("%s: %s, want %s", name, got, same)
		}
	}
	bad := write(t, dir, "bad.csv", "Tag;Größe;Menge;Art\n05/13/2024;3,5;1.234;café\n")
	if r := want(t, exitData, "predict", model, bad); !strings.Contains(r.err,
		`row 1 (line 2), column Tag: "05/13/2024" is no date in the order of the training, dd/mm/yyyy`) {
		t.Error(r.err)
	}
}

// Reading stays within its budget, whatever a few bytes unpack to.
func TestReadingIsBounded(t *testing.T) {
	dir := t.TempDir()
	bomb := func(name, head, part string, times int) string {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z := gzip.NewWriter(f)
		defer z.Close()
		if _, err := io.WriteString(z, head); err != nil {
			t.Fatal(err)
		}
		for range times {
			if _, err := io.WriteString(z, part); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	long := bomb("rows.gz", "a,b\n", strings.Repeat("1,2\n", 1<<14), 200)
	wide := bomb("columns.gz", "a", strings.Repeat(",", 1<<16), 17)
	texts := bomb("texts.gz", "a,b\n", strings.Repeat("x1.2.3,1/1/24\n", 1<<12), 200)
	for _, path := range []string{long, texts} {
		if r := want(t, exitRefused, "check", path, "--memory", "40MB"); !strings.Contains(r.err,
			"takes more than the memory budget") || r.out != "" {
			t.Error(r.err)
		}
	}
	want(t, exitRefused, "fit", long, "--target", "b", "--memory", "40MB")
	if r := want(t, exitData, "check", wide); !strings.Contains(r.err, "columns; at most") {
		t.Error(r.err)
	}
	endless := strings.Repeat("\x00", 1<<20)
	zeros := write(t, dir, "zeros", endless)
	good := write(t, dir, "good.csv", "a,y\n1,2\n2,3\n3,5\n")
	for _, args := range [][]string{{"check", zeros}, {"info", zeros}, {"predict", zeros, good},
		{"lml", good, "--target", "y", "--params", zeros}, {"fit", good, "--target", "y", "--start", zeros}} {
		if r := bbgpRun(t, "", args...); r.code != exitData || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%q: %d %s", args, r.code, r.err)
		}
	}
	model := filepath.Join(dir, "m.bbgp")
	want(t, exitOK, "fit", good, "--target", "y", "--out", model, "--quiet")
	for _, tc := range []struct {
		code int
		args []string
		want string
	}{
		{exitUsage, []string{"predict", good, model}, "the model comes before the table: bbgp predict " +
			table.Arg(model) + " " + table.Arg(good)},
		{exitUsage, []string{"sample", good, model}, "the model comes before the table"},
		{exitData, []string{"info", good},
			"this is not a bbgp model; if it is a table, bbgp check tells what it holds"},
		{exitData, []string{"check", model}, "is a model of bbgp; a table is expected here"},
		{exitData, []string{"predict", model, model}, "is a model of bbgp"},
	} {
		if r := want(t, tc.code, tc.args...); !strings.Contains(r.err, tc.want) || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%q: %s", tc.args, r.err)
		}
	}
}

// Times, dates in digits, weeks, other scripts and columns by position are predicted as they
// were trained, and as the same numbers in plain form.
func TestPredictReadsForms(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(3, 8))
	var train, plain, same strings.Builder
	train.WriteString("at;day;week;amount;wide;y\n")
	plain.WriteString("at;day;week;amount;wide\n")
	same.WriteString("at;day;week;amount;wide\n")
	for i := range 40 {
		h, m, day, week, k, w := rng.IntN(24), rng.IntN(60), 1+rng.IntN(28),
			1+rng.IntN(9), 100+rng.IntN(900), rng.IntN(10)
		cells := fmt.Sprintf("%02d:%02d;202402%02d;2024-W%02d;1,23,%d;%s", h, m, day, week, k, string(rune('０'+w)))
		y := float64(h) + float64(day)/7 + float64(week)/3 + float64(k)/400 + float64(w) + 0.1*rng.NormFloat64()
		fmt.Fprintf(&train, "%s;%.4f\n", cells, y)
		if i < 20 {
			same.WriteString(cells + "\n")
			// 2024-W01 begins on the 1st of January, day 19723.
			fmt.Fprintf(&plain, "%.17g;202402%02d;%s;%d;%d\n", float64(h)+float64(m)/60, day,
				table.DateOf(float64(19723+7*(week-1))), 123000+k, w)
		}
	}
	model := filepath.Join(dir, "m.bbgp")
	want(t, exitOK, "fit", write(t, dir, "t.csv", train.String()), "--target", "y", "--out", model, "--quiet")
	a := want(t, exitOK, "predict", model, write(t, dir, "a.csv", same.String()), "--quiet").out
	b := bbgpRun(t, "", "predict", model, write(t, dir, "b.csv", plain.String()), "--quiet")
	if b.code != exitOK || a != b.out || strings.Count(a, "\n") != 21 {
		t.Errorf("%d %s\n%s\n%s", b.code, b.err, a, b.out)
	}
	if r := want(t, exitData, "predict", model, write(t, dir, "c.csv",
		"at;day;week;amount;wide\nnoon;20240201;2024-W01;1;2\n")); !strings.Contains(r.err, `column at: "noon"`) {
		t.Error(r.err)
	}
	aligned := "name        x     y\nab       1.00  2.00\ncd             3.00\nef       4.00  5.00\nab       2.00  " +
		"2.50\nef       3.00  4.40\ncd       1.50  2.20\n"
	want(t, exitOK, "fit", write(t, dir, "w.txt", aligned), "--target",
		"y", "--missing", "indicator", "--out", model, "--quiet")
	if out := want(t, exitOK, "predict", model, filepath.Join(dir, "w.txt"),
		"--quiet").out; strings.Count(out, "\n") != 7 {
		t.Error(out)
	}
	bad := write(t, dir, "bad.txt", strings.Replace(aligned, "ef       3.00  4.40", "ef  123456.0012345.40", 1))
	if r := bbgpRun(t, "", "predict", model, bad); r.code != exitData || strings.Count(r.err, "\n") != 1 {
		t.Errorf("%d %s", r.code, r.err)
	}
}

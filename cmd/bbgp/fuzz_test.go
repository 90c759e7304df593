package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/table"
)

// A config file is read or refused as a mistake of usage, and what is read can
// be printed and read again.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{"", "target = y\n", "# a\n\neps=2 # b\r\n", "probes = x", "config = a",
		"ignore = a,b\nignore = c", "=\n", "eps = \x00", "time = 5m\nmissing = drop"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		flags := pflag.NewFlagSet("fit", pflag.ContinueOnError)
		var all fitFlags
		all.read.add(flags)
		all.model.add(flags)
		all.machine.add(flags)
		all.addTraining(flags)
		var usage *usageError
		if err := setFlags(flags, "c", strings.NewReader(s)); err != nil {
			if !errors.As(err, &usage) {
				t.Fatal(err)
			}
			return
		}
		var tab *table.Error
		if _, err := all.read.options(); err != nil && !errors.As(err, &usage) {
			t.Fatal(err)
		}
		if _, err := all.read.inputs(); err != nil && !errors.As(err, &usage) && !errors.As(err, &tab) {
			t.Fatal(err)
		}
		if _, err := all.model.options(nil); err != nil && !errors.As(err, &usage) {
			t.Fatal(err)
		}
	})
}

// A file of parameters is read or refused with its name.
func FuzzParameters(f *testing.F) {
	for _, s := range []string{"", "{}", `{"mean":0,"variance":1,"noise":1e-3,"lengthscales":[1,null]}`,
		`{"parameters":{"kernel":"matern12","mean":1,"variance":1,"noise":1,"lengthscales":[]}}`,
		`{"noise":1e999}`, "null", "[1]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var bad *table.Error
		p, err := parseParams("p", []byte(s))
		if err != nil {
			if !errors.As(err, &bad) {
				t.Fatal(err)
			}
			return
		}
		b, err := p.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var again bbgp.Params
		if err := again.UnmarshalJSON(b); err != nil || !reflect.DeepEqual(again, *p) {
			t.Fatalf("%s: %v, %+v, %+v", b, err, again, *p)
		}
	})
}

// A table that fit takes is fitted, the model saved, loaded and asked for the rows of the
// table: it says, to the last bit, what the fit itself said of them. Each run is a fit, so
// they are some tens a second; FuzzTables and FuzzModel try the halves faster.
func FuzzFit(f *testing.F) {
	for _, s := range []string{"a,b,y\n1,x,3\n2,y,4\n3,x,5\n1,y,2\n", "a;y\n1,5;2\n2,5;3\n3;4\n",
		"caf\xe9;y\nM\xfcller;1\nx;2\nx;4\n", "d,y\n2024-01-31,1\n2024-02-01,2\n,7\n", "a,a,a.2,y\n1,2,3,4\n5,6,7,8\n",
		"a,y\n1e10,1\n-1e150,2\n0,3\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		names := lastColumn(s)
		if len(s) > 300 || names == "" {
			return
		}
		dir := t.TempDir()
		d := write(t, dir, "d.csv", s)
		model, held, out := filepath.Join(dir, "m"), filepath.Join(dir, "h"), filepath.Join(dir, "p")
		if r := bbgpRun(t, "", "fit", d, "--target", names, "--out", model, "--holdout", d, "--holdout-out", held,
			"--missing", "drop", "--max-steps", "1", "--quiet"); r.code != exitOK {
			if r.err == "" || strings.Count(r.err, "\n") > 20 {
				t.Fatalf("exit %d: %s", r.code, r.err)
			}
			return
		}
		r := bbgpRun(t, "", "predict", model, d, "--sd", "--quiet", "--out", out)
		if r.code == exitData && strings.Contains(r.err, "too far from the training rows") {
			return // a row without a target, which the fit did not take
		}
		if r.code != exitOK {
			t.Fatalf("exit %d: %s", r.code, r.err)
		}
		compareRows(t, held, out)
	})
}

// lastColumn is the name of the last column of a table, "" where it is none.
func lastColumn(s string) string {
	in, err := table.Open(table.Stdin, strings.NewReader(s), table.ReadOptions{})
	if err != nil {
		return ""
	}
	r, err := table.NewReader("f", in, table.ReadOptions{})
	if err != nil || len(r.Names) < 2 {
		return ""
	}
	return r.Names[len(r.Names)-1]
}

// compareRows compares the predictions that a fit wrote, row, y, mean, sd and sd_obs, with
// those of the saved model.
func compareRows(t *testing.T, held, out string) {
	t.Helper()
	lines := func(path string) [][]byte {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Split(bytes.TrimSuffix(b, []byte{'\n'}), []byte{'\n'})[1:]
	}
	predicted := lines(out)
	for _, line := range lines(held) {
		cells := bytes.SplitN(line, []byte{','}, 3)
		row, err := strconv.Atoi(string(cells[0]))
		if err != nil || row < 1 || row > len(predicted) || !bytes.Equal(cells[2], predicted[row-1]) {
			t.Errorf("the fit says %s of a row of which its model says %q", line, predicted)
		}
	}
}

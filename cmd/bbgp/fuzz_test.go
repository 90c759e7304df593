package main

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
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
		path := filepath.Join(t.TempDir(), "c")
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
		flags := pflag.NewFlagSet("fit", pflag.ContinueOnError)
		var all fitFlags
		all.read.add(flags)
		all.model.add(flags)
		all.machine.add(flags)
		all.addTraining(flags)
		var usage *usageError
		if err := readConfig(flags, path); err != nil {
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
		path := filepath.Join(t.TempDir(), "p")
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
		var bad *table.Error
		p, err := readParams(path)
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

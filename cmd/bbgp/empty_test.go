package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// A flag or an argument that is empty, as a variable of the shell that is not set makes it, is
// refused by every command: nothing is left out in silence.
func TestEmptyValues(t *testing.T) {
	for _, c := range newApp(nil, nil, nil).root().Commands() {
		if !c.HasAvailableLocalFlags() || c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if kind := f.Value.Type(); kind != "string" && kind != "stringSlice" && kind != "strings" {
				return
			}
			var r said
			for n := range 3 { // as many arguments as the command takes
				r = alone("", append([]string{c.Name(), "--" + f.Name, ""}, []string{"x", "y"}[:n]...)...)
				if strings.Contains(r.errw, "--"+f.Name+" has no value") && r.code == exitUsage {
					return
				}
			}
			t.Errorf("%s --%s '': %d, %s", c.Name(), f.Name, r.code, r.errw)
		})
	}
	for _, args := range [][]string{{"fit", "", "-t", "y"}, {"predict", "m", ""}, {"report", ""}, {"check", ""}} {
		if r := alone("", args...); r.code != exitUsage || !strings.Contains(r.errw, "is empty") {
			t.Errorf("%q: %d, %s", args, r.code, r.errw)
		}
	}
	dir := t.TempDir()
	config := write(t, dir, "c", "out =\n")
	if r := alone("", "predict", "m", "t", "--config", config); r.code != exitUsage ||
		!strings.Contains(r.errw, "--out has no value") {
		t.Errorf("from a file: %d, %s", r.code, r.errw)
	}
}

package main

import (
	"strings"
	"testing"
)

// A block counts as run where any package's tests run it; what is below its limit is named.
func TestReport(t *testing.T) {
	t.Chdir("../..")
	var out strings.Builder
	ok, err := report(&out, strings.NewReader(`mode: set
bbgp.dev/internal/gp/params.go:20.1,21.2 9 0
bbgp.dev/internal/gp/params.go:20.1,21.2 9 1
bbgp.dev/internal/gp/params.go:30.1,31.2 1 0
bbgp.dev/bench/split/main.go:1.1,2.2 5 0
`))
	if err != nil || !ok || strings.Count(out.String(), "\n") != 1 || !strings.Contains(out.String(), " 90.0 %") {
		t.Errorf("%t, %v: %s", ok, err, out.String())
	}
	out.Reset()
	ok, err = report(&out, strings.NewReader("bbgp.dev/linalg/identity.go:9.1,9.9 2 0\n"))
	if err != nil || ok || !strings.Contains(out.String(), "below the limit\nlinalg/identity.go") {
		t.Errorf("%t, %v: %s", ok, err, out.String())
	}
}

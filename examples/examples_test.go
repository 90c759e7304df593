// Package examples holds programs that use bbgp as a library; this test runs them.
package examples

import (
	"os/exec"
	"strings"
	"testing"
)

func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	for name, want := range map[string]string{
		"fitpredict": "noise sd 0.1",
		"optimiser":  "log likelihood 14",
		"blockcg":    "converged true, worst residual below 1e-4: true",
	} {
		out, err := exec.Command("go", "run", "./"+name).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

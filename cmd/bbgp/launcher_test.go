package main

import (
	"bytes"
	"strings"
	"testing"
)

// Each launcher's variable is understood; one task, none, and what is no count are let through.
func TestLauncher(t *testing.T) {
	for _, name := range taskCounts {
		for value, refused := range map[string]bool{"": false, "1": false, "x": false, "2": true, "64": true} {
			var out, errw bytes.Buffer
			a := newApp(strings.NewReader(""), &out, &errw)
			code, got := a.refuseTasks(func(v string) string {
				if v == name {
					return value
				}
				return ""
			})
			if got != refused || got != (code == exitUsage) || got != strings.Contains(errw.String(), name+"="+value) {
				t.Errorf("%s=%q: refused %v, exit %d: %s", name, value, got, code, errw.String())
			}
			if n := strings.Count(errw.String(), "\n"); refused && n != 1 {
				t.Errorf("%s=%q: %d lines", name, value, n)
			}
		}
	}
}

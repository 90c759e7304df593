package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// No module of go.mod has a hole that was known at the date of the list.
func TestLeastVersions(t *testing.T) {
	gomod, err := os.Open("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	defer gomod.Close()
	list, err := os.Open("least.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	old, err := behind(gomod, list)
	if err != nil || len(old) > 0 {
		t.Errorf("%v; raise them: %q", err, old)
	}
}

// Reports of packages that are not linked ask for nothing; versions compare by number.
func TestLeast(t *testing.T) {
	var reports []entry
	const text = `[{"id":"A","affected":[{"package":{"name":"m"},
		"ranges":[{"events":[{"introduced":"0"},{"fixed":"1.9.0"}]}],
		"ecosystem_specific":{"imports":[{"path":"m/p"}]}}]},
		{"id":"B","affected":[{"package":{"name":"m"},"ranges":[{"events":[{"fixed":"1.10.1-0.2026"}]}]}]},
		{"id":"C","affected":[{"package":{"name":"m"},"ranges":[{"events":[{"fixed":"2.0.0"}]}],
		"ecosystem_specific":{"imports":[{"path":"m/q"}]}}]},
		{"id":"D","affected":[{"package":{"name":"stdlib"},"ranges":[{"events":[{"fixed":"1.99.0"}]}]}]}]`
	if err := json.Unmarshal([]byte(text), &reports); err != nil {
		t.Fatal(err)
	}
	found := leastVersions(reports, map[string]bool{"m": true, "m/p": true, "stdlib": true})
	if len(found) != 1 || found["m"] != (least{"v1.10.1-0.2026", "B"}) {
		t.Errorf("%v", found)
	}
	list := "# x\nm v1.10.1-0.2026 B\n"
	for version, few := range map[string]int{"v1.9.5": 1, "v1.10.1": 0, "v1.10.0 // indirect": 1} {
		old, err := behind(strings.NewReader("module x\nrequire (\n\tm "+version+"\n)\n"), strings.NewReader(list))
		if err != nil || len(old) != few {
			t.Errorf("%s: %q, %v", version, old, err)
		}
	}
	if old, err := behind(strings.NewReader("require m v1.0.0\n"), strings.NewReader(list)); err != nil ||
		!slices.Equal(old, []string{"m v1.0.0: B is mended in v1.10.1-0.2026"}) {
		t.Errorf("%q, %v", old, err)
	}
	if _, err := behind(strings.NewReader(""), strings.NewReader("")); err == nil {
		t.Error("an empty list holds nothing")
	}
}

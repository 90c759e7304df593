package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// The test binary is a Go program too.
func TestList(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := write(&b, []string{exe, exe}); err != nil {
		t.Fatal(err)
	}
	var doc document
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Format != "CycloneDX" || doc.Metadata.Component.Name != "bbgp.dev" || len(doc.Components) != 1 ||
		doc.Components[0].Name != "std" || doc.Components[0].Version == "" {
		t.Errorf("%s", b.Bytes())
	}
	if write(&b, nil) == nil || write(&b, []string{"main.go"}) == nil {
		t.Error("no program, or no Go program, is taken")
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCurrent fails when a generated file is not what files() writes now.
func TestCurrent(t *testing.T) {
	all, err := files()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("..", "asm")
	for name, want := range all {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is not current: run go generate ./asm", name)
		}
	}
	onDisk, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range onDisk {
		generated := strings.HasSuffix(f.Name(), ".s") || strings.HasPrefix(f.Name(), "stubs_") ||
			strings.HasPrefix(f.Name(), "needs_")
		if generated && all[f.Name()] == nil {
			t.Errorf("%s is not written by this generator", f.Name())
		}
	}
}

// TestConstTable checks the places of the constants against their values.
func TestConstTable(t *testing.T) {
	for _, size := range []int{4, 8} {
		v := constValues(size, false)
		if v[constOne] != 1 || v[constLn2] != ln2 || len(v) != constPoly+len(exp2Coef(size)) {
			t.Errorf("size %d: the table is out of order", size)
		}
	}
}

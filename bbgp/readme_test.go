package bbgp_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmePrograms runs the Go code of the README: a block that is a program as
// it stands, another with the variables that it takes for granted around it.
func TestReadmePrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) == 0 {
		t.Fatal("the README has no Go code")
	}
	for i, b := range blocks {
		program := b[1]
		if !strings.HasPrefix(strings.TrimSpace(program), "package ") {
			program = around(program)
		}
		path := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(path, []byte(program), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("go", "run", path).CombinedOutput(); err != nil {
			t.Errorf("block %d: %v\n%s\n%s", i+1, err, out, program)
		}
	}
}

// around makes a program of statements that use ctx, rows, y and xs. Errors end it.
func around(code string) string {
	var body strings.Builder
	for line := range strings.Lines(code) {
		body.WriteString(line)
		if m := regexp.MustCompile(`^(\w+), err :?= `).FindStringSubmatch(line); m != nil {
			fmt.Fprintf(&body, "if err != nil {\nlog.Fatal(err)\n}\n_ = %s\n", m[1])
		}
	}
	return `package main

import (
	"context"
	"log"
	"math"

	"bbgp.dev/bbgp"
	"bbgp.dev/linalg"
)

func main() {
	ctx, xs := context.Background(), linalg.NewMatrix(3, 2)
	var rows [][]float64
	var y []float64
	for i := range 60 {
		rows = append(rows, []float64{float64(i) / 10, float64(i * i % 7)})
		y = append(y, math.Sin(float64(i)/10))
	}
` + body.String() + "}\n"
}

package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The transcripts of docs/TUTORIAL.md are what the program says: the same words,
// with numbers within a third of each other, and times and memory of any size.
// BBGP_TUTORIAL=1 writes them anew.
func TestTutorial(t *testing.T) {
	path, err := filepath.Abs(filepath.Join("..", "..", "docs", "TUTORIAL.md"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(filepath.Join(filepath.Dir(path), "tutorial", "lab.csv"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	write(t, ".", "lab.csv", string(table))
	parts := strings.Split(string(text), "```")
	commands := 0
	for k := 1; k < len(parts); k += 2 {
		kind, body, _ := strings.Cut(parts[k], "\n")
		name, isFile := strings.CutPrefix(kind, "csv ")
		if isFile {
			write(t, ".", name, body)
		}
		if kind != "console" {
			continue
		}
		var fresh strings.Builder
		for _, block := range strings.Split("\n"+body, "\n$ ")[1:] {
			command, said, _ := strings.Cut(block, "\n")
			commands++
			got := tutorialRun(t, command)
			fmt.Fprintf(&fresh, "$ %s\n%s", command, got)
			if os.Getenv("BBGP_TUTORIAL") == "" {
				sameWords(t, command, got, said)
			}
		}
		parts[k] = kind + "\n" + fresh.String()
	}
	if commands < 6 {
		t.Errorf("%d commands", commands)
	}
	if os.Getenv("BBGP_TUTORIAL") != "" {
		if err := os.WriteFile(path, []byte(strings.Join(parts, "```")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// tutorialRun runs a command line and returns what a terminal would show.
func tutorialRun(t *testing.T, command string) string {
	t.Helper()
	args := shellWords(command)
	switch args[0] {
	case "cat":
		b, err := os.ReadFile(args[1])
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	case "bbgp":
		var b bytes.Buffer
		run(t.Context(), args[1:], strings.NewReader(""), &b, &b)
		return b.String()
	}
	t.Fatalf("a command that is not run: %s", command)
	return ""
}

// shellWords divides a command line; single quotes hold a word together.
func shellWords(command string) []string {
	var words []string
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// The command that check proposes for the table of the tutorial fits it.
func TestProposedCommandFits(t *testing.T) {
	lab, err := filepath.Abs(filepath.Join("..", "..", "docs", "tutorial", "lab.csv"))
	if err != nil {
		t.Fatal(err)
	}
	r := want(t, exitData, "check", lab, "--target", "Ausbeute", "--json")
	command := object(t, r.out)["command"].(string)
	words := shellWords(command)
	if words[0] != "bbgp" || !strings.HasSuffix(command,
		"--target Ausbeute --ignore Probe --na '<0,5' --missing drop") {
		t.Fatal(command)
	}
	fit := want(t, exitOK, append(words[1:], "--max-steps", "3", "--quiet")...)
	if !strings.Contains(fit.out, "rows          128") {
		t.Error(fit.out)
	}
	if again := want(t, exitOK, append([]string{"check"}, words[2:]...)...); strings.Contains(again.out, "problem:") {
		t.Error(again.out)
	}
}

var (
	aNumber  = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?`)
	aRoutine = regexp.MustCompile(`avx512|avx2|neon|generic`)
	aMeasure = regexp.MustCompile(`([0-9]+[hm])*[0-9.]+(e[+][0-9]+)? ?(ms|s|CPU s|MiB|KiB)\b`) // 1m3s where others work
)

func sameWords(t *testing.T, command, got, want string) {
	t.Helper()
	shape := func(s string) (string, []string) {
		s = aRoutine.ReplaceAllString(aMeasure.ReplaceAllString(s, "a measure"), "routines")
		return strings.Join(strings.Fields(aNumber.ReplaceAllString(s, "#")), " "), aNumber.FindAllString(s, -1)
	}
	gotShape, g := shape(got)
	wantShape, w := shape(strings.TrimRight(want, "\n"))
	if gotShape != wantShape {
		t.Errorf("$ %s\n%s\nbut the tutorial has\n%s", command, got, want)
		return
	}
	for i := range g {
		a, _ := strconv.ParseFloat(g[i], 64)
		b, _ := strconv.ParseFloat(w[i], 64)
		if math.Abs(a-b) > max(math.Abs(a), math.Abs(b))/3+0.02 {
			t.Errorf("$ %s\nsays %s where the tutorial says %s\n%s", command, g[i], w[i], got)
		}
	}
}

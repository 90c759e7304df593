// Command cover tells from the profile of `go test -coverpkg=./... -coverprofile=FILE ./...` how much
// of each package the tests of all packages run:
//
//	go run ./bench/cover FILE
//
// It ends with code 1 where a package has less than 90 % of its statements covered, or a
// function of the solver, the search or the posterior less than 60 %. Programs that measure,
// under bench/ and examples/, are built and run in CI and left out here.
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	leastPackage  = 0.9
	leastFunction = 0.6
)

var (
	leftOut = regexp.MustCompile(`^(bench/|examples)|test$`)
	core    = regexp.MustCompile(`^(kernelmv|(linalg|internal/(evidence|train|posterior))(/.*)?)$`)
	block   = regexp.MustCompile(`^bbgp\.dev/([^:]+):(\d+)\.\d+,\d+\.\d+ (\d+) (\d+)$`)
)

// A share counts statements.
type share struct{ run, all int }

func (s share) of() float64 { return float64(s.run) / float64(s.all) }

// A function is where its lines begin.
type function struct {
	line int
	name string
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "cover: which profile?")
		os.Exit(2)
	}
	f, err := os.Open(os.Args[1])
	if err == nil {
		var ok bool
		if ok, err = report(os.Stdout, f); err == nil && !ok {
			os.Exit(1)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cover:", err)
		os.Exit(2)
	}
}

// report prints the table and says whether all of it is above the limits.
func report(w io.Writer, profile io.Reader) (ok bool, err error) {
	packages, functions, err := shares(profile)
	if err != nil {
		return false, err
	}
	ok = true
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		s, note := packages[dir], ""
		if s.of() < leastPackage {
			note, ok = "  below the limit", false
		}
		fmt.Fprintf(w, "%-28s %5d statements %6.1f %%%s\n", dir, s.all, 100*s.of(), note)
	}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if s := functions[name]; s.of() < leastFunction {
			fmt.Fprintf(w, "%s: %d of %d statements\n", name, s.run, s.all)
			ok = false
		}
	}
	return ok, nil
}

// shares reads a profile, in which a block stands once for every package that was tested.
func shares(profile io.Reader) (packages, functions map[string]share, err error) {
	type place struct{ file, text string }
	blocks := map[place][3]int{} // first line, statements, runs
	lines := bufio.NewScanner(profile)
	for lines.Scan() {
		m := block.FindStringSubmatch(lines.Text())
		if m == nil {
			continue // the mode
		}
		text, _, _ := strings.Cut(lines.Text(), " ")
		at := place{m[1], text}
		var n [3]int
		for i := range n {
			if n[i], err = strconv.Atoi(m[2+i]); err != nil {
				return nil, nil, err
			}
		}
		n[2] = max(n[2], blocks[at][2])
		blocks[at] = n
	}
	packages, functions = map[string]share{}, map[string]share{}
	known := map[string][]function{}
	add := func(to map[string]share, key string, n [3]int) {
		s := to[key]
		s.all += n[1]
		if n[2] > 0 {
			s.run += n[1]
		}
		to[key] = s
	}
	for at, n := range blocks {
		dir := path.Dir(at.file)
		if leftOut.MatchString(dir) {
			continue
		}
		add(packages, dir, n)
		if !core.MatchString(dir) {
			continue
		}
		if known[at.file] == nil {
			if known[at.file], err = functionsOf(at.file); err != nil {
				return nil, nil, err
			}
		}
		add(functions, at.file+" "+nameAt(known[at.file], n[0]), n)
	}
	return packages, functions, lines.Err()
}

// functionsOf lists the functions of a file, by line.
func functionsOf(file string) (out []function, err error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			out = append(out, function{set.Position(fn.Pos()).Line, fn.Name.Name})
		}
	}
	return out, nil
}

// nameAt is the function that the line stands in.
func nameAt(all []function, line int) string {
	i, found := slices.BinarySearchFunc(all, line, func(f function, l int) int { return cmp.Compare(f.line, l) })
	if !found {
		i--
	}
	if i < 0 {
		return "before all functions"
	}
	return all[i].name
}

package lint

import (
	"bytes"
	"flag"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var renewAPI = flag.Bool("api", false, "write the API of this version to testdata/api")

// mostNames is the number of names of package bbgp that fit a reader.
const mostNames = 45

// TestAPI: what programs can see of the public packages is what testdata/api says. A change
// that is meant is renewed by go test ./internal/lint -run TestAPI -api, and told in CHANGELOG.md.
func TestAPI(t *testing.T) {
	for _, name := range []string{"bbgp", "bbgp/enum", "bbgp/score", "linalg", "linalg/precond", "linalg/krylov",
		"kernelmv"} {
		is, names := apiOf(t, name)
		if name == "bbgp" && names > mostNames {
			t.Errorf("bbgp has %d names, at most %d are allowed", names, mostNames)
		}
		file := filepath.Join("testdata", "api", strings.ReplaceAll(name, "/", "-")+".txt")
		if *renewAPI {
			if err := os.WriteFile(file, []byte(is), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		was, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{} // of lines, in this version less in the last
		for line := range strings.Lines(is) {
			count[line]++
		}
		for line := range strings.Lines(string(was)) {
			count[line]--
		}
		for line, n := range count {
			if n != 0 {
				t.Errorf("%s: %d times more: %s", name, n, strings.TrimSpace(line))
			}
		}
	}
}

// apiOf lists a package's exported declarations without comments, and counts its names.
func apiOf(t *testing.T, name string) (list string, names int) {
	t.Helper()
	dir := filepath.Join("..", "..", filepath.FromSlash(name))
	p, err := build.Default.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, f := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(dir, f), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	d, err := doc.NewFromFiles(fset, files, "bbgp.dev/"+name)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	print := func(node ast.Node) {
		if err := printer.Fprint(&b, fset, node); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
	}
	values := func(of []*doc.Value) {
		for _, v := range of {
			names += len(v.Names)
			print(v.Decl)
		}
	}
	funcs := func(of []*doc.Func) {
		for _, f := range of {
			f.Decl.Body = nil
			print(f.Decl)
		}
	}
	values(d.Consts)
	values(d.Vars)
	names += len(d.Funcs) + len(d.Types)
	funcs(d.Funcs)
	for _, typ := range d.Types {
		names += len(typ.Funcs)
		print(typ.Decl)
		values(typ.Consts)
		values(typ.Vars)
		funcs(typ.Funcs)
		funcs(typ.Methods)
	}
	return b.String(), names
}

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bbgp.dev/bbgp"
)

// The tables of JSON keys in docs/USAGE.md are made of the structs that are printed: their
// keys, and the comments of their fields as the meaning. BBGP_KEYS=1 writes them anew.
func TestKeysOfUsage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "USAGE.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- keys: made by BBGP_KEYS=1 go test -run KeysOfUsage ./cmd/bbgp -->\n",
		"<!-- end of keys -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	have, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("USAGE.md has no place for the keys")
	}
	k := &keyTables{comments: fieldComments(t), done: map[reflect.Type]bool{}, within: map[reflect.Type]string{},
		said: map[string]string{}}
	for _, r := range []struct {
		name  string
		value any
	}{
		{"fit", fitReport{}}, {"lml", bbgp.LMLReport{}}, {"plan", clusterPlan{}},
		{"predict", predictReport{}}, {"cv", cvReport{}},
		{"sample", sampleReport{}}, {"check", checkReport{}}, {"info MODEL", modelReport{}}, {"info", machineReport{}},
		{"demo", demoReport{}},
	} {
		k.table("`"+r.name+" --json`", reflect.TypeOf(r.value))
	}
	for len(k.later) > 0 {
		l := k.later[0]
		k.later = k.later[1:]
		k.table(l.Name(), l)
	}
	for _, m := range k.missing {
		t.Errorf("%s has no comment, which would be its meaning in USAGE.md", m)
	}
	want := k.text.String()
	if os.Getenv("BBGP_KEYS") != "" && len(k.missing) == 0 {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have != want {
		t.Error("the tables of keys in USAGE.md are not what the structs say; BBGP_KEYS=1 go test -run KeysOfUsage " +
			"./cmd/bbgp writes them")
	}
}

// keyTables writes a table for each struct, and those of its fields later.
type keyTables struct {
	comments map[string]string // by package path, type and field
	done     map[reflect.Type]bool
	within   map[reflect.Type]string // the table that the fields of a struct inside stand in
	said     map[string]string       // what keys mean
	later    []reflect.Type
	missing  []string
	text     strings.Builder
}

func (k *keyTables) table(title string, s reflect.Type) {
	fmt.Fprintf(&k.text, "\n### %s\n\n| key | value |\n|---|---|\n", title)
	k.rows(s, title)
}

// rows writes the keys of a struct. A field without a comment means what its key means in
// a table before; the fields of a struct inside that stand in a table before are not repeated.
func (k *keyTables) rows(s reflect.Type, title string) {
	for i := range s.NumField() {
		f := s.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if f.Anonymous && name == "" {
			if in := k.within[inner]; in != "" {
				fmt.Fprintf(&k.text, "| | all keys of %s but those below |\n", in)
				continue
			}
			k.within[inner] = title
			k.rows(inner, title)
			continue
		}
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		id := s.PkgPath() + "." + s.Name() + "." + f.Name
		said := k.comments[id]
		if said == "" {
			said = k.said[name]
		}
		if said == "" {
			k.missing = append(k.missing, id)
		} else if k.said[name] == "" {
			k.said[name] = said
		}
		if inner.Kind() == reflect.Struct && inner.Name() != "" && inner.NumField() > 0 && printed(inner) {
			said += "; see *" + inner.Name() + "* below"
			if !k.done[inner] {
				k.done[inner] = true
				k.later = append(k.later, inner)
			}
		}
		fmt.Fprintf(&k.text, "| `%s` | %s |\n", name, strings.ReplaceAll(said, "|", "\\|"))
	}
}

// printed says whether a struct is printed field by field.
func printed(s reflect.Type) bool {
	for i := range s.NumField() {
		if s.Field(i).Tag.Get("json") != "" {
			return true
		}
	}
	return false
}

// fieldComments returns the comments of all fields of structs in the module.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := "bbgp.dev/" + filepath.ToSlash(rel)
		for _, decl := range file.Decls {
			if gen, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range gen.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok {
						addComments(out, pkg+"."+ts.Name.Name, ts.Type)
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// addComments takes the comments of the fields of a struct: that beside a field, else that
// above it.
func addComments(out map[string]string, name string, typ ast.Expr) {
	s, ok := typ.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range s.Fields.List {
		said := f.Comment.Text()
		if said == "" {
			said = f.Doc.Text()
		}
		said = strings.TrimSuffix(strings.Join(strings.Fields(said), " "), ".")
		for _, n := range f.Names {
			out[name+"."+n.Name] = said
		}
	}
}

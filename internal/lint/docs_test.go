package lint

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// plain are packages without symbols: their names say it all.
var plain = []string{"internal/lint", "internal/usage", "linalg/internal/room"}

// TestDocs: every package has a comment, and those that compute a doc.go that lists their
// symbols and tells the way of the data through them.
func TestDocs(t *testing.T) {
	comments, docs := map[string]bool{}, map[string]string{}
	goFiles(t, func(file string, _ *token.FileSet, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		dir := path.Dir(file)
		comments[dir] = comments[dir] || f.Doc != nil
		if path.Base(file) == "doc.go" {
			docs[dir] = f.Doc.Text()
		}
	})
	for dir, told := range comments {
		if !told {
			t.Errorf("%s has no package comment", dir)
		}
		top, _, _ := strings.Cut(dir, "/")
		if !slices.Contains([]string{"asm", "linalg", "kernelmv", "bbgp", "internal", "cmd"}, top) ||
			slices.Contains(plain, dir) || strings.HasSuffix(dir, "test") {
			continue
		}
		for _, section := range []string{"# Symbols\n", "# The way of the data\n"} {
			if !strings.Contains(docs[dir], section) {
				t.Errorf("%s/doc.go has no section %q", dir, strings.TrimSpace(section))
			}
		}
	}
}

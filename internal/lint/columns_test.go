package lint

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	mostColumns = 120
	tabColumns  = 4
)

// TestColumns: no line of code has more than 120 columns, a tab counted as four.
// Long strings are broken like anything else; generated files and raw strings over several lines
// are left out.
func TestColumns(t *testing.T) {
	goFiles(t, func(path string, _ *token.FileSet, file *ast.File) {
		if ast.IsGenerated(file) {
			return
		}
		text, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		raw := false
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			odd := strings.Count(line, "`")%2 == 1
			if !raw && !odd && columns(line) > mostColumns {
				t.Errorf("%s:%d has %d columns, at most %d are allowed", path, n, columns(line), mostColumns)
			}
			raw = raw != odd
		}
	})
}

func columns(line string) int {
	line = strings.TrimRight(line, "\r\n")
	return utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
}

package lint

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFormulas: each file in the table of docs/DESIGN.md, section 5, declares the name beside it.
func TestFormulas(t *testing.T) {
	declared := map[string]map[string]bool{}
	goFiles(t, func(path string, _ *token.FileSet, file *ast.File) {
		names := map[string]bool{}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				names[f.Name.Name] = true
			}
		}
		declared[path] = names
	})
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "DESIGN.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 || !strings.Contains(cells[2], ".go") {
			continue
		}
		rows++
		file, name := strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3])
		if !declared[file][name] {
			t.Errorf("%s declares no function %s", file, name)
		}
	}
	if rows < 30 {
		t.Errorf("%d formulas, 30 are asked for", rows)
	}
}

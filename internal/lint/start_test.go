package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// TestStart: nothing of the program compiles a regular expression before main runs, which
// every command would pay for; package pattern compiles them when they are used.
func TestStart(t *testing.T) {
	goFiles(t, func(path string, set *token.FileSet, file *ast.File) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "bench/") || strings.HasPrefix(path, "gen/") {
			return
		}
		for _, d := range file.Decls {
			if vars, ok := d.(*ast.GenDecl); ok {
				ast.Inspect(vars, func(n ast.Node) bool {
					call, ok := n.(*ast.CallExpr)
					if ok && types.ExprString(call.Fun) == "regexp.MustCompile" {
						t.Errorf("%s: compiled at the start: use pattern.Of", set.Position(n.Pos()))
					}
					return !isFunc(n)
				})
			}
		}
	})
}

func isFunc(n ast.Node) bool {
	_, ok := n.(*ast.FuncLit)
	return ok
}

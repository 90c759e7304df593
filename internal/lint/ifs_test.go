package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"testing"
)

// TestIfs: the statement before the condition of an if assigns what the condition tests, as in
// `if err := f(); err != nil`. What does something else stands on a line of its own, where it is seen.
func TestIfs(t *testing.T) {
	goFiles(t, func(_ string, set *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.IfStmt)
			if ok && s.Init != nil && !assignsTested(s.Init, s.Cond) {
				t.Errorf("%s: the if tests nothing of what it assigns: a line of its own for each",
					set.Position(s.Pos()))
			}
			return true
		})
	})
}

// assignsTested reports whether cond looks at a variable that init assigns.
func assignsTested(init ast.Stmt, cond ast.Expr) bool {
	assigned := map[string]bool{}
	switch s := init.(type) {
	case *ast.AssignStmt:
		for _, left := range s.Lhs {
			assigned[types.ExprString(left)] = true
		}
	case *ast.IncDecStmt:
		assigned[types.ExprString(s.X)] = true
	}
	found := false
	ast.Inspect(cond, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && assigned[types.ExprString(e)] {
			found = true
		}
		return !found
	})
	return found
}

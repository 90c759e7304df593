package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ours says which packages of the module a folder may import: what stands to
// its right in the picture of docs/DESIGN.md.
var ours = map[string][]string{
	"asm":      {},
	"linalg":   {"asm"},
	"kernelmv": {"linalg", "asm"},
	"bbgp":     {"internal", "kernelmv", "linalg", "asm"},
	"cmd":      {"cmd", "internal", "bench", "bbgp", "kernelmv", "linalg", "asm"},
	"bench":    {"bench", "internal", "bbgp", "kernelmv", "linalg", "asm"},
	"gen":      {},
	"examples": {"bbgp", "kernelmv", "linalg", "asm"},
	"internal": {"internal", "bbgp", "kernelmv", "linalg", "asm"},
}

// inside says which packages of internal/ one of them may import, tests apart; bbgp may import all.
var inside = map[string][]string{
	"comm":                  {},
	"comm/commtest":         {"comm"},
	"usage":                 {},
	"outfile":               {},
	"gp":                    {},
	"gptest":                {"gp"},
	"cost":                  {"gp"},
	"evidence":              {"gp", "cost"},
	"evidence/evidencetest": {"gp", "gptest", "evidence"},
	"evidence/lanczos":      {"gp", "cost", "evidence"},
	"evidence/inducing":     {"gp", "evidence"},
	"evidence/iterative":    {"gp", "evidence"},
	"cost/calibrate":        {"gp", "cost", "evidence", "usage"},
	"checkpoint":            {"gp", "evidence"},
	"posterior":             {"gp", "cost"},
	"train":                 {"gp", "cost", "evidence", "evidence/inducing", "checkpoint", "usage"},
}

// algebra says which packages of linalg/ one of them may import, tests apart.
var algebra = map[string][]string{
	"linalg":                  {"linalg/internal/room"},
	"linalg/internal/room":    {},
	"linalg/internal/dissect": {"linalg", "linalg/internal/room"},
	"linalg/precond":          {"linalg", "linalg/internal/room", "linalg/internal/dissect"},
	"linalg/krylov":           {"linalg", "linalg/internal/room"},
	"linalg/linalgtest":       {"linalg"},
}

// theirs says which files may import a module of others; tests may import inTests besides.
var theirs = map[string][]string{
	"github.com/klauspost/cpuid/v2":         {"asm/"},
	"github.com/mmcloughlin/avo":            {"gen/"},
	"github.com/ebitengine/purego":          {"internal/comm/mpi_dl.go"},
	"github.com/KimMachineGun/automemlimit": {"cmd/bbgp/flags.go"},
	"gonum.org/v1/gonum":                    {"linalg/blas.go", "internal/train/model.go", "bench/search/reference.go"},
	"gonum.org/v1/plot":                     {"cmd/bbgp/", "bench/"},
	"github.com/spf13/cobra":                {"cmd/"},
	"github.com/spf13/pflag":                {"cmd/"},
	"github.com/klauspost/compress":         {"cmd/bbgp/internal/table/"},
	"github.com/parquet-go/parquet-go":      {"cmd/bbgp/internal/table/"},
	"github.com/xuri/excelize/v2":           {"cmd/bbgp/internal/table/"},
	"golang.org/x/text":                     {"cmd/bbgp/internal/table/"},
	"golang.org/x/term":                     {"cmd/bbgp/progress.go"},
	"golang.org/x/tools":                    {"gen/"},
	"golang.org/x/sys": {"bench/cpu_linux.go",
		"cmd/bbgp/internal/table/quiet_unix.go", "internal/outfile/"},
	"golang.org/x/mod":  {"bench/vulndb/"},
	"golang.org/x/arch": {},
}

var inTests = []string{"gonum.org/v1/gonum", "golang.org/x/sys", "golang.org/x/tools", "golang.org/x/arch"}

// goFiles calls f for every Go file of the module, whatever its build tags.
func goFiles(t *testing.T, f func(path string, fset *token.FileSet, file *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if name := d.Name(); rel != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		f(rel, fset, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImportRules(t *testing.T) {
	files := 0
	goFiles(t, func(path string, _ *token.FileSet, file *ast.File) {
		files++
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if why := forbidden(path, name); why != "" {
				t.Errorf("%s imports %s: %s", path, name, why)
			}
		}
	})
	if files < 20 {
		t.Errorf("only %d files were seen", files)
	}
}

// forbidden says why a file must not import name, or "".
func forbidden(path, name string) string {
	test := strings.HasSuffix(path, "_test.go")
	top, _, _ := strings.Cut(path, "/")
	switch first, _, _ := strings.Cut(name, "/"); {
	case name == "C":
		if path == "internal/comm/mpi_cgo.go" {
			return "" // a second way to MPI, behind a build tag
		}
		return "no cgo"
	case name == "math/rand":
		return "random numbers come from math/rand/v2"
	case first == "bbgp.dev":
		to := strings.TrimPrefix(name, "bbgp.dev/")
		to, _, _ = strings.Cut(to, "/")
		switch {
		case to == "gen":
			return "nobody imports gen"
		case strings.HasPrefix(path, "bbgp/score/") && name != "bbgp.dev/bbgp/score":
			return "score stands alone: all others may score by it"
		case strings.HasPrefix(path, "internal/comm/") && !strings.HasPrefix(name, "bbgp.dev/internal/comm"):
			return "comm knows nothing of what is computed"
		case name == "bbgp.dev/internal/comm" && slices.Contains([]string{"linalg", "kernelmv", "internal"}, top):
			return "" // it stands to the right of all
		case test && name == "bbgp.dev/internal/comm/commtest":
			return ""
		case top == "internal" && !test:
			return withinInternal(path, strings.TrimPrefix(name, "bbgp.dev/"), to)
		case top == "linalg" && to == top && !test:
			return withinLinalg(path, strings.TrimPrefix(name, "bbgp.dev/"))
		case to == top:
			return ""
		case test && to == "bench":
			return "" // tests read the data sets of bench/uci
		case !slices.Contains(ours[top], to):
			return "against the picture"
		}
		return ""
	case !strings.Contains(first, "."):
		return "" // standard library
	}
	for module, places := range theirs {
		if name != module && !strings.HasPrefix(name, module+"/") {
			continue
		}
		if test && slices.Contains(inTests, module) {
			return ""
		}
		for _, p := range places {
			if strings.HasPrefix(path, p) {
				return ""
			}
		}
		return "only " + strings.Join(places, ", ") + " may"
	}
	return "a new dependency; add it to this test if it is wanted"
}

// withinLinalg says why a file of a package of linalg/ must not import another of them.
func withinLinalg(path, name string) string {
	of, known := algebra[path[:strings.LastIndex(path, "/")]]
	switch {
	case !known:
		return "its package is not in the table of linalg"
	case !slices.Contains(of, name):
		return "against the table of linalg"
	}
	return ""
}

// withinInternal says why a file of a package of internal/ must not import another package of ours.
func withinInternal(path, name, to string) string {
	own := strings.TrimPrefix(path[:strings.LastIndex(path, "/")], "internal/")
	of, known := inside[own]
	switch {
	case !known:
		return "internal/" + own + " is not in the table of packages"
	case to == "internal" && !slices.Contains(of, strings.TrimPrefix(name, "internal/")):
		return "against the table of packages"
	case to == "internal" || slices.Contains([]string{"kernelmv", "linalg", "asm"}, to):
		return ""
	}
	return "against the picture"
}

// The program as it is built by default has no cgo and loads no libraries: it is static.
func TestPlainProgram(t *testing.T) {
	c := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}}{{if not .Standard}}{{.CgoFiles}}{{end}}",
		"bbgp.dev/cmd/bbgp")
	c.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=")
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "bbgp.dev/internal/comm[]") {
		t.Errorf("%d packages, and internal/comm is none of them", len(deps))
	}
	for _, d := range deps {
		if strings.Contains(d, "ebitengine") || strings.Contains(d, ".go]") {
			t.Errorf("bbgp is built with %s", d)
		}
	}
}

// Goroutines are started in linalg.Par alone: there the results are made
// independent of their number. Tests start some, too, for the ranks of a comm.Group.
func TestGoStatements(t *testing.T) {
	goFiles(t, func(path string, fset *token.FileSet, file *ast.File) {
		if strings.HasSuffix(path, "_test.go") || path == "linalg/par.go" ||
			strings.HasPrefix(path, "internal/comm/commtest/") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: go statement", fset.Position(g.Pos()))
			}
			return true
		})
	})
}

// Files have at most 400 lines, functions 60.
func TestLengths(t *testing.T) {
	goFiles(t, func(path string, fset *token.FileSet, file *ast.File) {
		if ast.IsGenerated(file) {
			return
		}
		if n := fset.File(file.Pos()).LineCount(); n > 400 {
			t.Errorf("%s has %d lines", path, n)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || strings.HasSuffix(path, "_test.go") {
				continue
			}
			if n := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1; n > 60 {
				t.Errorf("%s: %s has %d lines", path, f.Name.Name, n)
			}
		}
	})
}

func TestNoMachinePaths(t *testing.T) {
	bad := []string{"/wo" + "rk/", "/ro" + "ot/", "TO" + "DO", "FIX" + "ME", "not imple" + "mented"}
	goFiles(t, func(path string, _ *token.FileSet, _ *ast.File) {
		b, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range bad {
			if strings.Contains(string(b), w) {
				t.Errorf("%s contains %q", path, w)
			}
		}
	})
}

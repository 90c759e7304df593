package lint

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	aFile = regexp.MustCompile(`[\w*./-]*[\w*]\.(md|go)\b`)
	aLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// elsewhere is what readers of the project do not have.
	elsewhere = regexp.MustCompile(`(?i)\bissues? (#?[0-9]+|[A-Z])\b|\b(design|method|kernels?) cards?\b`)
	aHeading  = regexp.MustCompile("(?m)^#+ +(.*)$")
	aTest     = regexp.MustCompile(`\b(Test|Benchmark|Fuzz)[A-Z][A-Za-z0-9]+`)
	notInLink = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// written are files that commands of the documents write.
var written = []string{"tables.md"}

// TestCitations: files that comments and documents name are in the project, and so are tests that documents name;
// links lead to a file and a heading that are there, and nothing is cited that only its authors have.
func TestCitations(t *testing.T) {
	there, documents := projectFiles(t)
	cited := 0
	check := func(file, text string) {
		if m := elsewhere.FindString(text); m != "" {
			t.Errorf("%s cites %q, which is not in the project", file, m)
		}
		for _, name := range aFile.FindAllString(text, -1) {
			cited++
			if !isThere(there, path.Dir(file), name) {
				t.Errorf("%s cites %s, which is not in the project", file, name)
			}
		}
	}
	tests := " "
	goFiles(t, func(file string, _ *token.FileSet, f *ast.File) {
		for _, c := range f.Comments {
			check(file, c.Text())
		}
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				tests += f.Name.Name + " "
			}
		}
	})
	for file, text := range documents {
		check(file, text)
		for _, name := range aTest.FindAllString(text, -1) {
			if !strings.Contains(tests, " "+name) { // as a pattern of -run it may stand for several
				t.Errorf("%s cites %s, and no test has that name", file, name)
			}
		}
		for _, m := range aLink.FindAllStringSubmatch(text, -1) {
			cited++
			checkLink(t, there, documents, file, m[1])
		}
	}
	if cited < 200 {
		t.Errorf("only %d citations were seen", cited)
	}
}

// projectFiles lists the files of the module, and its documents and scripts with their texts.
func projectFiles(t *testing.T) (there map[string]bool, documents map[string]string) {
	t.Helper()
	there, documents = map[string]bool{}, map[string]string{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name)
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && (d.Name() == ".git" || rel == "bin" || rel == "dist" || d.Type()&fs.ModeSymlink != 0):
			return fs.SkipDir
		case d.IsDir():
			there[rel] = true
			return nil
		}
		there[rel] = true
		script := rel == "Makefile" || strings.HasPrefix(rel, ".ci/") && !strings.Contains(path.Base(rel), ".")
		if script || strings.HasSuffix(rel, ".md") && !strings.Contains(rel, "testdata/") {
			text, err := os.ReadFile(name)
			documents[rel] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return there, documents
}

// isThere says whether name, as a file of dir cites it, is a file of the project: by its path from there or from
// the root, by the end of its path, or as a pattern.
func isThere(there map[string]bool, dir, name string) bool {
	name = strings.TrimPrefix(name, "./")
	for _, w := range written {
		if name == w {
			return true
		}
	}
	if there[name] || there[path.Join(dir, name)] {
		return true
	}
	base := path.Base(name)
	for file := range there {
		if strings.HasSuffix(file, "/"+name) {
			return true
		}
		if ok, _ := path.Match(base, path.Base(file)); ok && strings.Contains(name, "*") {
			return true
		}
	}
	return false
}

// checkLink follows a link of a document within the project.
func checkLink(t *testing.T, there map[string]bool, documents map[string]string, from, link string) {
	t.Helper()
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return
	}
	file, heading, _ := strings.Cut(link, "#")
	to := from
	if file != "" {
		to = path.Join(path.Dir(from), file)
	}
	if !there[to] {
		t.Errorf("%s: the link %s leads nowhere", from, link)
		return
	}
	if heading == "" {
		return
	}
	for _, m := range aHeading.FindAllStringSubmatch(documents[to], -1) {
		anchor := notInLink.ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(anchor, " ", "-") == heading {
			return
		}
	}
	t.Errorf("%s: %s has no heading for the link %s", from, to, link)
}

package outfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func say(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("%s holds %q (%v), want %q", path, b, err, want)
	}
}

// only fails where the folder holds more than the names.
func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, e := range list {
		have = append(have, e.Name())
	}
	if got, want := strings.Join(have, " "), strings.Join(names, " "); got != want {
		t.Errorf("the folder holds %q, want %q", got, want)
	}
}

// A file is new or old, never half, and nothing is left beside it.
func TestWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	bad := errors.New("bad")
	fail := func(w io.Writer) error { io.WriteString(w, "half"); return bad }
	if err := Write(path, fail); !errors.Is(err, bad) {
		t.Error(err)
	}
	only(t, dir)
	for _, s := range []string{"one", "2"} {
		if err := Write(path, say(s)); err != nil {
			t.Fatal(err)
		}
		holds(t, path, s)
	}
	if err := Write(path, fail); !errors.Is(err, bad) {
		t.Error(err)
	}
	holds(t, path, "2")
	only(t, dir, "f")
	if err := Check(filepath.Join(dir, "g")); err != nil {
		t.Error(err)
	}
	only(t, dir, "f")
	if err := Check(dir); err == nil {
		t.Error("a folder passes")
	}
	if err := Write(filepath.Join(dir, "no", "f"), say("")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// What a killed process has left is cleared; what another one writes is not.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	left := filepath.Join(dir, draftName(path))
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, ".f.bbgp-notes") // no draft
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := Write(path, func(io.Writer) error {
		only(t, dir, ".f.bbgp-notes")
		return Write(path, say("inner")) // as another process: it leaves the draft alone
	})
	if err != nil {
		t.Fatal(err)
	}
	only(t, dir, ".f.bbgp-notes", "f")
	if runtime.GOOS == "windows" {
		return
	}
	f, err := os.Create(left)
	if err != nil || !lock(f) {
		t.Fatal(err)
	}
	if err := Write(path, say("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err != nil {
		t.Error("a draft that is being written was removed")
	}
	f.Close()
	if err := Write(path, say("x")); err != nil {
		t.Fatal(err)
	}
	only(t, dir, ".f.bbgp-notes", "f")
}

// Where the system has no unnamed files, hidden names serve.
func TestNamedDraft(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	d, err := namedDraft(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := say("x")(d.f); err != nil {
		t.Fatal(err)
	}
	if err := d.commit(path, nil); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "x")
	only(t, dir, "f")
	if _, err := namedDraft(filepath.Join(dir, "none", "f"), 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestSame(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.WriteFile(a, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !Same(a, filepath.Join(dir, "x", "..", "a")) && runtime.GOOS == "windows" || Same(a, b) ||
		!Same(b, dir+"/./b") || !Same(a, dir+"/./a") {
		t.Error("wrong for plain files")
	}
	if os.Symlink("a", b) == nil && !Same(a, b) {
		t.Error("wrong for links")
	}
}

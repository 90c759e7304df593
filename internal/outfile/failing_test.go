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

// What cannot be written is said before and while it is written, and nothing is left beside it.
func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("was"), 0o600); err != nil {
		t.Fatal(err)
	}
	beyond := filepath.Join(file, "f") // a file is no folder
	long := filepath.Join(dir, strings.Repeat("n", 300))
	for _, path := range []string{beyond, long, filepath.Join(dir, "none", "f"), dir} {
		if err := Check(path); err == nil {
			t.Errorf("Check passes %.40s", path)
		}
		if err := Write(path, say("x")); err == nil {
			t.Errorf("Write passes %.40s", path)
		}
	}
	if err := Write(dir, say("x")); !errors.Is(err, errFolder) {
		t.Errorf("a folder: %v", err)
	}
	if Same(beyond, beyond) {
		t.Error("a path that leads nowhere is a file")
	}
	only(t, dir, "file")
	holds(t, file, "was")
	if err := Check("/dev/stdout"); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]int{"/dev/stdout": 1, "/dev/./stderr": 2, "/dev/fd/07": 7} {
		if fd, ok := descriptor(path); !ok || fd != want {
			t.Errorf("%s is descriptor %d, %v", path, fd, ok)
		}
	}
	for _, path := range []string{"/dev/fd/-1", "/dev/fd/x", "stdout"} {
		if _, ok := descriptor(path); ok {
			t.Errorf("%s is a descriptor", path)
		}
	}
}

// What the system does not let be written is not replaced either: here a program that runs.
func TestRunningProgram(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if f, err := os.OpenFile(exe, os.O_WRONLY, 0); err == nil {
		f.Close()
		t.Skip("this system lets running programs be written")
	}
	if err := Check(exe); err == nil {
		t.Error("Check passes a running program")
	}
	if err := Write(exe, say("x")); err == nil {
		t.Error("a running program was replaced")
	}
}

// A name without a folder stands in the current one.
func TestBareName(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, s := range []string{"a", "b"} {
		if err := Write("bare", say(s)); err != nil {
			t.Fatal(err)
		}
		holds(t, filepath.Join(dir, "bare"), s)
	}
	if !Same("bare", filepath.Join(dir, "bare")) {
		t.Error("not the same file")
	}
	only(t, dir, "bare")
}

// Where the folder vanishes while it is written, the error tells so; a draft with a name that has lost it is
// nobody's.
func TestFolderVanishes(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // a folder in use stays there
	}
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	err := Write(filepath.Join(dir, "f"), func(w io.Writer) error { return os.RemoveAll(dir) })
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is gone: %v", err)
	}
	folder := t.TempDir()
	name := filepath.Join(folder, draftName("f"))
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	d := &draft{f, name}
	if !here(f, name) || here(f, folder) {
		t.Error("a draft is where its name leads")
	}
	d.discard()
	only(t, folder)
	if here(f, name) {
		t.Error("a closed file has a place")
	}
	if err := d.commit(filepath.Join(folder, "f"), nil); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a draft that is closed: %v", err)
	}
}

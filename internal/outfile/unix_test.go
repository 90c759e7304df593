//go:build unix

package outfile

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Modes and the umask hold; links are followed; hard links are counted.
func TestModesAndLinks(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	mode := func(name string, want os.FileMode) {
		t.Helper()
		if st, err := os.Lstat(in(name)); err != nil || st.Mode() != want {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
	defer syscall.Umask(syscall.Umask(0o027))
	for _, s := range []string{"a", "b"} {
		if err := Write(in("new"), say(s)); err != nil {
			t.Fatal(err)
		}
		mode("new", 0o640)
	}
	if err := os.Chmod(in("new"), 0o604); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(in("far"), 0o755); err != nil {
		t.Fatal(err)
	}
	// In this order: what is written through a link to nothing would be in the way of soft.
	for _, link := range [][2]string{{"soft", "new"}, {"softer", "soft"}, {"dangling", "far/made"}} {
		name, to := link[0], link[1]
		if err := os.Symlink(to, in(name)); err != nil {
			t.Fatal(err)
		}
		if err := Write(in(name), say(name)); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Lstat(in(name)); err != nil || st.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", name)
		}
	}
	holds(t, in("far/made"), "dangling")
	mode("new", 0o604)
	if err := os.Link(in("new"), in("hard")); err != nil {
		t.Fatal(err)
	}
	if Links(in("soft")) != 2 || Links(in("far/made")) != 1 || Links(in("none")) != 0 ||
		!Same(in("hard"), in("softer")) {
		t.Error("links are not counted")
	}
	if err := os.Symlink("round", in("round")); err != nil {
		t.Fatal(err)
	}
	if err := Write(in("round"), say("")); err == nil {
		t.Error("a link to itself was written")
	}
}

// Devices, FIFOs and descriptors are written through.
func TestThrough(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	if err := Check(fifo); err != nil { // must not wait for a reader
		t.Error(err)
	}
	got := make(chan string)
	go func() {
		b, _ := os.ReadFile(fifo)
		got <- string(b)
	}()
	if err := Write(fifo, say("through")); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s != "through" {
		t.Errorf("the reader got %q", s)
	}
	if err := Write(os.DevNull, say("x")); err != nil {
		t.Error(err)
	}
	if st, err := os.Stat(os.DevNull); err != nil || st.Mode().IsRegular() {
		t.Fatal("the null device is gone")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if err := Write(name+strconv.Itoa(int(w.Fd())), say("p")); err != nil {
			t.Error(err)
		}
	}
	w.Close()
	if b, err := io.ReadAll(r); err != nil || string(b) != "pp" {
		t.Errorf("%q, %v", b, err)
	}
	if err := Write("/dev/fd/987", say("")); err == nil {
		t.Error("a descriptor that is not open was written")
	}
	if Same(os.DevNull, os.DevNull) {
		t.Error("a device keeps nothing that could be lost")
	}
	only(t, dir, "fifo")
}

// A FIFO that nobody reads is waited for until the context ends, one with a reader is written to even then.
func TestFIFOUntil(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := WriteUntil(ctx, path, say("x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no reader: %v", err)
	}
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := WriteUntil(ctx, path, say("late")); err != nil {
		t.Error(err)
	}
	b := make([]byte, 9)
	if n, err := r.Read(b); string(b[:n]) != "late" {
		t.Errorf("%q, %v", b[:n], err)
	}
}

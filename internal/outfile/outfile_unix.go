//go:build unix

package outfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// duplicate opens a descriptor of this process once more, at its place.
func duplicate(fd int, path string) (*os.File, error) {
	d, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, &fs.PathError{Op: "write", Path: path, Err: err}
	}
	return os.NewFile(uintptr(d), path), nil
}

// askReader is how often a FIFO is asked for its reader.
const askReader = 10 * time.Millisecond

// openFIFO waits for a reader until ctx ends.
func openFIFO(ctx context.Context, path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if !errors.Is(err, unix.ENXIO) {
			return f, err
		}
		if ctx.Err() != nil {
			return nil, &fs.PathError{Op: "write", Path: path, Err: ctx.Err()}
		}
		time.Sleep(askReader)
	}
}

// lock marks a draft as being written, until it is closed or its process ends.
func lock(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }

// removeIfLeft removes a draft that nobody has locked.
func removeIfLeft(name string) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if lock(f) && here(f, name) {
		os.Remove(name)
	}
}

// closeFirst does nothing: an open file can be renamed, and stays locked until then.
func (d *draft) closeFirst() error { return nil }

// keepOwner gives a draft the owner of what it replaces, where that is allowed.
func keepOwner(f *os.File, was fs.FileInfo) {
	st, err := f.Stat()
	if err != nil {
		return
	}
	old, ok := was.Sys().(*syscall.Stat_t)
	now, same := st.Sys().(*syscall.Stat_t)
	if ok && same && (old.Uid != now.Uid || old.Gid != now.Gid) {
		_ = f.Chown(int(old.Uid), int(old.Gid)) // only the superuser may
	}
}

// syncFolder brings a new name to the disk.
func syncFolder(dir string) {
	if dir == "" {
		dir = "."
	}
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync() // not every file system can
		f.Close()
	}
}

// Links returns the number of names of a file, 0 if it cannot be told.
func Links(path string) int {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return 0
	}
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink)
	}
	return 0
}

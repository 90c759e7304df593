package outfile

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// unnamed opens a file without a name in the folder of target, which vanishes with its
// process; nil where the file system has none or /proc, by which it gets a name, is
// missing.
func unnamed(target string, perm fs.FileMode) *os.File {
	dir := dirOf(target)
	if dir == "" {
		dir = "."
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, uint32(perm))
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), target)
	if _, err := os.Lstat(procName(f)); err != nil {
		f.Close()
		return nil
	}
	return f
}

func procName(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// link gives an unnamed file a name.
func link(f *os.File, name string) error {
	if err := unix.Linkat(unix.AT_FDCWD, procName(f), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &fs.PathError{Op: "link", Path: name, Err: err}
	}
	return nil
}

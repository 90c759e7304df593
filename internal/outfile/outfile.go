package outfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Write lets fill write the file at path. After an error, or a kill, the file is what
// it was before. It fails with the error of fill or of the system.
func Write(path string, fill func(io.Writer) error) error {
	return WriteUntil(context.Background(), path, fill)
}

// WriteUntil is Write, but waits for the first reader of a FIFO no longer than ctx lasts.
func WriteUntil(ctx context.Context, path string, fill func(io.Writer) error) error {
	f, st, target, err := open(ctx, path)
	if err != nil {
		return err
	}
	if f != nil {
		err := fill(f)
		return errors.Join(err, f.Close())
	}
	d, err := newDraft(target, st)
	if err != nil {
		return err
	}
	if err = fill(d.f); err == nil {
		err = d.commit(target, st)
	}
	if err != nil {
		d.discard()
	}
	return err
}

// Check tells, without a trace, whether Write could begin to write path.
func Check(path string) error {
	if _, ok := descriptor(path); ok {
		return nil
	}
	target, st, err := resolve(path)
	switch {
	case err != nil:
		return err
	case st != nil && st.IsDir():
		return errFolder
	case st != nil && !st.Mode().IsRegular():
		return nil // opening a FIFO would be seen at its other end
	}
	d, err := newDraft(target, st)
	if err == nil {
		d.discard()
	}
	return err
}

// Replaces says whether Write puts a new file into the place of path, so that it may write
// twice: what is written through, a FIFO or a descriptor, has had the first.
func Replaces(path string) bool {
	if _, ok := descriptor(path); ok {
		return false
	}
	_, st, err := resolve(path)
	return err == nil && (st == nil || st.Mode().IsRegular())
}

// Same says whether two paths lead to one file, which need not be there yet. What is
// no regular file is never the same: it keeps nothing.
func Same(a, b string) bool {
	ta, sa, ea := resolve(a)
	tb, sb, eb := resolve(b)
	switch {
	case ea != nil || eb != nil || (sa == nil) != (sb == nil):
		return false
	case sa != nil:
		return sa.Mode().IsRegular() && os.SameFile(sa, sb)
	}
	da, ea := os.Stat(filepath.Dir(ta))
	db, eb := os.Stat(filepath.Dir(tb))
	return ea == nil && eb == nil && os.SameFile(da, db) && filepath.Base(ta) == filepath.Base(tb)
}

var errFolder = errors.New("it is a folder")

// open returns an open file to write through, or, for a file that is replaced, its
// place and what is there now (nil: nothing).
func open(ctx context.Context, path string) (f *os.File, st fs.FileInfo, target string, err error) {
	if fd, ok := descriptor(path); ok {
		f, err := duplicate(fd, path)
		return f, nil, "", err
	}
	target, st, err = resolve(path)
	switch {
	case err != nil:
		return nil, nil, "", err
	case st != nil && st.IsDir():
		return nil, nil, "", &fs.PathError{Op: "write", Path: path, Err: errFolder}
	case st != nil && st.Mode()&fs.ModeNamedPipe != 0:
		f, err = openFIFO(ctx, target)
	case st != nil && !st.Mode().IsRegular():
		f, err = os.OpenFile(target, os.O_WRONLY, 0)
	}
	return f, st, target, err
}

// descriptor recognises the names of open files of this process.
func descriptor(path string) (fd int, ok bool) {
	switch path = filepath.Clean(path); path {
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/", "/proc/" + strconv.Itoa(os.Getpid()) + "/fd/"} {
		if name, found := strings.CutPrefix(path, dir); found {
			fd, err := strconv.Atoi(name)
			return fd, err == nil && fd >= 0
		}
	}
	return 0, false
}

// mostLinks is the number of symbolic links that are followed.
const mostLinks = 40

// resolve follows the symbolic links that path ends in, also where the last leads to
// nothing: there the file is made.
func resolve(path string) (target string, st fs.FileInfo, err error) {
	for range mostLinks {
		st, err = os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, nil, nil
		case err != nil:
			return "", nil, err
		case st.Mode()&fs.ModeSymlink == 0:
			return path, st, nil
		}
		link, err := os.Readlink(path)
		if err != nil {
			return "", nil, err
		}
		if !filepath.IsAbs(link) {
			link = dirOf(path) + link // not cleaned: a/.. may be elsewhere
		}
		path = link
	}
	return "", nil, &fs.PathError{Op: "write", Path: path, Err: errors.New("too many symbolic links")}
}

// dirOf is the folder of path with its separator, "" where path has none.
func dirOf(path string) string {
	dir, _ := filepath.Split(path)
	return dir
}

// A draft is a file that has not got its name yet.
type draft struct {
	f    *os.File
	name string // "" while it has none at all
}

const draftMark = ".bbgp-"

// draftPrefix begins the hidden names of drafts of a target.
func draftPrefix(target string) string {
	base := filepath.Base(target)
	return "." + base[:min(len(base), 200)] + draftMark
}

// newDraft begins a draft beside target, and clears what drafts of a killed process
// have left there.
func newDraft(target string, st fs.FileInfo) (*draft, error) {
	perm := fs.FileMode(0o666)
	if st != nil {
		perm = 0o600 // until it has the mode of what it replaces
		f, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return nil, err // what cannot be written is not replaced either
		}
		f.Close()
	}
	clean(target)
	if f := unnamed(target, perm); f != nil {
		lock(f)
		return &draft{f: f}, nil
	}
	return namedDraft(target, perm)
}

// namedDraft begins a draft with a hidden name, for file systems without files that have none.
func namedDraft(target string, perm fs.FileMode) (*draft, error) {
	for range 100 {
		name := dirOf(target) + draftName(target)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lock(f)
		if here(f, name) { // or another process has cleared it just now
			return &draft{f, name}, nil
		}
		f.Close()
	}
	return nil, &fs.PathError{Op: "create", Path: target, Err: fs.ErrExist}
}

// draftName is a new name. It is no part of a result, so it may be random.
func draftName(target string) string {
	return draftPrefix(target) + fmt.Sprintf("%016x", rand.Uint64())
}

// commit gives the draft the name of its target.
func (d *draft) commit(target string, st fs.FileInfo) error {
	if st != nil {
		keepOwner(d.f, st)
		if err := d.f.Chmod(st.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := d.f.Sync(); err != nil {
		return err
	}
	if d.name == "" {
		name := dirOf(target) + draftName(target)
		if err := link(d.f, name); err != nil {
			return err
		}
		d.name = name
	}
	if err := d.closeFirst(); err != nil {
		return err
	}
	if err := os.Rename(d.name, target); err != nil {
		return err
	}
	d.f.Close() // synced: nothing can fail that matters
	syncFolder(dirOf(target))
	return nil
}

func (d *draft) discard() {
	d.f.Close()
	if d.name != "" {
		os.Remove(d.name)
	}
}

// clean removes drafts of target that no process writes any more.
func clean(target string) {
	dir := dirOf(target)
	if dir == "" {
		dir = "."
	}
	f, err := os.Open(dir)
	if err != nil {
		return // writing will say why
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return
	}
	prefix := draftPrefix(target)
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, prefix); ok && len(rest) == 16 {
			removeIfLeft(filepath.Join(dir, name))
		}
	}
}

// here says whether f still has its name.
func here(f *os.File, name string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(name)
	return err == nil && os.SameFile(a, b)
}

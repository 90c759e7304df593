//go:build !unix

package outfile

import (
	"context"
	"io/fs"
	"os"
)

// duplicate opens a name: there are no descriptors.
func duplicate(_ int, path string) (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) }

// openFIFO opens what is no regular file.
func openFIFO(_ context.Context, path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY, 0)
}

// lock does nothing: a file that is open cannot be removed.
func lock(*os.File) bool { return true }

func removeIfLeft(name string) { _ = os.Remove(name) }

// closeFirst closes a draft, which cannot be renamed while it is open.
func (d *draft) closeFirst() error { return d.f.Close() }

func keepOwner(*os.File, fs.FileInfo) {}

func syncFolder(string) {}

// Links returns 0: it cannot be told.
func Links(string) int { return 0 }

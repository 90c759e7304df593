//go:build !linux

package outfile

import (
	"errors"
	"io/fs"
	"os"
)

// unnamed returns nil: files without a name are of Linux.
func unnamed(string, fs.FileMode) *os.File { return nil }

func link(*os.File, string) error { return errors.New("no files without a name") }

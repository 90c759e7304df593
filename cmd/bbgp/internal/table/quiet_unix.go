//go:build unix

package table

import (
	"os"

	"golang.org/x/sys/unix"
)

// quietly calls f while standard error goes nowhere: the Parquet library prints
// there what it thinks of damaged pages, past every logger.
func quietly(f func()) {
	null, err := unix.Open(os.DevNull, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		f()
		return
	}
	defer unix.Close(null)
	saved, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		f()
		return
	}
	defer unix.Close(saved)
	if unix.Dup2(null, 2) == nil {
		defer unix.Dup2(saved, 2)
	}
	f()
}

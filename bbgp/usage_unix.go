//go:build unix

package bbgp

import (
	"runtime"
	"syscall"
)

// usage returns the CPU time of the process so far, user and system, in
// seconds, and its peak resident memory in bytes.
func usage() (cpu float64, peak int64) {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0, 0
	}
	cpu = float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
	peak = int64(r.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
		peak *= 1024 // the others count in KiB
	}
	return cpu, peak
}

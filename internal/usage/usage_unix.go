//go:build unix

package usage

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// CPUSeconds returns the CPU time of the process so far, user and system, in seconds.
func CPUSeconds() float64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

// PeakBytes returns the peak resident memory of the process in bytes. Where the
// system tells only what getrusage counts, that includes what the process had of
// its parent before it became this program.
func PeakBytes() int64 {
	if b, err := os.ReadFile("/proc/self/status"); err == nil {
		var kib int64
		for line := range strings.Lines(string(b)) {
			if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
				return kib << 10
			}
		}
	}
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(r.Maxrss)
	}
	return int64(r.Maxrss) * 1024 // the others count in KiB
}

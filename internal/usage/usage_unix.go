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
	r := counted()
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

// counted is what the system has counted of this process; for itself no process is refused.
func counted() (r syscall.Rusage) {
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return r
}

// PeakBytes returns the peak resident memory of the process in bytes. Where the
// system tells only what getrusage counts, that includes what the process had of
// its parent before it became this program.
func PeakBytes() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	return peakOf(string(status), int64(counted().Maxrss), runtime.GOOS)
}

// peakOf reads the peak from the text of Linux on a process, or from maxrss where there is none.
func peakOf(status string, maxrss int64, system string) int64 {
	var kib int64
	for line := range strings.Lines(status) {
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	if system == "darwin" || system == "ios" {
		return maxrss
	}
	return maxrss << 10 // the others count in KiB
}

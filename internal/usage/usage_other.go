//go:build !unix

package usage

import (
	"runtime"
	"time"
)

var processStart = time.Now()

// CPUSeconds returns an upper bound of the CPU time of the process: wall time by processors.
func CPUSeconds() float64 {
	return time.Since(processStart).Seconds() * float64(runtime.GOMAXPROCS(0))
}

// PeakBytes returns the memory that Go obtained from the system, in bytes.
func PeakBytes() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

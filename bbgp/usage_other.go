//go:build !unix

package bbgp

import (
	"runtime"
	"time"
)

var processStart = time.Now()

// cpuTime returns an upper bound of the CPU time of the process: wall time by processors.
func cpuTime() float64 {
	return time.Since(processStart).Seconds() * float64(runtime.GOMAXPROCS(0))
}

// peakMemory returns the memory that Go obtained from the system, in bytes.
func peakMemory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

//go:build !unix

package bench

import (
	"runtime"
	"time"
)

var processStart = time.Now()

// cpuSeconds is an upper bound of the CPU time of the process: wall time by
// processors.
func cpuSeconds() float64 {
	return time.Since(processStart).Seconds() * float64(runtime.GOMAXPROCS(0))
}

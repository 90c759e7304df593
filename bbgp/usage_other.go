//go:build !unix

package bbgp

import (
	"runtime"
	"time"
)

var processStart = time.Now()

// usage returns an upper bound of the CPU time of the process, wall time by
// processors, and the memory that Go obtained from the system.
func usage() (cpu float64, peak int64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return time.Since(processStart).Seconds() * float64(runtime.GOMAXPROCS(0)), int64(m.Sys)
}

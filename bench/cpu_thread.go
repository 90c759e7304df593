//go:build !linux

package bench

import "time"

var threadStart = time.Now()

// threadSeconds is the wall time, which is more than the CPU time of the calling
// thread where that has to share its core.
func threadSeconds() float64 { return time.Since(threadStart).Seconds() }

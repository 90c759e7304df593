package bench

import "bbgp.dev/internal/usage"

// CPUSeconds is the CPU time of the process, user and system; 0 where the system
// does not tell.
func CPUSeconds() float64 { return usage.CPUSeconds() }

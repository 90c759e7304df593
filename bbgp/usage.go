package bbgp

// ProcessCPU returns the CPU seconds, user and system, that the process has used so far.
func ProcessCPU() float64 { return cpuTime() }

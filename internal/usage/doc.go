// Package usage tells what the process has used: CPU time and peak memory.
package usage
